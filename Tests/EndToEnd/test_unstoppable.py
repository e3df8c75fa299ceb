# SPDX-License-Identifier: Apache-2.0
"""Nothing that a participant, a disk, a stall or a long call does costs another track: the figures of it, as they come.

Each test prints a line of JSON; `pytest -rA` or `-s` shows it. How many seconds the long ones take may be set:
TAPEDECK_STALL, TAPEDECK_SLOW_DISK, TAPEDECK_FLOOD and TAPEDECK_FREEZE.
"""

import json
import os
import signal
import time

import media
import pytest
from daemon import WHOLE, Daemon, children
from figures import A_FEW, SLACK, assert_plays, assert_readable
from harness import LIMIT, dropped_datagrams, json_objects, room_url

pytestmark = [pytest.mark.media, pytest.mark.long, pytest.mark.timeout(1200)]
SMALL = ("--size", "320x180", "--bitrate", "300k", "--json")


def seconds(name, usual):
    return float(os.environ.get(f"TAPEDECK_{name}", usual))


def tell(**facts):
    print(json.dumps(facts), flush=True)


def journal_of(folder):
    return json_objects((folder / "journal.jsonl").read_text().splitlines())


def units(daemon, name):
    """Units written, of all tracks of a room, by their kind."""
    found = {"video": 0, "audio": 0}
    for track in daemon.room(name)["status"]["tracks"]:
        found[track["kind"]] += track["units"]
    return found


def wait_for_more_units(daemon, name, more=50):
    before = units(daemon, name)
    daemon.wait_for(f"more of {name}", lambda: all(
        count > before[kind] + more for kind, count in units(daemon, name).items()))


def finished(daemon, name, order=True):
    """The folder of the only recording of a room, and what is told of it, when it is exported and judged."""
    if order:
        daemon.post(f"/v1/rooms/{name}/stop")
    folder, = daemon.wait_for_export(name)

    def judged():
        return next((found for found in daemon.recordings() if found["room"] == name and found.get("verdict")), None)
    recording = daemon.wait_for("the verdict", judged)
    assert_plays(folder / "call.mkv")
    return folder, recording


# Stalls.

@pytest.mark.parametrize("who", ["supervisor", "all"])
def test_a_stall_of_a_minute_ends_no_worker_and_no_recording(stage, who):
    """As on a machine that sleeps: nobody is killed for what nobody could do, and what is missing is told."""
    stall = seconds("STALL", 60)
    server = stage.serve()
    names = ["one", "two"]
    daemon = Daemon(stage, {name: {"url": room_url(server, name)} for name in names}, workers={"hang_limit": "20s"})
    for name in names:
        daemon.wait_for_phase(name, "joined")
    cameras = [stage.tapedeck("camera", room_url(server, name), *SMALL) for name in names]
    for name in names:
        daemon.wait_for_recording(name)
    workers = {name: daemon.worker(name) for name in names}
    recordings = {name: daemon.room(name)["status"]["recording"]["id"] for name in names}
    supervisor = daemon.process.process.pid
    assert sorted(children(supervisor)) == sorted(workers.values())
    stopped = [supervisor, *(workers.values() if who == "all" else [])]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    time.sleep(stall)
    for process in stopped:
        os.kill(process, signal.SIGCONT)
    for name in names:
        wait_for_more_units(daemon, name)
    assert {name: daemon.worker(name) for name in names} == workers
    assert {name: daemon.room(name)["restarts"] for name in names} == dict.fromkeys(names, 0)
    assert {name: daemon.room(name)["status"]["recording"]["id"] for name in names} == recordings
    assert len(daemon.log("recording.started")) == len(names) and not daemon.log("worker is ended")
    if who == "supervisor" and stall > 10:
        assert daemon.log("the supervisor stood still"), daemon.process.story()
    for camera in cameras:
        assert camera.end() in (0, 130), camera.story()
    for name in names:
        folder, recording = finished(daemon, name)
        assert recording["id"] == recordings[name]
        certificate = json.loads((folder / "manifest.json").read_text())["certificate"]
        told = [found["text"] for found in certificate["findings"] if found["kind"] == "stalled"]
        marked = [record["lasted_ns"] / 1e9 for record in journal_of(folder) if record.get("name") == "stalled"]
        chapters = [chapter["tags"]["title"] for chapter in json.loads(media.run(
            "ffprobe", "-v", "error", "-show_chapters", "-of", "json", folder / "call.mkv"))["chapters"]]
        spans = sorted(media.span(folder / "call.mkv", stream["index"])
                       for stream in media.streams(folder / "call.mkv", "video"))
        tell(show="h", stalled=who, seconds=stall, room=name, workers="the same", recordings=1, marked=marked,
             verdict=recording["verdict"], certificate=told, chapters=[title for title in chapters if "stood" in title],
             pictures=spans)
        if who == "all":
            # One mark for one stall, about as long as it was.
            assert len(marked) == len(told) == 1 and stall - 5 < marked[0] < stall + 30, (marked, told)
            assert recording["verdict"] == "complete-with-gaps" and any("stood still" in title for title in chapters)
            assert spans[-1][1] > stall, spans
        else:
            assert not marked and not told and recording["verdict"] in WHOLE, recording
            stream, = media.streams(folder / "call.mkv", "video")
            frames = media.frames(folder / "call.mkv", stream["index"])
            assert_readable(frames)
            assert not media.lost_frames(frames) and spans[0][1] > stall


