# SPDX-License-Identifier: Apache-2.0
"""Recordings that a disk, a crash or a person damaged, and the answers of `verify`, `export` and `repair`.

Whatever is in the folder, each names the fault and ends with code 5; none crashes, hangs, writes over anything, leaves
the folder, or lets a name steer the terminal.

"""

import os
import random
import re
import shutil

import pytest

from peers import room_url
from recordings import recording_folder

# Each command once for each of some forty recordings.
pytestmark = pytest.mark.long

ROOM = "bad"
# A hang, not a slow machine.
LIMIT = 300
GREATEST = str((1 << 63) - 1)
JOURNAL, MANIFEST, CALL = "journal.jsonl", "manifest.json", "call.mkv"


def change(name, body):
    """Puts other bytes into a file, which may be named by its suffix."""
    def apply(folder):
        path = track(folder, name) if name.startswith(".") else folder / name
        path.write_bytes(body(path.read_bytes()))
    return apply


def lines(body):
    return change(JOURNAL, lambda data: "".join(line + "\n" for line in body(data.decode().splitlines())).encode())


def numbers(keys, value):
    return lines(lambda all_of_them: [re.sub(rf'"({keys})":-?\d+', rf'"\1":{value}', line) for line in all_of_them])


def replaced(name, put):
    """Something else stands in the place of a file."""
    def apply(folder):
        path = track(folder, name) if name.startswith(".") else folder / name
        path.unlink()
        put(path)
    return apply


def added(name):
    """A second video file under such a name."""
    return lambda folder: shutil.copyfile(track(folder, ".mkv"), os.fsencode(str(folder / "tracks")) + b"/" + name)


def track(folder, suffix):
    path, = (folder / "tracks").glob("*" + suffix)
    return path


def flipped(data, count):
    generator = random.Random(count)
    data = bytearray(data)
    for _ in range(count):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bytes(data)


def interleaved(data):
    return b"".join(data[at:at + 4096] + bytes([0x1F, 0x43, 0xB6, 0x75] * 100) for at in range(0, len(data), 4096))


def swapped(folder):
    one, other = track(folder, ".mkv"), track(folder, ".mka")
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1])
    other.write_bytes(data[0])


def cut_off(folder):
    """As a kill leaves it: without the end."""
    lines(lambda all_of_them: [line for line in all_of_them
                               if '"recording-finished"' not in line and '"track-closed"' not in line])(folder)
    for name in (MANIFEST, "certificate.txt", CALL):
        (folder / name).unlink()
    for suffix in (".mkv", ".mka"):
        path = track(folder, suffix)
        data = bytearray(path.read_bytes())
        # The Segment's size is not known yet.
        at = data.index(b"\x18\x53\x80\x67") + 4
        data[at:at + 8] = b"\x01" + b"\xff" * 7
        path.write_bytes(bytes(data))


