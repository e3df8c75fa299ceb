# SPDX-License-Identifier: Apache-2.0
"""Images of participants are made in separate processes: none that records decodes data from peers."""

import json
import resource

import media
import pytest
from daemon import Daemon
from peers import room_url
from stage import LIMIT, decoders

ROOM = "123123"


def limits(process):
    """The limits that a process has set for itself: address space, processor time, and who is ended first."""
    return (resource.prlimit(process, resource.RLIMIT_AS)[1], resource.prlimit(process, resource.RLIMIT_CPU)[1],
            open(f"/proc/{process}/oom_score_adj", encoding="ascii").read().strip())


@pytest.mark.media
def test_an_image_is_made_outside_of_the_worker(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {name: {"url": room_url(server, name), "record": "none"} for name in ("usual", "huge")})
    stage.aiortc(server, "usual", "--send", "synthetic", "--size", "320x180", "--fps", "15", "--codec", "vp8")
    stage.aiortc(server, "huge", "--send", "synthetic", "--size", "320x180", "--fps", "15", "--codec", "vp8", "--odd",
                 "huge", program="odd_sender_peer.py")

    def thumbnail(room):
        """The answer to a question for an image, once there is a participant whose keyframe came."""
        participants = daemon.room(room)["status"]["participants"]
        if not participants:
            return None
        status, _, body = daemon.request("GET", f"/v1/rooms/{room}/participants/{participants[0]['id']}/thumbnail.jpg")
        return None if status == 503 or b"no frame of" in body else (status, body)

    status, image = daemon.wait_for("an image", lambda: thumbnail("usual"))
    assert status == 200, image
    path = stage.folder / "still.jpg"
    path.write_bytes(image)
    image, = media.probe(path)["streams"]
    assert (image["codec_name"], image["width"], image["height"]) == ("mjpeg", 320, 180)
    status, problem = daemon.wait_for("an answer", lambda: thumbnail("huge"))
    assert status == 404, problem
    assert "16383 x 16383 pixels; an image is made of at most 16777216" in json.loads(problem)["detail"]
    for room in ("usual", "huge"):
        assert not decoders(daemon.worker(room))
    assert not decoders(daemon.process.process.pid)


def test_a_job_for_an_image_has_limits(stage):
    job = stage.tapedeck("worker", "--still", "vp8")
    # It reads its standard input to the end before it does anything else.
    memory, time, order = job.wait_for("limits", lambda: (
        found if (found := limits(job.process.pid))[0] == 1 << 30 and found[1] > 0 else None), LIMIT)
    assert time < 30 and order == "900"
    job.process.stdin.close()
    assert job.wait() == 5