# Disks.

def test_a_slow_disk_costs_sixteen_participants_nothing(stage, slow_disk, monkeypatch):
    """Every fdatasync and fsync of supervisor and worker takes 1.5 s; twelve send sound, four pictures as well."""
    room = 1234
    length = seconds("SLOW_DISK", 300)
    janus = stage.janus({room: {"publishers": 20, "audiocodec": "opus", "videocodec": "vp8", "bitrate": 0}})
    url = f"janus+ws://127.0.0.1:{janus.port}/?room={room}"
    with monkeypatch.context() as patch:
        for name, value in slow_disk(1500).items():
            patch.setenv(name, value)
        daemon = Daemon(stage, {"hall": {"url": url}}, workers={"hang_limit": "10s"})
    daemon.wait_for_phase("hall", "joined")
    worker = daemon.worker("hall")
    cameras = [stage.tapedeck("camera", url, "--count", 12, "--video", "none", "--json"),
               stage.tapedeck("camera", url, "--count", 4, *SMALL, "--fps", "15")]

    def tracks(kind):
        return [track for track in daemon.room("hall")["status"]["tracks"] if track["kind"] == kind and track["units"]]
    daemon.wait_for("sixteen participants", lambda: len(tracks("audio")) == 16 and len(tracks("video")) == 4)
    dropped = dropped_datagrams()
    answers, until = [], time.monotonic() + length
    while time.monotonic() < until:
        began = time.monotonic()
        status = daemon.room("hall")
        answers.append(1000 * (time.monotonic() - began))
        assert status["worker"]["processID"] == worker and status["restarts"] == 0
        time.sleep(1)
    assert len(daemon.log("recording.started")) == 1
    assert not daemon.log("worker is ended") and not daemon.log("recording.degraded"), daemon.process.story()
    stood_still = daemon.log("stood still")
    dropped = dropped_datagrams() - dropped
    daemon.post("/v1/rooms/hall/stop")
    for camera in cameras:
        assert camera.end() in (0, 130), camera.story()
    folder, recording = finished(daemon, "hall", order=False)
    certificate = json.loads((folder / "manifest.json").read_text())["certificate"]
    found = certificate["tracks"]
    lost, left_out = (sum(track.get(name) or 0 for track in found) for name in ("packets_lost", "left_out"))
    holes = [hole for track in found if track["media"] == "video"
             for hole in media.lost_frames(media.frames(folder / track["file"]))]
    gaps = [gap for track in found if track["media"] == "audio"
            for gap in media.gaps(folder / track["file"], 0, 0.020)]
    answers.sort()
    tell(show="a", sync_ms=1500, seconds=length, tracks=len(found), units=sum(track["units"] for track in found),
         dropped_by_recorder=0, left_out=left_out, packets_lost=lost, dropped_by_kernel=dropped, holes=holes,
         gaps=len(gaps), verdict=recording["verdict"], worker="the same", stood_still=len(stood_still),
         answers=len(answers), answer_median_ms=round(answers[len(answers) // 2], 1), answer_most_ms=round(answers[-1], 1))
    assert len(found) == 20 and left_out == 0 and not stood_still
    # What the kernel threw away came to nobody, and sound is not sent twice.
    assert lost <= dropped and sum(count for _, count in holes) <= dropped and len(gaps) <= dropped, (lost, holes, gaps)


# Floods.

FLOODS = ("clocks", "sequences", "units", "sources", "reports", "requests", "candidates")


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_costs_the_others_nothing(stage, kind):
    """A minute of 10 Mbit/s of what no sender should send, beside somebody who behaves well."""
    server = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}})
    daemon.wait_for_phase("standup", "joined")
    camera = stage.tapedeck("camera", room_url(server, "standup"), *SMALL)
    daemon.wait_for_recording("standup")
    worker, recording = daemon.worker("standup"), daemon.room("standup")["status"]["recording"]["id"]
    flooder = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180", "--fps", "5", "--bitrate",
                           "100000", program="flood_peer.py")
    sid = flooder.event("joined")["sid"]
    others = daemon.wait_for("tracks of both", lambda: (
        tracks := daemon.room("standup")["status"]["tracks"]) and len([
            track for track in tracks if track["participant"] == sid and track["units"]]) == 2 and {
                track["participant"] for track in tracks} - {sid})
    other, = others
    folder, = (daemon.storage / "recordings" / "standup").iterdir()
    journal = (folder / "journal.jsonl").stat().st_size
    length = seconds("FLOOD", 60)
    flooder.tell(f"flood {kind} {length}")
    flooder.wait_for_event("flooding")
    flooded = flooder.wait_for("the end of the flood", lambda: flooder.event("flooded"), length + LIMIT)
    journal = (folder / "journal.jsonl").stat().st_size - journal
    wait_for_more_units(daemon, "standup", 30)
    status = daemon.room("standup")
    assert status["worker"]["processID"] == worker and status["restarts"] == 0
    assert status["status"]["recording"]["id"] == recording
    flooder.end()
    assert camera.end() in (0, 130), camera.story()
    folder, _ = finished(daemon, "standup")
    files = [path for path in (folder / "tracks").iterdir() if sid in path.name]
    recordings = len(daemon.recordings())
    records = journal_of(folder)
    closed = [record for record in records if record["kind"] == "track-closed"]
    numbers = {record["track"]: record for record in records if record["kind"] == "track-opened"}
    mine = {record["media"]: number for number, record in numbers.items() if record["participant"] == other}
    lost = {record["track"]: record["lost"] for record in records if record["kind"] == "packets-counted"}
    video, = (folder / "tracks").glob(f"*-{other}-video.mkv")
    frames = media.frames(video)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    # The flooder gets them as well: what was sent counts twice.
    captured = camera.result()["framesCaptured"]
    tell(show="f", flood=kind, packets=flooded["packets"], mbit_per_second=round(
        flooded["bits"] / flooded["seconds"] / 1e6, 1), seconds=flooded["seconds"], files=len(files),
         bytes=sum(path.stat().st_size for path in files), journal_bytes=journal, recordings=recordings,
         units={record["track"]: record["units"] for record in closed if record["track"] not in mine.values()},
         degraded=len(daemon.log("recording.degraded")), put_out=flooder.event("disconnected") is not None, frames=len(frames), captured=captured, first=counters[0],
         last=counters[-1], holes=media.lost_frames(frames), lost={kind: lost.get(number) for kind, number in mine.items()})
    # He has one file of each kind, and every picture from the first to the last is in it.
    assert len(mine) == len([record for record in numbers.values() if record["participant"] == other]) == 2, mine
    assert_readable(frames)
    assert not media.lost_frames(frames) and counters[-1] - counters[0] + 1 == len(frames)
    assert counters[0] <= SLACK and captured - SLACK < counters[-1] < captured, (counters[0], counters[-1], captured)
    sound, = (folder / "tracks").glob(f"*-{other}-audio.mka")
    assert len(media.gaps(sound, 0, 0.020)) <= lost.get(mine["audio"], 0) <= A_FEW
    # What the flood leaves on the disk is bounded, whatever the flood is.
    assert recordings == 1 and len(files) <= MOST_FILES and journal <= MOST_JOURNAL * (1 + length / 60)


