# SPDX-License-Identifier: Apache-2.0
"""The kinds of files that an export can be, read by other programs."""

import signal

import media
import opentimelineio
from harness import LIMIT, record_some, recording_folder, room_url, wait_for_seconds

ROOM = "files"


def test_a_call_that_does_not_fit_its_output_is_kept_and_5(stage):
    """MP4 does not take VP8, which nobody knows before the call is over."""
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", storage, "--output", stage.folder / "call.mp4")
    wait_for_seconds(recorder, storage, 2, 2)
    recorder.signal(signal.SIGINT)
    assert recorder.wait(LIMIT) == 5, recorder.story()
    folder = recording_folder(storage)
    assert folder.name in recorder.messages and "not exported: " in recorder.messages, recorder.story()
    export = stage.run_tapedeck("export", folder, timeout=LIMIT)
    assert export.exit_code == 0, export.story()


def test_a_call_in_h264_becomes_mp4_and_a_project_but_no_webm(stage):
    server = stage.room_server(5)
    url = room_url(server, ROOM)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--codec", "h264")
    exported, recorder = record_some(stage, url)
    folder = recording_folder(stage.folder / "storage")

    mp4 = stage.folder / "call.mp4"
    export = stage.run_tapedeck("export", folder, "--output", mp4, timeout=LIMIT)
    assert export.exit_code == 0, export.story()
    assert "mp4" in media.probe(mp4)["format"]["format_name"], export.story()
    assert [stream["codec_name"] for stream in media.streams(mp4)] == ["h264", "opus"], export.story()
    assert media.decoder_messages(mp4) == "", export.story()
    for index, length in enumerate((0.034, 0.021)):
        was, became = media.span(exported, index), media.span(mp4, index)
        assert abs((became[1] - became[0]) - (was[1] - was[0])) <= length, f"{was} {became}\n{export.story()}"
        assert len(media.packets(mp4, index)) == len(media.packets(exported, index)), export.story()

    refused = stage.run_tapedeck("export", folder, "--container", "webm", timeout=LIMIT)
    assert refused.exit_code == 2 and "H.264" in refused.messages, refused.story()

    project = stage.run_tapedeck("export", folder, "--project", timeout=LIMIT)
    assert project.exit_code == 0, project.story()
    timeline = opentimelineio.adapters.read_from_file(str(folder / "call.otio"))
    assert [track.kind for track in timeline.tracks] == ["Video", "Audio"], project.story()
    duration = float(media.probe(folder / "call.mkv")["format"]["duration"])
    assert abs(timeline.duration().to_seconds() - duration) < 0.05, project.story()
    for clip in timeline.find_clips():
        assert (folder / clip.media_reference.target_url).is_file(), clip
    assert [marker.name for marker in timeline.tracks.markers], project.story()
    told = stage.run_tapedeck("export", folder, "--project", "--json", timeout=LIMIT).result()
    assert told["project"] == str(folder / "call.otio"), told
    assert recorder.result()["complete"], recorder.story()
