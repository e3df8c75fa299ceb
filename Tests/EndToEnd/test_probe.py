# SPDX-License-Identifier: Apache-2.0
"""`tapedeck probe` measures a call that its camera makes: on loopback, with packets lost, and sent back by a foreign peer
that delays audio or shows one frame again and again."""

import json
import subprocess

import pytest
from peers import room_url
from recordings import wait_for_media
from stage import LIMIT

# A debug build on two cores: what is measured is the call, not the encoder.
SMALL = ("--size", "320x180", "--fps", "15", "--bitrate", "300k")

LOSSY_HOST = """
table inet loss {
    chain input { type filter hook input priority 0; meta l4proto udp numgen random mod 100 < 5 drop; }
}
"""


def scores(report):
    return {part["name"]: part["score"] for part in report["parts"]}


def probe(stage, server, *flags, seconds=10):
    process = stage.run_tapedeck("probe", room_url(server, "probe"), "--json", "--duration", f"{seconds}s", *SMALL, *flags,
                                 timeout=seconds + LIMIT)
    return process, process.result()


@pytest.mark.media
@pytest.mark.long
def test_a_call_on_loopback_is_good(stage):
    process, report = probe(stage, stage.serve(), "--threshold", "95", seconds=12)
    assert process.exit_code == 0 and report["score"] >= 95 and report["passed"], process.story()
    frames, sound = report["frames"], report["sound"]
    assert frames["lost"] <= 1 and 0.9 * 12 * 15 <= frames["expected"] <= frames["received"] + 1, report
    assert sound["packets"] >= 0.9 * 12 * 50 and sound["lost"] == 0, report
    assert abs(report["avOffsetMilliseconds"]) <= 20 and report["avOffsets"] >= 9, report


def test_a_call_is_judged_and_a_file_tells_prometheus(stage):
    server = stage.serve()
    metrics = stage.folder / "room.prom"
    process, report = probe(stage, server, "--prometheus", metrics, "--threshold", "0", "--trace-signalling",
                            stage.folder / "call.jsonl", seconds=5)
    assert process.exit_code == 0 and report["passed"], process.story()
    for peer in ("camera", "receiver"):
        replay = stage.run_tapedeck("replay", stage.folder / f"call-{peer}.jsonl", "--json")
        assert replay.exit_code == 0 and replay.result()["inputs"] > 8, replay.story()
    assert min(scores(report).values()) == report["score"], report
    frames, sound = report["frames"], report["sound"]
    assert 0 < frames["received"] <= frames["expected"] + 1 and sound["packets"] > 0, report
    text = metrics.read_text()
    assert f"tapedeck_probe_score{{room=\"{room_url(server, 'probe')}\"}} {report['score']}\n" in text, text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=LIMIT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {path.name for path in stage.folder.glob("*room.prom*")} == {"room.prom"}


@pytest.mark.media
@pytest.mark.long
def test_lost_packets_are_loss(stage, net):
    """Probe and room server on one host of the network, whose kernel drops 5 % of what comes to it by UDP."""
    server = stage.start("tapedeck-serve", *net.inside(
        "a", stage.tapedeck_path, "serve", "--listen", "127.0.0.1:0", "--json"))
    server.port = server.wait_for_port()
    net.run("a", "nft", "-f", "-", text=LOSSY_HOST)
    try:
        process = stage.start("tapedeck-probe", *net.inside(
            "a", stage.tapedeck_path, "probe", room_url(server, "lossy"), "--json", "--duration", "12s", *SMALL))
        assert process.wait(LIMIT) == 6, process.story()
    finally:
        net.run("a", "nft", "delete", "table", "inet", "loss")
    report = process.result()
    assert report["weakest"] == "loss" and report["score"] < 80 and not report["passed"], process.story()
    assert 0.02 <= report["sound"]["lost"] / (report["sound"]["packets"] + report["sound"]["lost"]) <= 0.09, report
    assert "loss:" in process.messages, process.story()


@pytest.mark.media
@pytest.mark.long
@pytest.mark.parametrize("flags, weakest", [
    (("--delay-sound", "0.3"), "sync"),
    (("--freeze", "3-8"), "freezes"),
])
def test_an_echo_that_spoils_something_is_found_out(stage, flags, weakest):
    server = stage.serve()
    stage.aiortc(server, "probe", "--send", "echo", "--receive", "--codec", "vp8", *flags)
    process, report = probe(stage, server, "--echo")
    assert process.exit_code == 6 and report["weakest"] == weakest, process.story()
    found = scores(report)
    assert found.pop(weakest) < 50 and min(found.values()) >= 60, process.story()
    if weakest == "freezes":
        assert 4000 <= report["freezes"]["longestMilliseconds"] <= 6500 and report["frames"]["repeated"] >= 40, report
    else:
        assert report["freezes"]["longestMilliseconds"] < 1000 and report["avOffsetMilliseconds"] >= 200, report


def test_a_room_without_an_echo_is_no_media_and_prometheus_hears_of_it(stage):
    server = stage.serve()
    metrics = stage.folder / "room.prom"
    process = stage.run_tapedeck("probe", room_url(server, "probe"), "--echo", "--wait", "15s", "--prometheus", metrics, *SMALL,
                                 timeout=LIMIT)
    assert process.exit_code == 4 and "no frame came" in process.messages, process.story()
    assert "tapedeck_probe_success{" in metrics.read_text() and "_score" not in metrics.read_text()


def test_many_peers_send_what_one_encoder_makes(stage):
    server = stage.serve("--room-size", "6")
    url = room_url(server, "load")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url, "--until-empty", "--directory", storage, "--json")
    camera = stage.tapedeck("camera", url, "--count", "4", "--json", *SMALL)
    wait_for_media(recorder, storage, 8)
    assert camera.end() == 0, camera.story()
    result = camera.result()
    assert (result["peers"], result["joined"], result["connected"]) == (4, 4, 4), camera.story()
    assert list(result["framesEncoded"]) == ["OPUS", "VP8"] and list(result["encoders"]) == ["OPUS", "VP8"], camera.story()
    assert recorder.wait(LIMIT) == 0, recorder.story()
    tracks = json.loads(recorder.output.splitlines()[-1])["tracks"]
    assert len({track["participant"] for track in tracks}) == 4 and len(tracks) == 8, recorder.story()
