// SPDX-License-Identifier: Apache-2.0
// Exports of one recording: what was made, what is being made and how far it is.

import { filePath, get, path, post } from "./api.js";
import { h, icon, KeyedList, setAttribute, setText } from "./dom.js";

const POLL_MILLISECONDS = 1000;
const STATES = { queued: "waiting", running: "running", done: "done", failed: "failed" };
const LAYOUTS = {
  tracks: "MKV, all tracks", browser: "For browsers", grid: "Everyone in one video", audio: "Audio of everyone",
};

class Row {
  constructor(item, recording) {
    this.recording = recording;
    this.progress = h("progress",
      { max: 1, value: 0, "aria-label": `Progress of export ${LAYOUTS[item.layout] ?? item.layout}` });
    this.state = h("span", { class: "muted" });
    this.link = h("a", { hidden: true }, icon("download"), h("span", { class: "label" }));
    this.element = h("li", {}, h("span", {}, LAYOUTS[item.layout] ?? item.layout),
      this.progress, this.state, this.link);
  }

  update(item) {
    const isOver = item.state === "done" || item.state === "failed";
    this.progress.hidden = isOver;
    this.progress.value = item.progress;
    const percent = item.state === "running" ? ` ${Math.round(item.progress * 100)} %` : "";
    setText(this.state, item.error ?? `${STATES[item.state] ?? item.state}${percent}`);
    setAttribute(this.element, "data-state", item.state);
    this.link.hidden = !item.file;
    if (!item.file) return;
    setText(this.link.querySelector(".label"), item.file);
    setAttribute(this.link, "href", `${filePath(this.recording, item.file)}?download=1`);
    setAttribute(this.link, "download", true);
  }
}

/** The exports of a recording, kept up to date while it is shown. */
export class Exports {
  /** `changed()` is called when one ended. */
  constructor(recording, changed) {
    this.recording = recording;
    this.changed = changed;
    this.items = [];
    this.waiters = new Map();
    this.element = h("ul", { class: "exports", "aria-label": "Exports" });
    this.list = new KeyedList(this.element, (item) => item.id, (item) => new Row(item, recording));
  }

  /** Queues an export; resolves with it when it is done, rejects when it failed. */
  async make(request, progressed = () => {}) {
    return await this.#follow(await post(path("recordings", this.recording, "exports"), request), progressed);
  }

  /** The same, but an export of this layout that waits or runs already will do, whatever it is of. */
  async obtain(request, progressed) {
    const isPending = ({ layout, state }) => layout === request.layout && (state === "queued" || state === "running");
    await this.refresh();
    const pending = this.items.find(isPending);
    return pending ? await this.#follow(pending, progressed) : await this.make(request, progressed);
  }

  async #follow(item, progressed) {
    const done = new Promise((resolve, reject) => this.waiters.set(item.id, { resolve, reject, progressed }));
    this.#take([...this.items.filter((known) => known.id !== item.id), item]);
    this.#plan();
    return await done;
  }

  /** Asks the daemon. */
  async refresh() {
    const { exports } = await get(path("recordings", this.recording, "exports"));
    this.#take(exports);
    this.#plan();
  }

  /** Takes an event of the daemon. */
  hear(event) {
    if (event.recording !== this.recording || !event.kind.startsWith("export.")) return;
    const item = this.items.find((known) => known.id === event.details.export);
    if (event.kind === "export.progress" && item) {
      item.state = "running";
      item.progress = Number(event.details.progress) / 100;
      this.#take(this.items);
    } else {
      this.refresh().catch(() => this.#plan());
    }
  }

  close() {
    clearTimeout(this.timer);
    this.isClosed = true;
    for (const waiter of this.waiters.values()) waiter.reject(new Error("The recording was closed."));
    this.waiters.clear();
  }

  #take(items) {
    if (this.isClosed) return;
    this.items = items;
    this.list.update(items);
    let hasEnded = false;
    for (const item of items) {
      const waiter = this.waiters.get(item.id);
      if (!waiter) continue;
      waiter.progressed(item);
      if (item.state !== "done" && item.state !== "failed") continue;
      this.waiters.delete(item.id);
      hasEnded = true;
      if (item.state === "done") waiter.resolve(item);
      else waiter.reject(new Error(item.error ?? "The export failed."));
    }
    if (hasEnded) this.changed();
  }

  /** Events tell at once; asking as well costs little and forgives a lost one. */
  #plan() {
    clearTimeout(this.timer);
    const isGoing = this.items.some((item) => item.state === "queued" || item.state === "running");
    if (isGoing && !this.isClosed)
      this.timer = setTimeout(() => this.refresh().catch(() => this.#plan()), POLL_MILLISECONDS);
  }
}
