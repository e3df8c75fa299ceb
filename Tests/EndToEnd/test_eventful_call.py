# SPDX-License-Identifier: Apache-2.0
"""One call of Chromium in which everything happens, and its export: it plays, and every event is a chapter.

Chromium and the recorder are hosts of a network of namespaces; on the router between them packets are lost, and a
clock that is neither's says when the first and the last of them passed.
"""

import contextlib
import json
import pathlib
import time

import figures
from stage import PEERS, python
import media
import network
import pytest
from playwright.sync_api import sync_playwright

# Over a network that is emulated, against the clock: it measures.
pytestmark = [pytest.mark.media, pytest.mark.long]

ROOM = "eventful"
DURATION_TOLERANCE = 0.05
# A change reaches the file when the encoder has made it, and a busy encoder takes its time.
CHANGE_TOLERANCE = 1.5


def chapters(path):
    """Start in seconds and title of each chapter."""
    found = json.loads(media.run("ffprobe", "-v", "error", "-show_chapters", "-of", "json", path))["chapters"]
    return [(float(chapter["start_time"]), chapter["tags"]["title"]) for chapter in found]




def assert_plays_in_chromium(path):
    """Chromium opens the file, knows its length, plays from the middle and meets no error up to the end."""
    page_path = path.with_suffix(".html")
    page_path.write_text(f'<!doctype html><video muted src="{path.name}"></video>')
    with sync_playwright() as playwright, contextlib.closing(playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"])) as browser:
        page = browser.new_page()
        page.goto(page_path.as_uri())
        found = page.evaluate("""async () => {
            const video = document.querySelector("video");
            const event = (name) => new Promise((resolve, reject) => {
                video.addEventListener(name, resolve, { once: true });
                video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
            });
            if (video.readyState < 1) await event("loadedmetadata");
            const duration = video.duration;
            for (const part of [0.3, 0.6, 0.97]) {
                const seeked = event("seeked");
                video.currentTime = duration * part;
                await seeked;
            }
            const ended = event("ended");
            await video.play();
            await ended;
            return { duration, width: video.videoWidth, error: video.error?.message ?? null };
        }""")
    assert found["error"] is None and found["width"] > 0, found
    return found["duration"]


def test_every_event_of_a_call_is_in_its_export(stage, lossy):
    server = stage.start("room", *lossy.inside(
        "r", python("socketio5"), PEERS / "socketio_room_server.py", "--host", "0.0.0.0"))
    port = server.wait_for_port()
    clock = stage.start("packet-clock", *lossy.inside(
        "r", python("peers"), pathlib.Path(__file__).with_name("packet_clock.py"), lossy.interfaces["b"],
        f"{network.PREFIX}.2.2", f"{network.PREFIX_6}:2::2"))
    clock.wait_for_event("listening")
    browser = stage.start("chromium", *lossy.inside(
        "b", python("peers"), PEERS / "browser_peer.py", "--url", f"http://{lossy.router('b')}:{port}",
        "--room", ROOM, "--send", "--size", "1280x720"))
    browser.wait_for_event("joined", 40)
    exported = stage.folder / "call.mkv"
    recorder = stage.start("tapedeck-record", *lossy.inside(
        "a", stage.tapedeck_path, "record", f"socketio+http://{lossy.router('a')}:{port}/{ROOM}", "--until-empty",
        "--duration", "80s", "--directory", stage.folder / "storage", "--output", exported, "--json"))
    browser.wait_for_event("connected", 30)

    changed = {}

    def change(what, pause):
        """Changes the media of the call, and lets the call continue for this many seconds."""
        browser.tell(f"set {what}")
        fact = browser.wait_for(f"set {what}", lambda: next(
            (fact for fact in browser.facts if fact.get("event") == "set" and fact["what"] == what), None), 10)
        changed[what] = fact["at"]
        time.sleep(pause)

    time.sleep(3)
    change("microphone off", 0.5)
    change("scale 2", 1.5)
    change("scale 4", 1.5)
    change("scale 3", 1.5)
    change("microphone on", 0.5)
    change("scale 1", 1)
    change("camera off", 5)
    change("camera on", 1)
    lossy.rule("lossy", "meta l4proto udp numgen random mod 100 < 5 drop")
    time.sleep(10)
    lossy.without_rules("lossy")
    time.sleep(1)
    change("codec h264", 3)
    change("codec vp8", 3)
    browser.tell("leave")
    assert recorder.wait(30) == 0, recorder.story()
    clock.end()
    wire = clock.facts[-1]
    story = f"{wire}\n{chapters(exported)}\n{media.describe(exported)}\n{browser.story()}\n{recorder.story()}"

    figures.assert_plays(exported)
    duration = float(media.probe(exported)["format"]["duration"])
    assert abs(duration - (wire["last"] - wire["first"])) <= DURATION_TOLERANCE, f"{duration} s\n{story}"
    assert abs(assert_plays_in_chromium(exported) - duration) < 0.1, story

    # The kind of each track is in the manifest.
    tracks = json.loads(next(stage.folder.rglob("manifest.json")).read_text())["tracks"]
    kept = {(size["width"], size["height"]) for track in tracks for size in track.get("sizes", [])}
    assert len(kept) >= 4 and all(track["bitrate_bps"] > 1000 for track in tracks), f"{tracks}\n{story}"

    # Packets of another payload type of the same SSRC are not lost, and retransmission restores most lost ones.
    certificate = json.loads(next(stage.folder.rglob("manifest.json")).read_text())["certificate"]
    packets = {track["codec"]: (track["packets_lost"], track["packets_repaired"]) for track in certificate["tracks"]}
    assert packets["vp8"][0] < packets["vp8"][1] and packets["h264"][0] == 0, f"{packets}\n{story}"
    assert {track["basis"] for track in certificate["tracks"]} == {"sender-reports"}, certificate["tracks"]

    found = chapters(exported)
    assert found[0] == (0, "Start") and found[1][1].endswith(" joined"), story
    name = found[1][1].removesuffix(" joined")
    sizes = {title.removeprefix(f"{name}: ").split(" → ")[-1] for _, title in found if "×" in title}
    assert len(sizes) >= 4, f"{sizes}\n{story}"
    expected = {
        "microphone off": "silent (muted?)", "microphone on": "audible again",
        "camera off": "still video (camera off?)", "camera on": "moving video again",
        "codec h264": "VP8 → H.264", "codec vp8": "H.264 → VP8",
    }
    for what, words in expected.items():
        at = changed[what] - wire["first"]
        assert any(words in title and abs(start - at) < CHANGE_TOLERANCE for start, title in found), \
            f"no chapter for {what!r}, at {at}\n{story}"
    assert [title for _, title in found if title.startswith("gap of")] == [], story
