#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a room of `tapedeck serve` in headless Firefox, on the served page, with its fake camera and microphone.

Prints one JSON object a line, as browser_peer.py does with --page: joined, connected, closed (figures of one
connection from getStats, taken four times a second), end. Reads commands from a pipe on standard input, one a line:
`stats` prints the figures so far. Firefox is driven over Marionette. Leaves the room and ends on SIGTERM, or after
--limit seconds.

Exit codes: 0 was connected, 1 never connected, 3 could not join.

Example: .venv/peers/bin/python Tests/Peers/firefox_peer.py --page http://127.0.0.1:3000/ --room 123123
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import queue
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from browser_peer import LIMIT, LOOK_AT_SERVED_PAGE, PAGE_FOLDER, SUMS, WAIT, report

PREFERENCES = {
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,
    "media.autoplay.default": 0,
    "media.gmp-manager.updateEnabled": False,
    "media.navigator.permission.disabled": True,
    "media.navigator.streams.fake": True,
}


class Marionette:
    """Firefox's own remote control: JSON in netstrings over TCP."""

    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port), WAIT)
        self.connection.settimeout(WAIT)
        self.stream = self.connection.makefile("rb")
        self.numbers = itertools.count(1)
        self.read()
        self.call("WebDriver:NewSession", {})

    def read(self):
        length = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise ConnectionError("Firefox closed the connection")
            length += byte
        return json.loads(self.stream.read(int(length)))

    def call(self, command, parameters):
        text = json.dumps([0, next(self.numbers), command, parameters]).encode()
        self.connection.sendall(f"{len(text)}:".encode() + text)
        _, _, error, result = self.read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def evaluate(self, script):
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]


@contextlib.contextmanager
def firefox(program, limit):
    """A Firefox with a separate profile; ends with the block."""
    with tempfile.TemporaryDirectory() as home:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()]
        pathlib.Path(home, "user.js").write_text("".join(lines))
        process = subprocess.Popen([program, "--headless", "--no-remote", "--marionette", "--profile", home],
                                   env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = pathlib.Path(home, "MarionetteActivePort")
            deadline = time.monotonic() + limit
            while not (port.exists() and port.read_text().strip()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise ConnectionError("Firefox does not start")
                time.sleep(0.1)
            yield Marionette(int(port.read_text()))
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class FirefoxPeer:
    def __init__(self, options):
        self.options = options
        self.ended = threading.Event()
        self.closed = []
        self.commands = queue.SimpleQueue()

    def read_commands(self):
        if stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            for line in sys.stdin:
                self.commands.put(line.strip())

    def join(self, page):
        """The page's state once it has joined, or cannot."""
        query = urllib.parse.urlencode({"room": self.options.room, "autojoin": "1", "name": self.options.name})
        page.call("WebDriver:Navigate", {"url": f"{self.options.page}?{query}"})
        page.evaluate((PAGE_FOLDER / "figures.js").read_text() + "\nwindow.figures = figures;")
        deadline = time.monotonic() + WAIT
        while (state := page.evaluate("return tapedeckRoom.state")) not in ("joined", "full", "error"):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        report({"event": state, "room": self.options.room})
        return state

    def close(self, member, figures, looked_at):
        facts = {"event": "closed", "member": member, "at": time.time(), "lookedAt": looked_at, **figures}
        self.closed.append(facts)
        report(facts)

    def watch(self, page):
        """Reports who comes and goes, until the end."""
        last, looked_at = {}, None
        while True:
            began = time.time()
            now = page.evaluate(f"return ({LOOK_AT_SERVED_PAGE})()")
            for member, figures in now.items():
                if figures["connected"] and not last.get(member, {}).get("connected"):
                    report({"event": "connected", "member": member, "at": time.time()})
            for member in last.keys() - now.keys():
                self.close(member, last[member], looked_at)
            last, looked_at = now, began
            while not self.commands.empty():
                command = self.commands.get()
                if command == "stats":
                    report({"event": "stats", "connections": list(now.values())})
            if self.ended.wait(0.25):
                break
        page.evaluate("document.getElementById('leave').click()")
        for member, figures in last.items():
            self.close(member, figures, looked_at)

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.ended.set())
        limit = threading.Timer(self.options.limit, self.ended.set)
        limit.daemon = True
        limit.start()
        with firefox(self.options.firefox, WAIT) as page:
            report({"event": "started", "version": page.evaluate("return navigator.userAgent")})
            if self.join(page) != "joined":
                return 3
            threading.Thread(target=self.read_commands, daemon=True).start()
            self.watch(page)
        connections = [figures for figures in self.closed if figures.get("connected")]
        report({"event": "end", "connections": len(connections),
                **{name: sum(figures.get(name) or 0 for figures in self.closed) for name in SUMS}})
        return 0 if connections else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="of `tapedeck serve`, http://HOST:PORT/")
    parser.add_argument("--room", required=True)
    parser.add_argument("--name", default="Firefox")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until it ends in any case")
    parser.add_argument("--firefox", default="/usr/bin/firefox-esr")
    sys.exit(FirefoxPeer(parser.parse_args()).run())


if __name__ == "__main__":
    main()
