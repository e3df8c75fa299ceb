# SPDX-License-Identifier: Apache-2.0
"""The table of a call on a terminal, of any size."""

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest
from peers import room_url
from recordings import recording_folder, wait_for_media
from stage import LIMIT


class Terminal:
    """A terminal of tmux in which one command runs."""

    def __init__(self, stage, columns, rows, *command, **variables):
        self.stage, self.socket = stage, f"tapedeck-{os.getpid()}-{stage.folder.name}"
        line = "env " + " ".join(f"{name}={value}" for name, value in variables.items()) + " "
        line += shlex.join(str(part) for part in command)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"cd {stage.folder}; {line}; echo ended $?; exec cat")
        self.tmux("set-option", "-g", "window-size", "manual")

    def tmux(self, *arguments):
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        return subprocess.run(["tmux", "-u", "-L", self.socket, *arguments], env=environment, check=True, timeout=30,
                              capture_output=True, text=True).stdout

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def screen(self):
        return self.tmux("capture-pane", "-p").splitlines()

    def wait_for(self, what, is_there):
        deadline = time.monotonic() + LIMIT
        while not (found := is_there(screen := self.screen)):
            assert time.monotonic() < deadline, f"no {what}:\n" + "\n".join(screen)
            time.sleep(0.1)
        return found

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, timeout=30, check=False)


@pytest.fixture
def terminal(stage, tapedeck_path):
    opened = []

    def start(columns, rows, *arguments, **variables):
        opened.append(Terminal(stage, columns, rows, tapedeck_path, *arguments, **variables))
        return opened[-1]
    yield start
    for each in opened:
        each.close()


def cameras(stage, server, names):
    for name in names:
        stage.tapedeck("camera", room_url(server, "room"), "--size", "320x180", "--name", name, "--json")


def table(screen, *names):
    """The lines of the table, if it is whole; nothing else is on the screen but log lines above it."""
    lines = [line.rstrip() for line in screen if line.strip()]
    starts = [number for number, line in enumerate(lines) if line.startswith("recording 0:")]
    if len(starts) != 1 or lines[-len(names):] != [line for line in lines if line.startswith(names)]:
        return None
    return lines[starts[0]:]


def test_a_call_is_watched_on_terminals_of_every_width(stage, terminal):
    server = stage.serve("--room-size", "8")
    cameras(stage, server, ("Ann", "Bob"))
    shown = terminal(80, 24, "record", room_url(server, "room"), "--directory", stage.folder / "storage", "--duration", "30m")
    size = r" +vp8 opus +320x180 +[0-9.]+ [kM]b/s +\d+ +(-\d+ dB|on|silent)$"
    wide = shown.wait_for("table", lambda screen: (lines := table(screen, "Ann", "Bob")) and "free" in lines[0]
                          and all(re.match(f"(Ann|Bob){size}", line) for line in lines[-2:]) and lines)
    assert re.match(r"recording 0:\d\d  2\d:\d\d left  Ctrl-C stops  [0-9.]+ [kM]?B  [0-9.]+ [GT]B free$", wide[0]), wide
    assert wide[1].split() == ["NAME", "CODEC", "SIZE", "RATE", "LOST", "AUDIO"] and len(wide) == 4, wide
    # Log lines are short, and above.
    assert [line for line in shown.screen if re.match(r"\d\d:\d\d:\d\d .*recording started", line)], shown.screen
    assert "\x1b[31mrecording" in shown.tmux("capture-pane", "-p", "-e")

    for columns, rows, titles in ((40, 24, ["NAME", "RATE", "LOST", "AUDIO"]),
                                  (200, 50, ["NAME", "CODEC", "SIZE", "RATE", "LOST", "AUDIO"]),
                                  (20, 12, ["NAME", "LOST", "AUDIO"])):
        shown.resize(columns, rows)
        lines = shown.wait_for(f"table of {columns} columns", lambda screen: (
            lines := table(screen, "Ann", "Bob")) and lines[-3].split() == titles and lines)
        # It is drawn again in its place.
        clock = lines[0]
        again = shown.wait_for("the next second", lambda screen: (
            lines := table(screen, "Ann", "Bob")) and lines[0] != clock and lines)
        assert len(again) == len(lines) and all(len(line) <= columns for line in shown.screen), again
    shown.resize(80, 4)
    shown.wait_for("a table of three lines", lambda screen: screen[0].startswith("recording 0:")
                   and ("Ann" in screen[2] or "Bob" in screen[2]))

    shown.resize(100, 24)
    shown.tmux("send-keys", "C-c")
    screen = shown.wait_for("its end", lambda screen: "ended 0" in screen and screen)
    assert not [line for line in screen if line.startswith(("Ctrl-C", "recording 0:", "exporting", "completing"))], screen
    assert f"{recording_folder(stage.folder / 'storage')}/call.mkv" in shown.tmux("capture-pane", "-p", "-J"), screen


