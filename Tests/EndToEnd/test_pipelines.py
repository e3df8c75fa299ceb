# SPDX-License-Identifier: Apache-2.0
"""Pipeline files: listed, checked, overridden by a folder of the operator's, without a build."""

import json
import re
import shutil
import subprocess
import time

import media
import pytest
from daemon import Daemon
from figures import number
from peers import room_url
from recordings import interrupted, tracks
from stage import LIMIT, free_port

ROOM = "123123"
NOBODY = f"socketio+http://127.0.0.1:{free_port()}/1"

# One colour, which shows from which capture a decoded frame came.
CAPTURE = """
description: One colour.
gives: { video: raw }
ports: { out_video: src }
requires: [videotestsrc, capsfilter, identity]
launch: |
  videotestsrc name=source is-live=true pattern=solid-color ! capsfilter name=picture_format ! identity name=out_video
parameters:
  picture_format: { element: picture_format, property: caps, type: caps }
  colour: { element: source, property: foreground-color, type: int, default: 4278190335 }
"""
# Fails after a few frames, as a driver may.
ENCODER = """
description: An encoder that gives up.
accepts: { video: raw }
gives: { video: VP8 }
ports: { in_video: sink, out_video: src }
requires: [vp8enc, identity]
rank: 900
launch: vp8enc name=in_video deadline=1 ! identity name=out_video error-after=5
"""


@pytest.fixture
def folder(stage):
    """A folder of the operator's with a capture and an encoder."""
    path = stage.folder / "pipelines"
    for kind, name, text in (("capture", "colour", CAPTURE), ("encode", "broken", ENCODER)):
        (path / kind).mkdir(parents=True)
        (path / kind / f"{name}.yaml").write_text(text)
    return path


def listed(process):
    return {line["name"]: line for line in process.facts}


def wait_for_frames(recorder, storage, count):
    """Waits until this many frames are written; the size of a file says little where all are of one colour."""
    def written():
        time.sleep(0.3)
        try:
            return sum(len(media.packets(path, 0)) for path in tracks(storage)) >= count
        except subprocess.CalledProcessError:
            # Its beginning is being written.
            return False
    recorder.wait_for(f"{count} frames", written, LIMIT)


def test_a_capture_file_of_ones_own_is_used_with_its_parameters(stage, folder):
    server = stage.room_server(5)
    url = room_url(server, ROOM)
    exported = stage.folder / "call.mkv"
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url, "--directory", storage, "--output", exported, "--json")
    stage.members(server, ROOM, 1, LIMIT)
    # Full red, alpha first.
    camera = stage.tapedeck("camera", url, "--video", "colour", "--audio", "none", "--size", "320x180", "--codec", "vp8",
                            "--pipelines", folder, "--parameter", f"colour={0xFFFF0000}", "--json")
    # The encoder of the largest rank fails in the middle of the call, and the next one takes its place.
    camera.wait_for("the failure", lambda: "encode/broken" in camera.messages, LIMIT)
    wait_for_frames(recorder, storage, 30)
    interrupted(recorder)
    assert camera.end(LIMIT) in (0, 130), camera.story()
    picture = media.run("ffmpeg", "-v", "error", "-i", exported, "-frames:v", "1", "-f", "rawvideo",
                        "-pix_fmt", "rgb24", "-")
    assert len(picture) == 320 * 180 * 3
    red, green, blue = (sum(picture[channel::3]) / (320 * 180) for channel in range(3))
    assert red > 200 and green < 40 and blue < 40, f"{red} {green} {blue}\n{camera.story()}"
    result = camera.result()
    assert result["encoders"] == {"VP8": "encode/vp8enc"}, camera.story()
    assert number(result, "framesEncoded") >= 10, camera.story()


def test_pipelines_are_listed_with_what_is_missing(stage, folder):
    (folder / "capture" / "test.yaml").write_text(CAPTURE.replace("[videotestsrc", "[nosuchelement, videotestsrc"))
    process = stage.run_tapedeck("pipelines", "--json", "--pipelines", folder, timeout=LIMIT)
    assert process.exit_code == 0, process.story()
    lines = listed(process)
    assert lines["capture/colour"]["file"] == str(folder / "capture" / "colour.yaml")
    assert lines["capture/test"]["missing"] == ["nosuchelement"]
    assert "file" not in lines["capture/v4l2"] and lines["encode/x264enc"]["rank"] == 200
    # One without its elements cannot be used, and says so before anybody joins.
    process = stage.run_tapedeck("camera", NOBODY, "--pipelines", folder, "--audio", "none", timeout=LIMIT)
    assert process.exit_code == 2 and "nosuchelement" in process.messages, process.story()


def test_a_file_of_the_program_can_be_copied_and_changed(stage, folder):
    process = stage.run_tapedeck("pipelines", "--show", "capture/test", timeout=LIMIT)
    assert process.exit_code == 0, process.story()
    (folder / "capture" / "mine.yaml").write_text(process.output.replace("default: smpte", "default: ball"))
    process = stage.run_tapedeck("pipelines", "--json", "--pipelines", folder, timeout=LIMIT)
    pattern, = [each for each in listed(process)["capture/mine"]["parameters"] if each["name"] == "pattern"]
    assert pattern["default"] == "ball", process.story()


OUTPUT = """
description: Nothing of a picture.
accepts: { video: raw }
ports: { in_video: sink }
requires: [nosuchelement, fakesink]
launch: fakesink name=in_video
"""


