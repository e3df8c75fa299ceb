// SPDX-License-Identifier: Apache-2.0
// Plays a recording through a rendition that browsers understand, made when it is asked for.

import { filePath } from "./api.js";
import { button, h, setText } from "./dom.js";
import { fail } from "./messages.js";

// A part, or one participant's rendition, has more in its name.
const WHOLE = /^browser\.(webm|mp4)$/;

export class Player {
  /** `participants`: id and name of those who sent something; a rendition shows one of them. */
  constructor(recording, participants, exports) {
    this.recording = recording;
    this.exports = exports;
    this.video = h("video", { controls: true, playsinline: true, hidden: true, "aria-label": "Recording" });
    this.progress = h("progress", { max: 1, hidden: true, "aria-label": "Progress of the rendition" });
    this.text = h("p", { class: "muted", role: "status" });
    this.screen = h("div", { class: "screen", hidden: true }, this.video, this.progress, this.text);
    this.choice = h("select", {}, participants.map(([id, text]) => h("option", { value: id }, text)));
    this.hasChoice = participants.length > 1;
    this.start = button("play", "Play", () => this.play(), { class: "primary" });
    this.element = h("div", { class: "player" },
      this.screen,
      h("div", { class: "player-row" }, this.start,
        this.hasChoice ? h("label", { class: "field inline" }, "Participant", this.choice) : null));
  }

  /** Makes the rendition if there is none, and plays it. */
  async play() {
    if (this.isMaking) return;
    this.isMaking = true;
    this.screen.hidden = false;
    try {
      const file = await this.#rendition();
      if (this.isClosed) return;
      this.video.src = filePath(this.recording, file);
      this.video.hidden = false;
      setText(this.text, "");
      await this.video.play();
      // Its own controls do from now on, unless another participant may be chosen.
      if (this.hasChoice || this.start.hidden) return;
      if (document.activeElement === this.start) this.video.focus();
      this.start.hidden = true;
    } catch (error) {
      // Playing that was interrupted by the next order is no failure.
      if (!this.isClosed && error.name !== "AbortError") {
        this.screen.hidden = true;
        fail("The recording cannot be played", error);
      }
    } finally {
      this.progress.hidden = true;
      this.isMaking = false;
    }
  }

  async #rendition() {
    const known = this.exports.items.findLast((item) =>
      item.layout === "browser" && item.state === "done" && WHOLE.test(item.file ?? ""));
    // With several participants the file may be another one's.
    if (known && !this.hasChoice) return known.file;
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.hidden = true;
    this.progress.hidden = false;
    this.progress.value = 0;
    setText(this.text, "Making a rendition for the browser");
    const request = { layout: "browser", ...(this.hasChoice ? { participant: this.choice.value } : {}) };
    const item = await this.exports.make(request, (state) => { this.progress.value = state.progress; });
    return item.file;
  }

  close() {
    this.isClosed = true;
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
  }
}
