# SPDX-License-Identifier: Apache-2.0
"""`make bench`: what its report says of given results, and one small run of all it measures."""

import json
import pathlib
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Benchmarks"))
import bench  # noqa: E402
import bench_compare  # noqa: E402
import bench_report  # noqa: E402
import charts  # noqa: E402
import sender_trace  # noqa: E402


def run(receiver, rooms, round_number, cpu, after=0.0, proportional=0, **members):
    """A result of 10 s in which the receiver's only process used so many CPU seconds."""
    return {"receiver": receiver, "media": "vp8-720p30", "rooms": rooms, "round": round_number, "seconds": 10.0,
            "recordedSeconds": 20.0, "lost": 0.0, "latestPacketMilliseconds": 1.0, "elsewhereCPUSeconds": 1.0,
            "sent": {"frames": 600 * rooms, "pictures": 4000 * rooms, "sounds": 1000 * rooms},
            "kept": {"afterCPUSeconds": after},
            "processes": [{"cpuSeconds": cpu, "proportional": proportional, "threads": 3, "descriptors": 9,
                           "switches": 50, "writtenBytes": 10_000}], **members}


RUNS = [run("tapedeck", 1, 1, 0.1, after=0.1, proportional=20_000),
        run("tapedeck", 1, 2, 0.3, after=0.1, proportional=20_000), run("tapedeck", 10, 1, 1.0, proportional=38_000),
        run("janus", 1, 1, 0.2), run("janus", 1, 3, 0.1), run("webrtcbin", 1, 2, 0.2), run("tapedeck-receiving", 1, 3, 0.05)]


def test_ratios_are_between_neighbours_in_one_round():
    groups = bench_report.grouped(RUNS, "vp8-720p30")
    # 1 % while recorded and 0.5 % afterwards, against 2 %; the other rounds of Janus and Tapedeck have no partner.
    assert bench_report.ratios(groups, "tapedeck", "janus", bench_report.whole_share) == {1: [pytest.approx(0.75)]}
    assert bench_report.ratios(groups, "tapedeck", "webrtcbin", bench_report.call_share) == {1: [pytest.approx(1.5)]}
    assert bench_report.ratios(groups, "tapedeck", "aiortc", bench_report.call_share) == {}


def test_ratios_are_of_one_shape():
    """Results that name no shape are of packets that were paced."""
    bursts = [run(name, 1, 1, cpu, shape="bursts") for name, cpu in (("tapedeck", 0.1), ("janus", 0.1), ("floor", 0.02))]
    assert bench_report.loads(bursts + RUNS) == [("vp8-720p30", "paced"), ("vp8-720p30", "bursts")]
    for runs in RUNS + bursts, bursts + RUNS:
        groups = bench_report.grouped(runs, "vp8-720p30")
        assert bench_report.ratios(groups, "tapedeck", "janus", bench_report.whole_share) == {1: [pytest.approx(0.75)]}
        assert "floor" not in groups
        groups = bench_report.grouped(runs, "vp8-720p30", "bursts")
        assert bench_report.ratios(groups, "tapedeck", "janus", bench_report.whole_share) == {1: [pytest.approx(1)]}
        assert bench_report.ratios(groups, "tapedeck", "floor", bench_report.call_share) == {1: [pytest.approx(5)]}
    rows = [row for row in bench_report.targets({"runs": RUNS + bursts}) if "against Janus, both" in row]
    assert rows[:2] == [
        "| vp8-720p30, paced | CPU of a recorded room against Janus, both with what makes files playable | 0.55 × | "
        "0.75 with 1 room |",
        "| vp8-720p30, bursts | CPU of a recorded room against Janus, both with what makes files playable | 0.75 × | "
        "1.00 with 1 room |"]


def test_a_trace_has_the_delays_of_each_frame_of_the_video():
    def packet(source, frame, milliseconds, size=1200):
        return source, (2**32 - 3000 + 3000 * frame) % 2**32, size, round((1000 + 1000 * frame / 30 + milliseconds) * 1e6)

    # The first and the last frame, of which packets may be missing, are left out; so is the audio.
    found = sender_trace.frames([packet(b"v", 0, 2), packet(b"v", 1, 1), packet(b"v", 1, 1.2), packet(b"a", 1, 0, 90),
                                 packet(b"v", 2, 5), packet(b"v", 2, 9), packet(b"v", 3, 0)])
    assert found == [pytest.approx([0, 0.2], abs=0.001), pytest.approx([4, 8], abs=0.001)]