TRACKS = {
    "pictures cut": change(".mkv", lambda data: data[:len(data) // 2]),
    "pictures cut in their head": change(".mkv", lambda data: data[:3]),
    "an empty file": change(".mka", lambda data: b""),
    "bits flipped": change(".mkv", lambda data: flipped(data, 300)),
    "a block of zeros": change(".mkv", lambda data: data[:20_000] + bytes(4096) + data[24_096:]),
    "interleaved": change(".mkv", interleaved),
    "swapped": swapped,
    "pictures deleted": lambda folder: track(folder, ".mkv").unlink(),
    "everything deleted": lambda folder: shutil.rmtree(folder / "tracks"),
    "a pipe": replaced(".mkv", os.mkfifo),
    "a folder in the place of a file": replaced(".mkv", os.mkdir),
    "a link out of the folder": replaced(".mkv", lambda path: os.symlink("/etc/hostname", path)),
    "a terabyte": lambda folder: os.truncate(track(folder, ".mkv"), 1 << 40),
    "a name that steers": added(b"\x1b]0;x\x07\n-rf \"$(id)\".mkv"),
    "a name that is no text": added(b"\xff\xfe\xc0.mkv"),
}
JOURNALS = {
    "no journal": lambda folder: (folder / JOURNAL).unlink(),
    "a journal that is a pipe": replaced(JOURNAL, os.mkfifo),
    "a journal of noise": change(JOURNAL, lambda data: random.Random(1).randbytes(100_000)),
    "a line without end": change(JOURNAL, lambda data: b'{"at":' + b"9" * 20_000_000),
    "a journal nested too deep": change(JOURNAL, lambda data: b"[" * 1_000_000),
    "bits of a journal flipped": change(JOURNAL, lambda data: flipped(data, 40)),
    "absurd times": numbers("at", GREATEST),
    "times before the beginning": numbers("at", "-" + GREATEST),
    "absurd RTP times": numbers("rtp|first_rtp|last_rtp", GREATEST),
    "a clock that stands still": numbers("clock_rate", "0"),
    "a journal that leads out": lines(lambda all_of_them: [
        line.replace('"file":"tracks/', r'"file":"../../../../../etc/\u001b]0;x\u0007') for line in all_of_them]),
    "lines shuffled": lines(lambda all_of_them: random.Random(2).sample(all_of_them, len(all_of_them))),
    "lines twice": lines(lambda all_of_them: all_of_them * 2),
}
MANIFESTS = {
    "a manifest of noise": change(MANIFEST, lambda data: random.Random(3).randbytes(5000)),
    "a manifest that is a folder": replaced(MANIFEST, os.mkdir),
    "a manifest with absurd numbers": change(MANIFEST, lambda data: data.replace(b'"bytes" : ', b'"bytes" : 9' + b"9" * 20)),
    "an export cut": change(CALL, lambda data: data[:len(data) // 2]),
    "bytes behind an export": change(CALL, lambda data: data + bytes(range(256))),
}


def contents(folder):
    """Every file with its size and bytes, but for the zeros of the large one."""
    found = {}
    for where, _, names in os.walk(os.fsencode(str(folder))):
        for name in names:
            path = os.path.join(where, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = os.path.getsize(path), file.read(1 << 24)
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory, tapedeck_path):
    from stage import Stage
    stage = Stage(tmp_path_factory.mktemp("good"), tapedeck_path)
    try:
        server = stage.room_server(5)
        stage.tapedeck("camera", room_url(server, ROOM), "--size", "320x180", "--bitrate", "200k")
        recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--duration", "4s", "--directory",
                                      stage.folder / "storage")
        assert recorder.exit_code == 0, recorder.story()
        yield recording_folder(stage.folder / "storage")
    finally:
        stage.finish()


CASES = {**TRACKS, **JOURNALS, **MANIFESTS}


@pytest.mark.parametrize("name", [*CASES, *(f"cut off, and {name}" for name in (*TRACKS, *JOURNALS))])
def test_a_bad_recording_is_reported_and_left_as_it_is(stage, good, name):
    storage = stage.folder / "storage"
    folder = storage / "recordings" / ROOM / good.name
    shutil.copytree(good, folder)
    if name.startswith("cut off"):
        cut_off(folder)
    CASES[name.removeprefix("cut off, and ")](folder)
    before = contents(storage)

    def run(*arguments):
        process = stage.run_tapedeck(*arguments, timeout=LIMIT)
        story = f"{name}\n{process.story()}"
        assert "\x1b" not in process.output + process.messages and "\x07" not in process.output + process.messages, story
        return process.exit_code, story

    code, story = run("verify", folder)
    assert code == 5, story
    assert contents(storage) == before, story
    for flags in (("--output", stage.folder / "call.mkv"), ("--layout", "audio", "--output", stage.folder / "call.opus")):
        # The first export put aside a manifest that could not be read, and wrote one that can.
        is_whole = (folder / "manifest.json.unreadable").exists()
        code, story = run("export", folder, *flags)
        # 4 where nothing at all is left.
        expected = 4 if name.endswith("everything deleted") else 0 if is_whole else 5
        assert code == expected or name.startswith("cut off") and code == 0, story
    middle = contents(storage)
    for _ in range(2):
        code, story = run("repair", "--directory", storage)
        assert code in (0, 5), story
    after = contents(storage)
    # Existing files stay; only a repair of a file that was cut off completes its readable part.
    tracks = [path for path in before if b"/tracks/" in path]
    assert all(path in after for path in tracks), story
    if not name.startswith("cut off"):
        assert all(middle[path] == before[path] == after[path] for path in tracks), story
    assert (stage.folder / "call.mkv").exists() or name.endswith("everything deleted"), story
