# SPDX-License-Identifier: Apache-2.0
"""Where a file is to go is looked at before there is anything to write."""

import pytest
from recordings import record_some, recording_folder
from peers import room_url
from stage import LIMIT

# No server is there: a command that joins it first would say so.
NOBODY = "socketio+http://127.0.0.1:1/room"


def refused(process):
    assert process.exit_code == 2 and not process.output, process.whole_story()
    return process.messages


@pytest.mark.parametrize("command", [("record", NOBODY), ("export", "k3v9"), ("demo",)])
def test_a_path_is_refused_at_once(stage, command):
    (stage.folder / "folder").mkdir()
    (stage.folder / "old.mkv").write_text("old")
    for path, reason in (
            ("folder", "folder is a folder; name the file, such as folder/call.mkv"),
            ("new/", "new/ is a folder; name the file, such as new/call.mkv"),
            ("new/call.mkv", "there is no folder new for new/call.mkv"),
            ("old.mkv/call.mkv", "there is no folder old.mkv"),
            ("old.mkv", "old.mkv exists; --force replaces it"),
            ("-", "cannot write to standard output"),
            ("call.avi", "'call.avi' does not say what kind of file it is"), ("call", "makes .mkv"), ("", "does not say"),
            ("x" * 300 + ".mkv", "File name too long"), ("/dev/null", "does not say"), ("/dev/full/call.mkv", "no folder")):
        assert reason in refused(stage.run_tapedeck(*command, "--output", path)), path
    assert (stage.folder / "old.mkv").read_text() == "old"


@pytest.mark.parametrize(("path", "codec", "reason"), [
    ("call.mp4", "vp8", "an MP4 file takes no VP8: leave --codec out to ask for h264"), ("call.mp4", "any", "takes no VP8"),
    ("call.webm", "h264", "a WebM file takes no H.264"), ("call.webm", "any", "takes no H.264")])
def test_a_codec_that_the_file_does_not_take_is_refused(stage, path, codec, reason):
    assert reason in refused(stage.run_tapedeck("record", NOBODY, "--output", path, "--codec", codec))


def test_an_export_goes_by_the_same_rules(stage):
    server = stage.room_server(5)
    stage.aiortc(server, "room", "--send", "synthetic", "--size", "320x180")
    record_some(stage, room_url(server, "room"))
    storage = stage.folder / "storage"
    folder = recording_folder(storage)
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text(f"storage: {{ directory: {storage} }}\n")
    identifier = folder.name.split("-")[1]

    def export(*arguments):
        # The storage is the configuration's.
        return stage.run_tapedeck("export", identifier[:8], "--config", configuration, *arguments, timeout=LIMIT)
    path = stage.folder / "export.mkv"
    for arguments in ((), ("--output", path), ("--output", path, "--force"),
                      ("--output", stage.folder / "call.data", "--container", "webm")):
        process = export(*arguments)
        assert process.exit_code == 0, process.whole_story()
    assert "export.mkv exists; --force replaces it" in refused(export("--output", path))
    assert "--container is webm, but the file is named .mkv" in refused(export("--output", path, "--container", "webm"))
    assert "the layout audio makes .opus" in refused(export("--output", path, "--layout", "audio"))
    # A point in time has a unit, as everywhere.
    assert "--from" in refused(export("--from", "1")) and export("--from", "1s").exit_code == 0
    # A repair finds the storage as well.
    process = stage.run_tapedeck("repair", "--config", configuration)
    assert process.exit_code == 0 and process.output == "Catalogue: 1 updated, 0 unchanged, 0 removed", process.whole_story()
    shown = stage.run_tapedeck("recordings", "--config", configuration).output.splitlines()
    assert f"{folder.name[:4]}-" in shown[1] and "Z  0:0" in shown[1] and " kB " in shown[1] or " MB " in shown[1], shown


@pytest.mark.parametrize("option", ["--duration", "--wait"])
def test_lengths_of_time_have_units(stage, option):
    assert option in refused(stage.run_tapedeck("record", NOBODY, option, "30"))
