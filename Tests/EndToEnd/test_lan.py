# SPDX-License-Identifier: Apache-2.0
"""Bare TCP calls on the LAN with aiortc: dialled and waited for, both directions, one call after the other."""

import json
import re
import signal
import stat

import media
from figures import MINIMUM_FRAME_SHARE, assert_plays
from harness import PEERS, free_port, python


def peer(stage, *flags):
    return stage.start("lan", python("peers"), PEERS / "lan_peer.py", "--send", "synthetic", *flags)


def test_a_dialled_peer_is_recorded_and_sees_our_camera(stage):
    port = free_port()
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}", "--send", "test", "--duration", "13s",
                              "--directory", stage.folder / "storage", "--output", exported, "--json",
                              "--log-level", "info")
    # Nobody accepts at first.
    recorder.wait_for("word of the refusal", lambda: "Dialling on" in recorder.messages, 15)
    # TCP says nothing about the call: media go on without it.
    callee = peer(stage, "--listen", port, "--receive", "--hang-up-after", "3")
    assert recorder.wait(60) == 0, recorder.story()
    callee.wait_for_event("hungUp", 1)
    assert callee.end() == 0, callee.story()
    figures = callee.event("closed")
    frames = media.frames(exported, media.streams(exported, "video")[0]["index"])
    assert_plays(exported)
    # The peer sends on after the end of the recording: what counts is that none is missing in between.
    assert sum(abs(lost) for _, lost in media.lost_frames(frames)) <= 0.01 * len(frames), recorder.story()
    assert len(frames) >= MINIMUM_FRAME_SHARE * 12 * 30, recorder.story()
    shown = figures["lastCounter"] - figures["firstCounter"] + 1
    assert shown >= 200 and figures["countersRead"] >= 0.95 * shown, callee.story()


def test_a_listening_port_takes_one_call_after_the_other(stage):
    port = free_port()
    exported = stage.folder / "call.mkv"
    trace = stage.folder / "trace.jsonl"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}?listen", "--directory", stage.folder / "storage",
                              "--output", exported, "--json", "--trace-signalling", trace)
    first = peer(stage, "--dial", f"127.0.0.1:{port}", "--duration", "13", "--limit", "60")
    assert first.wait(75) == 0, f"{first.story()}\n{recorder.story()}"
    second = peer(stage, "--dial", f"127.0.0.1:{port}", "--codec", "h264", "--duration", "4", "--limit", "60")
    assert second.wait(75) == 0, f"{second.story()}\n{recorder.story()}"
    recorder.signal(signal.SIGINT)
    assert recorder.wait(40) == 0, recorder.story()
    assert_plays(exported)
    videos = media.streams(exported, "video")
    assert [video["codec_name"] for video in videos] == ["vp8", "h264"], recorder.story()
    for video, caller in zip(videos, (first, second)):
        count, sent = len(media.packets(exported, video["index"])), caller.event("closed")["framesSent"]
        assert MINIMUM_FRAME_SHARE * sent <= count <= sent + 3, f"{count} of {sent}\n{recorder.story()}"
    assert_replays(stage, trace)


def assert_replays(stage, trace):
    """The trace has both calls, no secret, and the machine says the same again; altered, it does not."""
    assert stat.S_IMODE(trace.stat().st_mode) == 0o640
    text = trace.read_text()
    header, *lines = map(json.loads, text.splitlines())
    assert header["protocol"] == "lan" and header["program"].startswith("tapedeck ")
    assert sum(line.get("event") == "offerReceived" for line in lines) == 2
    assert "ice-pwd:xxxx" in text
    assert all(set(secret) == {"x"} for secret in re.findall(r"ice-pwd:(\w+)", text))
    replay = stage.run_tapedeck("replay", trace, "--json", timeout=20)
    assert replay.exit_code == 0, replay.story()
    assert replay.facts[-1]["differences"] == 0 and replay.facts[-1]["inputs"] > 8, replay.story()
    altered = stage.folder / "altered.jsonl"
    altered.write_text(text.replace('"event":"offerReceived"', '"event":"answerReceived"'))
    replay = stage.run_tapedeck("replay", altered, "--differences", timeout=20)
    assert replay.exit_code == 5 and "2 differences" in replay.output, replay.story()
    altered.write_text("no trace")
    replay = stage.run_tapedeck("replay", altered, timeout=20)
    assert replay.exit_code == 2 and "line 1 is not" in replay.messages, replay.story()


def test_a_port_in_use_is_named(stage):
    callee = peer(stage, "--listen", "0")
    port = callee.wait_for_event("listening")["port"]
    recorder = stage.run_tapedeck("record", f"lan+tcp://127.0.0.1:{port}?listen", timeout=40)
    assert recorder.exit_code == 3, recorder.story()
    assert f"127.0.0.1:{port} cannot be opened" in recorder.messages, recorder.story()
    assert "another program uses it" in recorder.messages, recorder.story()
    assert callee.end() == 1, callee.story()
