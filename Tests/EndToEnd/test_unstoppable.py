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
from daemon import WHOLE, Daemon, resident
from figures import A_FEW, AUDIO_PACKET, SLACK, assert_plays, assert_readable
from peers import room_url
from stage import LIMIT, dropped_datagrams, json_objects

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
    """The folder of the only recording of a room, and the report on it when it is exported and judged."""
    if order:
        daemon.post(f"/v1/rooms/{name}/stop")
    # Each file that is closed, and the export, wait for their disk.
    folder, = daemon.wait_for_export(name, 4 * LIMIT)

    def judged():
        return next((found for found in daemon.recordings() if found["room"] == name and found.get("verdict")), None)
    recording = daemon.wait_for("the verdict", judged, 4 * LIMIT)
    assert_plays(folder / "call.mkv")
    return folder, recording


# Stalls.

@pytest.mark.parametrize("who", ["supervisor", "all"])
def test_a_stall_of_a_minute_ends_no_worker_and_no_recording(stage, who):
    """As on a machine that swaps: no process is killed for a general stall, and gaps are reported."""
    stall = seconds("STALL", 60)
    server = stage.serve()
    names = ["one", "two"]
    daemon = Daemon(stage, {name: {"url": room_url(server, name)} for name in names}, workers={"hang_limit": "10s"})
    for name in names:
        daemon.wait_for_phase(name, "joined")
    cameras = [stage.tapedeck("camera", room_url(server, name), *SMALL) for name in names]
    for name in names:
        daemon.wait_for_recording(name)
    workers = {name: daemon.worker(name) for name in names}
    recordings = {name: daemon.room(name)["status"]["recording"]["id"] for name in names}
    supervisor = daemon.process.process.pid
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
    """Every fdatasync and fsync of supervisor and worker takes 1.5 s; twelve send audio, four video as well."""
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
    # Units that the recorder drops are reported as degraded.
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
            for gap in media.gaps(folder / track["file"], 0, AUDIO_PACKET)]
    answers.sort()
    tell(show="a", sync_ms=1500, seconds=length, tracks=len(found), units=sum(track["units"] for track in found),
         left_out=left_out, packets_lost=lost, dropped_by_kernel=dropped, holes=holes,
         gaps=len(gaps), verdict=recording["verdict"], worker="the same", stood_still=len(stood_still),
         answers=len(answers), answer_median_ms=round(answers[len(answers) // 2], 1), answer_most_ms=round(answers[-1], 1))
    assert len(found) == 20 and left_out == 0 and not stood_still
    assert answers[-1] <= MOST_MILLISECONDS, answers[-10:]
    # Packets that the kernel dropped reached no one, and audio is not sent twice.
    assert lost <= dropped and sum(count for _, count in holes) <= dropped and len(gaps) <= dropped, (lost, holes, gaps)


# The delay of an answer with a room's status, on a machine that also encodes for sixteen; tests of the gate assert no
# times.
MOST_MILLISECONDS = 100


# Floods.

# Each packet is of another source, or names others.
BY_SOURCE = ("sources", "payload_types", "contributors", "descriptions")
FLOODS = ("clocks", "tracks", "sequences", "units", *BY_SOURCE, "reports", "requests", "candidates", "forged")


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_costs_the_others_nothing(stage, kind):
    """A minute of 10 Mbit/s of packets that no sender should send, next to a participant that behaves well."""
    server = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}})
    daemon.wait_for_phase("standup", "joined")
    camera = stage.tapedeck("camera", room_url(server, "standup"), *SMALL)
    daemon.wait_for_recording("standup")
    worker, recording = daemon.worker("standup"), daemon.room("standup")["status"]["recording"]["id"]
    flooder = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180", "--fps", "5", "--bitrate",
                           "100000", *(["--announce"] if kind == "tracks" else []), program="flood_peer.py")
    sid = flooder.event("joined")["sid"]
    others = daemon.wait_for("tracks of both", lambda: (
        tracks := daemon.room("standup")["status"]["tracks"]) and len([
            track for track in tracks if track["participant"] == sid and track["units"]]) == 2 and {
                track["participant"] for track in tracks} - {sid})
    other, = others
    folder, = (daemon.storage / "recordings" / "standup").iterdir()
    journal = (folder / "journal.jsonl").stat().st_size
    memory = resident(worker)
    length = seconds("FLOOD", 60)
    flooder.tell(f"flood {kind} {length}")
    flooder.wait_for_event("flooding")
    flooded = flooder.wait_for("the end of the flood", lambda: flooder.event("flooded"), length + LIMIT)
    journal = (folder / "journal.jsonl").stat().st_size - journal
    # The flooder may be gone: a flood of signals makes the server put him out.
    wait_for_more_of(daemon, other, 30)
    memory = resident(worker) - memory
    status = daemon.room("standup")
    participants = {found["id"]: found for found in status["status"]["participants"]}
    refused = {name: found["refusedPackets"] for name, found in participants.items()}
    dropped = {name: [found["droppedReports"], found["droppedUnits"]] for name, found in participants.items()}
    warnings = daemon.log("too many sources or payload types")
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
    video = folder / numbers[mine["video"]]["file"]
    frames = media.frames(video)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    # The flooder gets them as well: what was sent counts twice.
    captured = camera.result()["framesCaptured"]
    tell(show="f", flood=kind, packets=flooded["packets"], mbit_per_second=round(
        flooded["bits"] / flooded["seconds"] / 1e6, 1), seconds=flooded["seconds"], connections=flooded["connections"], files=len(files),
         memory=memory, refused=refused.get(sid), dropped=dropped.get(sid),
         bytes=sum(path.stat().st_size for path in files), journal_bytes=journal, recordings=recordings,
         units={record["track"]: record["units"] for record in closed if record["track"] not in mine.values()},
         degraded=len(daemon.log("recording.degraded")), put_out=flooder.event("disconnected") is not None, frames=len(frames), captured=captured, first=counters[0],
         last=counters[-1], holes=media.lost_frames(frames), lost={kind: lost.get(number) for kind, number in mine.items()})
    # The participant has one file of each kind, and every frame from the first to the last is in it.
    assert len(mine) == len([record for record in numbers.values() if record["participant"] == other]) == 2, mine
    assert_readable(frames)
    assert not media.lost_frames(frames) and counters[-1] - counters[0] + 1 == len(frames)
    assert counters[0] <= SLACK and captured - SLACK < counters[-1] < captured, (counters[0], counters[-1], captured)
    sound = folder / numbers[mine["audio"]]["file"]
    assert len(media.gaps(sound, 0, AUDIO_PACKET)) <= lost.get(mine["audio"], 0) <= A_FEW
    # The flood's files on the disk are bounded, whatever the flood is.
    most_files = MOST_TRACKS if kind in ("tracks", "payload_types") else MOST_FILES
    assert recordings == 1 and len(files) <= most_files and journal <= MOST_JOURNAL * (1 + length / 60)
    # The flooder is to blame, and not the disk.
    assert not [line for line in daemon.log("recording.degraded") if "the disk" in line]
    assert dropped[other] == [0, 0], dropped
    if kind == "reports":
        assert dropped[sid][0] > 0, dropped
    if kind in BY_SOURCE:
        assert memory < MOST_MEMORY
    if kind in ("sources", "payload_types"):
        assert refused[other] == 0 < refused[sid], refused
        # One for each connection that lived long enough.
        assert 1 <= len(warnings) <= flooded["connections"], warnings