def test_outputs_of_rooms_are_checked(stage, folder):
    (folder / "output").mkdir()
    (folder / "output" / "mine.yaml").write_text(OUTPUT)
    configuration = stage.folder / "tapedeck.yaml"
    for file, part in (("mine", "output/mine needs what is not installed here: nosuchelement"),
                       ("mime", "there is no pipeline file output/mime")):
        configuration.write_text(json.dumps({
            "storage": {"directory": str(stage.folder)}, "pipelines": {"directory": str(folder)},
            "rooms": {"r": {"url": NOBODY, "outputs": [{"pipeline": {"file": file}}]}}}))
        process = stage.run_tapedeck("run", "--check", "--config", configuration, timeout=LIMIT)
        assert process.exit_code == 2, process.story()
        place = rf"tapedeck\.yaml:1:\d+: rooms\.r\.outputs\[0\]\.pipeline\.file: {part}"
        assert re.search(place, process.messages), process.story()


MISTAKES = [
    (("live: true", "lives: true"), "colour.yaml:1:1: lives: unknown key"),
    (("name=source", "name=sauce"), "parameters.colour.element: launch has no element with name=source"),
    (("type: int", "type: text"), "parameters.colour.type"),
    (("foreground-color", "no-such-property"), "parameters.colour: videotestsrc has no property \"no-such-property\""),
    (("pattern=solid-color", "pattern=nonsense"), "launch"),
    (("name=out_video", "name=out_video ! fakesink"), "requires: does not list \"fakesink\""),
]


@pytest.mark.parametrize("change, part", MISTAKES)
def test_every_mistake_is_told_with_file_and_key(stage, folder, change, part):
    file = folder / "capture" / "colour.yaml"
    file.write_text(CAPTURE.replace("\ndescription", "live: true\ndescription").replace(*change))
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text(f"storage: {{ directory: {stage.folder} }}\npipelines: {{ directory: {folder} }}\n")
    for command in (("pipelines", "--pipelines", folder), ("run", "--check", "--config", configuration),
                    ("run", "--config", configuration)):
        process = stage.run_tapedeck(*command, timeout=LIMIT)
        assert process.exit_code == 2, process.story()
        assert str(file) in process.messages and part in process.messages, process.story()


def test_a_configuration_is_checked_against_the_files(stage, folder):
    configuration = stage.folder / "tapedeck.yaml"

    def check(send):
        configuration.write_text(f"""
storage: {{ directory: {stage.folder} }}
pipelines: {{ directory: {folder} }}
rooms: {{ r: {{ url: "socketio+http://127.0.0.1:3000/1", send: {send} }} }}
""")
        return stage.run_tapedeck("run", "--check", "--config", configuration, timeout=LIMIT)
    assert check("{ capture: colour, parameters: { colour: 4278190335 } }").exit_code == 0
    process = check("{ capture: color, parameters: { hue: 7 } }")
    assert process.exit_code == 2, process.story()
    assert "rooms.r.send.capture" in process.messages and "colour" in process.messages, process.story()
    shutil.rmtree(folder)
    process = check("{ capture: test }")
    assert process.exit_code == 2 and str(folder) in process.messages, process.story()


@pytest.mark.parametrize("flags, part", [
    (("--parameter", "hue=7"), "hue"), (("--parameter", "pattern"), "pattern"), (("--pipelines", "/no/such"), "/no/such"),
    (("--video", "nosuch"), "there is: file"), (("--video", "image:/no/such.png"), "/no/such.png"),
    (("--video", "screen::97"), "screen :97"),
])
def test_what_cannot_be_captured_is_2_before_anybody_joins(stage, flags, part):
    process = stage.run_tapedeck("camera", NOBODY, "--audio", "none", *flags, timeout=LIMIT)
    assert process.exit_code == 2 and part in process.messages, process.story()


SLOW_ENCODER = """
description: Opus on a processor that is too slow.
accepts: { audio: raw }
gives: { audio: OPUS }
ports: { in_audio: sink, out_audio: src }
requires: [identity, opusenc]
rank: 900
launch: identity name=in_audio sleep-time=60000 ! opusenc name=out_audio
"""


def test_what_an_encoder_has_no_time_for_is_counted_and_told(stage, folder):
    (folder / "encode" / "slow.yaml").write_text(SLOW_ENCODER)
    (folder / "encode" / "broken.yaml").unlink()
    server = stage.serve("--room-size", "3")
    url = room_url(server, ROOM)
    daemon = Daemon(stage, {"standup": {"url": url, "record": "none", "send": {"capture": "none", "audio": "test"}}},
                    pipelines={"directory": str(folder)})
    daemon.wait_for_phase("standup", "joined", LIMIT)
    camera = stage.tapedeck("camera", url, "--video", "none", "--pipelines", folder, "--json")
    stage.aiortc(server, ROOM, "--receive")

    def counted():
        metrics = daemon.metrics()
        found = re.search(r'^tapedeck_room_camera_dropped_total\{room="standup"\} (\d+)$', metrics, re.M)
        return found and int(found[1]) > 0 and daemon.room("standup")["status"]["cameraDropped"] > 0
    daemon.wait_for("what was left out", counted, LIMIT)
    line = "an encoder does not keep up"
    assert any("encode/slow left out" in each for each in daemon.log(line)), daemon.process.story()
    camera.wait_for("its word", lambda: line in camera.messages, LIMIT)
    assert camera.end(LIMIT) in (0, 130), camera.story()
    assert list(camera.result()["dropped"]) == ["OPUS"] and camera.result()["dropped"]["OPUS"] > 0, camera.story()
    assert camera.messages.count(line) == 1, camera.story()