# Four new files in a minute for each track, and those that were there.
MOST_FILES = 16
# Bytes a minute, the other one's share included.
MOST_JOURNAL = 400_000


# Clocks.

FAULTS = [("ahead", 3600), ("back", 1), ("freeze", 60), ("restart", 0)]
# Of the wall clock.
NEAR = 0.020


@pytest.mark.parametrize("fault, length", FAULTS)
def test_a_clock_that_goes_wrong_is_placed_right(stage, fault, length):
    """What a sender's RTP clock does moves nothing in the export: not him, and not the others."""
    server = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}})
    daemon.wait_for_phase("standup", "joined")
    length = seconds("FREEZE", length) if fault == "freeze" else length
    peers = [stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180", "--fps", str(FPS), "--bitrate",
                          "200000", "--on-the-second", "--exact-reports", program="faulty_clock_peer.py")
             for _ in range(2)]
    sids = [peer.event("joined")["sid"] for peer in peers]

    def all_sent(more=0):
        tracks = daemon.room("standup")["status"]["tracks"]
        sending = [track for track in tracks if track["open"] and track["units"] > more]
        return len(sending) >= 4 and {track["participant"] for track in sending} == set(sids)
    daemon.wait_for("ten seconds of both", lambda: all_sent(10 * FPS))
    recording = daemon.room("standup")["status"]["recording"]["id"]
    for peer, kind in zip(peers, ("none", fault)):
        peer.tell(f"fault {kind} {int(length)}")
    started = [peer.wait_for_event("fault")["startedAt"] for peer in peers]
    if fault == "freeze":
        time.sleep(length)
    wait_for_more_of_each(daemon, sids, 10 * FPS)
    assert daemon.room("standup")["status"]["recording"]["id"] == recording
    for peer in peers:
        peer.end()
    folder, found = finished(daemon, "standup")
    zero = None
    table = {}
    for who, sid, began in zip(("steady", "faulty"), sids, started):
        places = sorted(place - began for place in places_of(folder / "call.mkv", sid))
        # Where the export begins, by him who is sound.
        zero = places[len(places) // 2] if zero is None else zero
        sounds = [(time - zero + 0.5) % 1 - 0.5 for time in beeps_of(folder / "call.mkv", sid)]
        table[who] = {"pictures": len(places), "from_ms": round((places[0] - zero) * 1000, 1),
                      "to_ms": round((places[-1] - zero) * 1000, 1), "beeps": len(sounds),
                      "beeps_from_ms": round(min(sounds) * 1000, 1), "beeps_to_ms": round(max(sounds) * 1000, 1)}
    tell(show="e", fault=fault, seconds=length, verdict=found["verdict"], near_ms=NEAR * 1000, **table,
         streams=media.describe(folder / "call.mkv").splitlines()[1:])
    for who, row in table.items():
        assert row["pictures"] > 20 * FPS * 0.9 and row["beeps"] >= 15, table
        assert all(abs(row[name]) <= NEAR * 1000 for name in row if name.endswith("_ms")), table
    assert len(daemon.recordings()) == 1


FPS = 15


def wait_for_more_of_each(daemon, participants, more):
    def count():
        found = dict.fromkeys(((who, kind) for who in participants for kind in ("video", "audio")), 0)
        for track in daemon.room("standup")["status"]["tracks"]:
            found[track["participant"], track["kind"]] += track["units"]
        return found
    before = count()
    daemon.wait_for("more of each", lambda: all(now >= before[key] + more for key, now in count().items()))


def streams_of(path, participant, kind):
    return [stream for stream in media.streams(path, kind) if stream["tags"]["title"].startswith(participant)]


def places_of(path, participant):
    """Of each picture, the time in the file less that since the first one was taken."""
    return [frame.time - frame.counter / FPS for stream in streams_of(path, participant, "video")
            for frame in media.frames(path, stream["index"]) if frame.counter is not None]


def beeps_of(path, participant):
    return [beep for stream in streams_of(path, participant, "audio") for beep in media.beeps(path, stream["index"])]
