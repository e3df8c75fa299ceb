// SPDX-License-Identifier: Apache-2.0
// Plays a recording with all its participants: a file that exists, or one that is made when it is asked for.

import { filePath } from "./api.js";
import { button, h, setAttribute, setText } from "./dom.js";
import { duration, span } from "./format.js";
import { fail } from "./messages.js";
import { momentLink } from "./timeline.js";

// Parts, and files of one participant, have more in their names.
const FILES = { grid: /^call-grid\.(mp4|webm)$/, audio: /^call-audio\.(opus|ogg|wav)$/, browser: /^browser\.(webm|mp4)$/ };
const MAKING = { grid: "a video of everyone", audio: "the audio of everyone", browser: "a video for the browser" };

export class Player {
  /** `moved(seconds)` is called when another moment is shown. */
  constructor(recording, exports, { mayMake, moved }) {
    this.id = recording.id;
    this.exports = exports;
    this.mayMake = mayMake;
    this.startAt = 0;
    this.video = h("video", { controls: true, playsinline: true, preload: "metadata", hidden: true, "aria-label": "Recording" });
    this.progress = h("progress", { max: 1, hidden: true, "aria-label": "Progress of the export" });
    this.text = h("p", { role: "status" });
    this.start = button("play", "Play", () => this.play(), { class: "primary" });
    this.link = h("a", { class: "small-print", hidden: true });
    this.note = h("p", { class: "muted small-print" });
    this.element = h("div", { class: "player" },
      h("div", { class: "screen" }, this.video, this.start, this.progress, this.text),
      h("div", { class: "player-row" }, this.link, this.note));
    for (const kind of ["timeupdate", "seeked", "loadedmetadata"]) {
      this.video.addEventListener(kind, () => {
        if (this.video.readyState === 0) return;
        const seconds = this.video.currentTime;
        setAttribute(this.link, "href", momentLink(this.id, seconds));
        setText(this.link, `Link to ${duration(Math.floor(seconds))}`);
        this.link.hidden = false;
        moved(seconds);
      });
    }
    this.video.addEventListener("error", () => {
      if (this.isClosed || !this.file) return;
      this.video.hidden = true;
      setText(this.text, "This browser cannot play the file.");
    });
    this.offer(recording);
  }

  /** Takes the files that there are now; one that can be played is shown at once. */
  offer(recording) {
    this.layout = wanted(recording);
    if (this.file) return;
    const names = recording.files.map((file) => file.name);
    const find = (layout) => names.find((file) => FILES[layout].test(file));
    const whole = find("grid") ?? find(this.layout);
    // Better a part than nothing for a visitor who may not have anything made.
    const part = this.mayMake ? null : find("audio") ?? find("browser");
    if (whole ?? part) this.#load(whole ?? part);
    if (!whole && part) setText(this.note, "There is no video of everyone yet: this is the part that was exported.");
    if (this.file || this.isMaking) return;
    this.start.hidden = !this.mayMake;
    setText(this.text, this.mayMake ? `Play makes ${MAKING[this.layout]} first.`
      : `No one has exported ${MAKING[this.layout]} yet. It takes a token with the scope “control”.`);
  }

  /** Plays; makes what is missing first. */
  async play() {
    if (this.isMaking) return;
    try {
      if (!this.file) {
        if (!this.mayMake) return;
        await this.#make();
      }
      if (this.isClosed) return;
      if (document.activeElement === this.start || document.activeElement === document.body) this.video.focus();
      await this.video.play();
    } catch (error) {
      // Playing that was interrupted by the next order is no failure.
      if (!this.isClosed && error.name !== "AbortError") fail("The recording cannot be played", error);
    }
  }

  /** Goes to a second; what is not there yet begins with it. */
  seek(seconds) {
    this.startAt = seconds;
    if (this.video.readyState > 0) this.video.currentTime = seconds;
  }

  close() {
    this.isClosed = true;
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
  }

  #load(file) {
    this.file = file;
    this.start.hidden = true;
    this.progress.hidden = true;
    setText(this.text, "");
    this.video.hidden = false;
    this.video.addEventListener("loadedmetadata", () => {
      if (this.startAt) this.video.currentTime = this.startAt;
    }, { once: true });
    this.video.src = filePath(this.id, file);
  }

  async #make() {
    this.isMaking = true;
    this.start.hidden = true;
    this.progress.hidden = false;
    this.progress.value = 0;
    let first = null;
    const progressed = ({ state, progress, error }) => {
      this.progress.value = progress;
      const now = performance.now();
      if (state === "running") first ??= { now, progress };
      setText(this.text, `Making ${MAKING[this.layout]}: ${
        state === "queued" ? error ?? "waits for other exports" : remaining(first, { now, progress })}`);
    };
    try {
      const request = { layout: this.layout };
      let item = await this.exports.obtain(request, progressed);
      // The one that ran already may have been of a part.
      if (!FILES[this.layout].test(item.file ?? "")) item = await this.exports.make(request, progressed);
      if (!this.isClosed) this.#load(item.file);
    } catch (error) {
      this.progress.hidden = true;
      this.start.hidden = false;
      setText(this.text, "");
      throw error;
    } finally {
      this.isMaking = false;
    }
  }
}

/** The layout that shows everyone at the least cost: only several videos are decoded to become one. */
function wanted({ tracks }) {
  if (!tracks.some((track) => track.kind === "video")) return "audio";
  return new Set(tracks.map((track) => track.participant)).size > 1 ? "grid" : "browser";
}

/** "23 %, about 2 min left", by how fast it went so far. */
function remaining(first, { now, progress }) {
  const percent = `${Math.round(progress * 100)} %`;
  if (!first || progress <= first.progress) return `${percent}, measuring how long it takes`;
  const seconds = (now - first.now) / 1000 * (1 - progress) / (progress - first.progress);
  return `${percent}, about ${span(Math.max(1, seconds))} left`;
}
