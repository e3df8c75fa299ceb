# SPDX-License-Identifier: Apache-2.0
"""Plays a file in Chromium's <video>, like a page that got the file from a user."""

import base64
import contextlib
import dataclasses

import numpy as np
import pattern
from dashboard import chromium

# Unless it may load everything, Chromium suspends a file that does not play, and at times a seek never ends then.
PAGE = "<input type=file><video preload=auto></video>"
OPEN = """() => new Promise((done, fail) => {
    const video = document.querySelector("video");
    video.onloadeddata = () => done(video.duration);
    video.onerror = () => fail(new Error(video.error.message));
    video.src = URL.createObjectURL(document.querySelector("input").files[0]);
})"""
SEEK = """async (seconds) => {
    const video = document.querySelector("video");
    const seeked = new Promise((done) => { video.onseeked = done; });
    const shown = new Promise((done) => video.requestVideoFrameCallback((_, frame) => done(frame.mediaTime)));
    video.currentTime = seconds;
    await seeked;
    const time = await shown;
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight).getContext("2d");
    canvas.drawImage(video, 0, 0);
    const pixels = canvas.getImageData(0, 0, video.videoWidth, video.videoHeight);
    let green = "";
    for (let at = 1; at < pixels.data.length; at += 4) green += String.fromCharCode(pixels.data[at]);
    return { time, width: pixels.width, green: btoa(green) };
}"""
PLAY = """() => new Promise((done, fail) => {
    const video = document.querySelector("video");
    video.onerror = () => fail(new Error(video.error.message));
    video.onended = () => done({ frames: video.webkitDecodedFrameCount, audio_bytes: video.webkitAudioDecodedByteCount });
    video.play().catch(fail);
})"""


@dataclasses.dataclass(frozen=True)
class Seen:
    """The frame that is shown after a seek: its time in the file, its shape, and the counter in it."""
    time: float
    width: int
    height: int
    counter: int | None


class Player:
    """A page with one file, at its beginning."""

    def __init__(self, page, path):
        self.page = page
        page.set_default_timeout(90_000)
        page.set_content(PAGE)
        page.set_input_files("input", path)
        self.duration = page.evaluate(OPEN)

    def seek(self, seconds):
        found = self.page.evaluate(SEEK, seconds)
        luma = np.frombuffer(base64.b64decode(found["green"]), np.uint8).reshape(-1, found["width"])
        return Seen(found["time"], luma.shape[1], luma.shape[0], pattern.read_counter(luma))

    def play(self):
        """From the beginning to the end, once; how many frames and bytes of audio were decoded."""
        return self.page.evaluate(PLAY)


@contextlib.contextmanager
def playing(path):
    """A player of a file, in a separate browser."""
    with chromium() as browser:
        yield Player(browser.new_page(), path)
