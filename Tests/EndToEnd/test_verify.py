# SPDX-License-Identifier: Apache-2.0
"""`tapedeck verify`: what a recording is worth, its hashes held against sha256sum, its media against ffmpeg."""

import json
import os
import subprocess

import media
from daemon import WHOLE
from peers import room_url
from recordings import interrupted, recording_folder, wait_for_media
from stage import LIMIT


def verify(stage, *arguments):
    run = stage.run_tapedeck("verify", *arguments, "--json", timeout=LIMIT)
    return run, run.result()


def findings(certificate, severity):
    return [finding for finding in certificate["findings"] if finding["severity"] == severity]


def middle_of_largest_packet(path):
    """A place in a file that is media, not structure."""
    packets = json.loads(media.run("ffprobe", "-v", "error", "-show_entries", "packet=pos,size", "-of", "json", path))
    size, position = max((int(packet["size"]), int(packet["pos"])) for packet in packets["packets"])
    return position + size // 2


def test_a_recording_is_certified(stage):
    server = stage.serve()
    camera = stage.tapedeck("camera", room_url(server, "verify"), "--size", "320x180", "--json")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", room_url(server, "verify"), "--directory", storage)
    wait_for_media(recorder, storage)
    interrupted(recorder)
    camera.end(LIMIT)
    folder = recording_folder(storage)

    run, certificate = verify(stage, folder, "--decode")
    assert run.exit_code == 0 and certificate["verdict"] in WHOLE, run.story()
    assert {track["media"] for track in certificate["tracks"]} == {"audio", "video"}
    assert all(track["decoding"]["errors"] == 0 for track in certificate["tracks"]), certificate["tracks"]
    assert certificate["journal"]["chained_lines"] == certificate["journal"]["lines"]
    assert certificate["decoder"].startswith("ffmpeg version")
    # Other programs compute the same hashes; the manifest and the text next to call.mkv have them too.
    sums = "".join(f"{file['sha256']}  {file['name']}\n" for file in certificate["files"])
    checked = subprocess.run(["sha256sum", "--check", "--strict"], input=sums, cwd=folder, text=True,
                             capture_output=True)
    assert checked.returncode == 0 and len(certificate["files"]) >= 4, checked.stdout + checked.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["verdict"] == certificate["verdict"]
    assert sorted(file["sha256"] for file in manifest["files"]) == sorted(
        file["sha256"] for file in certificate["files"])
    assert certificate["files"][0]["sha256"] in (folder / "certificate.txt").read_text()

    # One bit of one track, and the file is named; every other is as it was.
    track = folder / next(file["name"] for file in certificate["files"] if file["name"].endswith(".mka"))
    content = bytearray(track.read_bytes())
    content[middle_of_largest_packet(track)] ^= 1
    track.write_bytes(content)
    run, broken = verify(stage, folder)
    assert run.exit_code == 5 and broken["verdict"] == "damaged", run.story()
    assert {finding["file"] for finding in findings(broken, "damage")} == {f"tracks/{track.name}"}
    assert "decoding" not in broken["tracks"][0]
    run, alone = verify(stage, track)
    assert run.exit_code == 5 and alone["findings"][0]["kind"] == "file-changed", run.story()


def test_a_decoder_that_is_ended_has_decoded_nothing(stage):
    path = stage.folder / "made.mkv"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=440:r=48000:d=2", "-c:a", "libopus",
                    path], check=True)
    folder = stage.folder / "bin"
    folder.mkdir()
    program = folder / "ffmpeg"
    program.write_text("#!/bin/sh\ncase $1 in -version) echo ffmpeg version 1;; *) kill -9 $$;; esac\n")
    program.chmod(0o755)
    run = subprocess.run([stage.tapedeck_path, "verify", path, "--decode", "--json"], capture_output=True, text=True,
                         timeout=LIMIT, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert run.returncode == 2 and "signal 9 ended it" in run.stderr, run
    certificate = json.loads(run.stdout)
    assert "decoder" not in certificate and "decoding" not in certificate["tracks"][0], certificate


def test_black_frozen_and_silent_stretches_are_told(stage):
    path = stage.folder / "made.mkv"
    # Two seconds of moving video, two black ones, and three of one and the same frame; audio in the middle.
    picture = ("testsrc2=s=320x240:r=15:d=2[a];color=black:s=320x240:r=15:d=2[b];"
               "color=red:s=320x240:r=15:d=3[c];[a][b][c]concat=n=3[out]")
    sound = "sine=440:r=48000:d=7,volume='between(t,3,4)':eval=frame"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound,
                    "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus", path], check=True)
    assert not media.decoder_messages(path)
    run, certificate = verify(stage, path, "--decode")
    assert run.exit_code == 0 and certificate["verdict"] == "complete", run.story()
    video, audio = (next(track["decoding"] for track in certificate["tracks"] if track["media"] == kind)
                    for kind in ("video", "audio"))
    black, = video["black"]["first"]
    assert abs(black["start_ns"] - 2e9) < 2e8 and abs(black["duration_ns"] - 2e9) < 2e8, video
    assert any(abs(span["start_ns"] - 4e9) < 3e8 and abs(span["duration_ns"] - 3e9) < 4e8
               for span in video["freezes"]["first"]), video
    assert [round(span["start_ns"] / 1e9) for span in audio["silences"]["first"]] == [0, 4], audio
    run = stage.run_tapedeck("verify", "--json", __file__)
    assert run.exit_code == 2 and "neither Matroska nor WebM" in run.messages, run.story()