class Pseudo:
    """A terminal of ours: what is written to it as it comes."""

    def __init__(self, stage, tapedeck_path, *arguments, columns=80, **variables):
        self.master, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")} | variables
        self.process = subprocess.Popen([tapedeck_path, *map(str, arguments)], env=environment, stdin=end, stdout=end, stderr=end,
                                        cwd=stage.folder, start_new_session=True)
        os.close(end)
        self.text = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while part := os.read(self.master, 65536):
                self.text += part.decode(errors="replace")
        except OSError:
            pass

    def end(self):
        code = self.process.wait(LIMIT)
        self.reader.join(10)
        return code


def test_colours_and_the_cursor_are_used_where_they_may_be(stage, tapedeck_path):
    server = stage.serve("--room-size", "8")
    arguments = ("record", room_url(server, "empty"), "--directory", stage.folder, "--wait", "1500ms")
    found = {}
    for name, variables in (("usual", {"TERM": "xterm"}), ("plain", {"TERM": "xterm", "NO_COLOR": "1"}), ("dumb", {"TERM": "dumb"}),
                            ("missing", {})):
        shown = Pseudo(stage, tapedeck_path, *arguments, **variables)
        assert shown.end() == 4, shown.text
        assert "but no media came" in shown.text.splitlines()[-1], shown.text
        found[name] = shown.text
    assert "\x1b[1mwaiting for media\x1b[0m" in found["usual"] and "\x1b[J" in found["usual"]
    assert "waiting for media" in found["plain"] and "\x1b[J" in found["plain"] and "\x1b[0m" not in found["plain"]
    for name in ("dumb", "missing"):
        assert "\x1b" not in found[name] and "waiting for media" not in found[name], found[name]
    # No terminal, no table.
    process = stage.run_tapedeck(*arguments)
    assert process.exit_code == 4 and "\x1b" not in process.messages, process.whole_story()


def test_a_terminal_that_is_gone_ends_no_recording(stage, tapedeck_path):
    server = stage.serve("--room-size", "8")
    cameras(stage, server, ["Ann"])
    shown = Pseudo(stage, tapedeck_path, "record", room_url(server, "room"), "--directory", stage.folder, TERM="xterm", columns=20)
    deadline = time.monotonic() + LIMIT
    while "recording 0:02" not in shown.text:
        assert time.monotonic() < deadline and shown.process.poll() is None, shown.text
        time.sleep(0.1)
    os.close(shown.master)
    time.sleep(2)
    assert shown.process.poll() is None
    shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(LIMIT) == 0
    assert (recording_folder(stage.folder) / "call.mkv").stat().st_size > 0


def test_a_second_interrupt_says_what_it_abandons(stage):
    server = stage.serve("--room-size", "8")
    cameras(stage, server, ["Ann"])
    recorder = stage.tapedeck("record", room_url(server, "room"), "--directory", stage.folder)
    wait_for_media(recorder, stage.folder)
    recorder.signal(signal.SIGINT)
    recorder.signal(signal.SIGTERM)
    assert recorder.wait() == 130, recorder.story()
    folder = recording_folder(stage.folder)
    assert f"abandoned: the files of {folder}" in recorder.messages, recorder.story()
    advice = re.search(r"`tapedeck (export .*?)`", recorder.messages)[1]
    export = stage.run_tapedeck(*shlex.split(advice), timeout=LIMIT)
    assert export.exit_code == 0, export.whole_story()