def test_lost_is_a_share_of_what_was_sent():
    sent = {"frames": 30, "pictures": 150, "sounds": 50}
    assert bench.lost(sent, {"packets": 190}) == pytest.approx(0.05)
    assert bench.lost(sent, {"lostPackets": 2}) == pytest.approx(0.01)
    assert bench.lost(sent, {"frames": 30, "sounds": 46}) == pytest.approx(0.05)


def test_an_added_room_is_the_slope_from_least_to_most():
    groups = bench_report.grouped(RUNS, "vp8-720p30")
    assert bench_report.added(groups["tapedeck"], bench_report.memory) == pytest.approx(2.0)
    assert bench_report.added(groups["janus"], bench_report.memory) is None


def test_only_results_of_the_same_binary_and_host_are_gone_on_with():
    now = {"made": "b", "tapedeck": "0.1.0", "binary": "1f", "host": {"cores": 2}, "seconds": 10, "runs": []}
    found = bench.resumed({**now, "made": "a", "runs": RUNS, "beginnings": {}}, now)
    assert found == {**now, "runs": RUNS, "beginnings": {}}
    assert bench.is_there(found, "paced", round=2, media="vp8-720p30", rooms=1, receiver="tapedeck")
    assert not bench.is_there(found, "bursts", round=2, media="vp8-720p30", rooms=1, receiver="tapedeck")
    assert not bench.is_there(found, "paced", round=2, media="vp8-720p30", rooms=10, receiver="tapedeck")
    for key, other in (("binary", "2e"), ("host", {"cores": 4}), ("seconds", 60), ("tapedeck", "0.2.0")):
        with pytest.raises(ValueError, match=key):
            bench.resumed({**now, key: other}, now)


def test_results_are_compared_where_both_have_a_figure():
    calls = {"beginnings": {"calls": [{"total": 100}, {"total": 120}]}}
    old = {"runs": RUNS, **calls}
    new = {"runs": [run("tapedeck", 1, 1, 0.2, after=0.2, proportional=20_000), run("janus", 1, 1, 0.2)],
           "beginnings": {"calls": [{"total": 60}]}}
    assert bench_compare.compared(old, new) == [
        ("vp8-720p30, paced, CPU of a recorded room against Janus, both with what makes files playable, 1 rooms",
         pytest.approx(0.75), pytest.approx(1.5), pytest.approx(2)),
        ("offer to the first keyframe in the file, p95, ms", 120, 60, 0.5)]
    assert bench_compare.figures(old)["vp8-720p30, paced, memory of an added room, MB"] == pytest.approx(2)
    assert [bench_compare.is_off(times, 20) for times in (0.8, 0.84, 1, 1.2, 1.21)] == [True, False, False, False, True]


def test_the_command_that_compares_ends_with_what_it_found(tmp_path, stage):
    def compare(runs):
        (tmp_path / "new.json").write_text(json.dumps({"runs": runs}))
        (tmp_path / "old.json").write_text(json.dumps({"runs": RUNS}))
        command = stage.start("compare", sys.executable, ROOT / "Tests/Benchmarks/bench_compare.py", tmp_path / "new.json",
                              "--against", tmp_path / "old.json")
        return command.wait()

    assert compare(RUNS) == 0
    assert compare([run("tapedeck", 1, 1, 0.2), run("janus", 1, 1, 0.2)]) == 1
    assert compare([run("aiortc", 1, 1, 0.2)]) == 2


def test_switches_are_those_of_threads_that_are_there_at_the_end():
    before = {"1": ("tapedeck", 100, 5), "2": ("recorder", 50, 1), "3": ("gone", 7, 7)}
    after = {"1": ("tapedeck", 110, 5), "2": ("recorder", 300, 11), "4": ("recorder", 30, 0)}
    found = bench.process.switches_between(before, after)
    assert found == {"recorder": [280, 10], "tapedeck": [10, 0]}
    one = {"name": "tapedeck", "threadSwitches": {**found, "asleep": [0, 0]}}
    assert bench_report.threads({"seconds": 20.0, "processes": [one], "elsewhereSwitches": 1000})[2:5] == [
        "| tapedeck | recorder | 14.5 | 14.0 | 0.5 |", "| tapedeck | tapedeck | 0.5 | 0.5 | 0.0 |", "| elsewhere |  | 50.0 |  |  |"]