# Four new files in a minute for each track, and those that were there.
MOST_FILES = 16
# 48 at once for each participant, four in a minute, and those that were there.
MOST_TRACKS = 60
# The growth that a worker may have for sources that it does not know.
MOST_MEMORY = 60 << 20
# Bytes a minute, the other one's share included.
MOST_JOURNAL = 400_000


# Clocks.

FAULTS = [("ahead", 3600), ("back", 1), ("freeze", 60), ("restart", 0)]
# Tolerance of the wall clock, in milliseconds.
NEAR = 20
FPS, CAMERA_FPS = 10, 30


@pytest.mark.parametrize("fault, length", FAULTS)
def test_a_clock_that_goes_wrong_is_placed_right(stage, fault, length):
    """Faults of a sender's RTP clock move nothing in the export: neither its own media, nor the others."""
    server = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}})
    daemon.wait_for_phase("standup", "joined")
    length = int(seconds("FREEZE", length)) if fault == "freeze" else length
    camera = stage.tapedeck("camera", room_url(server, "standup"), *SMALL)
    daemon.wait_for_recording("standup")
    recording = daemon.room("standup")["status"]["recording"]["id"]
    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180", "--fps", str(FPS), "--bitrate",
                        "150000", "--on-the-second", program="faulty_clock_peer.py")
    sid = peer.event("joined")["sid"]
    wait_for_more_of(daemon, sid, 10 * FPS)
    peer.tell(f"fault {fault} {length}")
    went_wrong = peer.wait_for_event("fault")
    if fault == "freeze":
        time.sleep(length)
    wait_for_more_of(daemon, sid, 10 * FPS)
    assert daemon.room("standup")["status"]["recording"]["id"] == recording
    peer.end()
    assert camera.end() in (0, 130), camera.story()
    folder, found = finished(daemon, "standup")
    call = folder / "call.mkv"
    titles = {stream["tags"]["title"].split()[0] for stream in media.streams(call)}
    other, = titles - {sid}
    faulty, steady = places_of(call, sid, FPS), places_of(call, other, CAMERA_FPS)
    # The clocks are right before the fault: how an export is placed then is shown elsewhere (test_alignment.py).
    before = [place for counter, place in faulty if counter < went_wrong["counter"]]
    after = [place for counter, place in faulty if counter > went_wrong["counter"]]
    zero = sorted(before)[len(before) // 2]
    beeps = [1000 * ((beep - zero + 0.5) % 1 - 0.5) for stream in streams_of(call, sid, "audio")
             for beep in media.beeps(call, stream["index"])]
    # Audio has no counter; a second too much or too little shows in its length.
    sound = sorted(packet.time for stream in streams_of(call, sid, "audio")
                   for packet in media.packets(call, stream["index"]))
    too_long = 1000 * (sound[-1] - sound[0] + AUDIO_PACKET - AUDIO_PACKET * len(sound) - (
        length if fault == "freeze" else 0))
    places = {"before": before, "after": after}
    table = {f"pictures_{name}": [round(1000 * (edge(some) - zero), 1) for edge in (min, max)]
             for name, some in places.items()}
    table |= {"beeps": [round(edge(beeps), 1) for edge in (min, max)], "sound_too_long": round(too_long, 1), "steady": [
        round(1000 * (edge(place for _, place in steady) - steady[0][1]), 1) for edge in (min, max)]}
    certificate = json.loads((folder / "manifest.json").read_text())["certificate"]
    tell(show="e", fault=fault, seconds=length, verdict=found["verdict"], findings=[
        finding["text"] for finding in certificate["findings"]], pictures={name: len(some) for name, some in places.items()},
         beeps=len(beeps), milliseconds=table)
    assert min(map(len, places.values())) > 5 * FPS and len(beeps) >= 15
    assert not media.lost_frames([frame for stream in streams_of(call, other, "video")
                                  for frame in media.frames(call, stream["index"])])
    for name in ("pictures_before", "pictures_after", "beeps", "steady"):
        assert all(abs(milliseconds) <= NEAR for milliseconds in table[name]), (name, table)
    assert abs(too_long) < 500, table
    assert len(daemon.recordings()) == 1


def wait_for_more_of(daemon, participant, more):
    def count():
        found = {"video": 0, "audio": 0}
        for track in daemon.room("standup")["status"]["tracks"]:
            if track["participant"] == participant:
                found[track["kind"]] += track["units"]
        return found
    before = count()
    daemon.wait_for("more of him", lambda: all(now >= before[kind] + more for kind, now in count().items()))


def streams_of(path, participant, kind):
    return [stream for stream in media.streams(path, kind) if stream["tags"]["title"].startswith(participant)]


def places_of(path, participant, fps):
    """For each frame, its counter, and its time in the file less that since the first one was taken."""
    return [(frame.counter, frame.time - frame.counter / fps) for stream in streams_of(path, participant, "video")
            for frame in media.frames(path, stream["index"]) if frame.counter is not None]