@pytest.mark.parametrize("share, expected", [(50, 5), (95, 10), (0, 1), (100, 10)])
def test_percentile_is_the_nearest_rank(share, expected):
    assert bench_report.percentile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], share) == expected


def test_spread_says_what_it_knows():
    assert bench_report.spread([3, 1, 2]) == "2.00 (1.00 to 3.00)"
    assert bench_report.spread([1.234], 1) == "1.2"


@pytest.mark.parametrize("highest", [0, 1e-6, 0.7, 1, 99, 100, 12345])
def test_axes_reach_above_everything_in_few_steps(highest):
    ticks = charts.steps(highest)
    assert ticks[0] == 0 and ticks[-1] >= highest
    assert 2 <= len(ticks) <= 8


def test_report_replaces_its_part_of_the_page_only(tmp_path, monkeypatch):
    page, folder = tmp_path / "docs" / "performance.md", tmp_path / "docs" / "benchmarks"
    folder.mkdir(parents=True)
    page.write_text(f"before\n{bench_report.BEGIN}\nold\n{bench_report.END}\nafter\n")
    monkeypatch.setattr(bench_report, "PAGE", page)
    call = {"answer": 10.0, "ice": 20.0, "dtls": 30.0, "packet": 5.0, "file": 1.0, "total": 66.0}
    results = {"made": "2026-11-22T07:00:00+00:00", "tapedeck": "0.1.0", "seconds": 10, "runs": RUNS,
               "host": {"cores": 2, "processor": "<that & this>", "kernel": "6"},
               "beginnings": {"media": "vp8-720p30", "calls": [call]}}
    for _ in range(2):
        bench_report.write(results, folder)
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
        assert "| Tapedeck, shared worker | 1 | 2.00 (1.00 to 3.00) |" in text
        assert "| offer to keyframe | 66 | 66 | 66 |" in text
        assert ("| vp8-720p30, paced | CPU of a recorded room against Janus, both with what makes files playable | 0.55 × | "
                "0.75 with 1 room |") in text
        assert ("| vp8-720p30, paced | CPU of receiving alone against Janus that records, during the call | 0.7 × | "
                "0.50 with 1 room |") in text
        assert "| memory of an added room, shared worker | 1.2 MB | 2.00 MB |" in text
        assert "| offer to the first keyframe in the file, p95 | 150 ms | 66 ms |" in text
    for name in "vp8-720p30-cpu", "vp8-720p30-memory", "vp8-720p30-lost", "beginnings":
        assert f"(benchmarks/{name}.svg)" in text
        assert xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")
    page.write_text("nothing to replace")
    with pytest.raises(ValueError, match="has no part between"):
        bench_report.write(results, folder)


@pytest.mark.long
@pytest.mark.media
def test_every_receiver_is_measured(stage):
    path = stage.folder / "results.json"
    bench = stage.start("bench", sys.executable, ROOT / "Tests/Benchmarks/bench.py", "--tapedeck", stage.tapedeck_path,
                        "--seconds", "3", "--warm-up", "1", "--rooms", "2", "--rounds", "1", "--media", "vp8-360p15",
                        "--calls", "2", "--aiortc-rooms", "2", "--results", path, "--no-report")
    assert bench.wait(560) == 0, bench.story()
    results = json.loads(path.read_text())
    names = ("tapedeck", "tapedeck-workers", "tapedeck-receiving", "janus", "floor", "webrtcbin", "matroskamux", "aiortc")
    assert [(each["receiver"], each["shape"]) for each in results["runs"]] == [
        (name, shape) for name in names for shape in ("paced", "bursts", "chromium")]
    for each in results["runs"]:
        assert min(one["cpuSeconds"] for one in each["processes"]) >= 0
        assert sum(one["cpuSeconds"] for one in each["processes"]) > 0
        assert each["sent"]["frames"] > 2 * 3 * 15
        if each["receiver"] != "aiortc":
            # Packets before the receiver's DTLS is up are lost, and video begins with the next keyframe.
            assert -0.01 < each["lost"] < 0.2, each
    for call in results["beginnings"]["calls"]:
        assert 0 < call["total"] < 30_000
