// SPDX-License-Identifier: Apache-2.0
// The course of a recording: a lane for each participant, a lane of marks, and a list of everything that happened.

import { get, path } from "./api.js";
import { h, name, s, setAttribute, setText } from "./dom.js";
import { duration } from "./format.js";
import { stills } from "./stills.js";

const WIDTH = 1000;
const HEIGHT = 10;
const STEP_SECONDS = 5;
const PAGE_SECONDS = 60;
const MOST_MOMENTS = 500;
const IMAGES = 8;
const NEAR = 0.01;
// The daemon gives its job that long, and others may be first.
const PATIENCE_SECONDS = 180;
// Decibels below full scale: what is drawn as a line, and what fills a lane.
const QUIET = -54;
const LOUD = -6;

const SENTENCES = {
  joined: (event) => `${event.name} joined`,
  left: (event) => `${event.name} left`,
  muted: (event) => `${event.name} muted`,
  unmuted: (event) => `${event.name} unmuted`,
  "camera-off": (event) => `${event.name}: camera off`,
  "camera-on": (event) => `${event.name}: camera on`,
  paused: () => "Recording paused",
  resumed: () => "Recording resumed",
  stalled: () => "The recorder stood still",
  part: (event) => `Recording restarted (part ${event.text})`,
  mark: (event) => (event.text ? `Mark: ${event.text}` : "Mark"),
  gap: (event) => `Nothing of ${event.name} for ${event.text}`,
};

/** The link to a second of a recording. */
export const momentLink = (id, seconds) => `#recordings/${encodeURIComponent(id)}/t=${Math.floor(seconds)}`;

export class Timeline {
  /** `seek(seconds)` is called when the visitor chooses a place; null where nothing can be played. */
  constructor(id, seek) {
    this.id = id;
    this.seek = seek;
    this.duration = 0;
    this.position = 0;
    this.waves = new Map();
    this.finding = "";
    this.strip = h("div", { class: "strip", "aria-hidden": "true" });
    this.lanes = h("div", { class: "lanes" });
    this.head = h("div", { class: "playhead" });
    this.slider = h("div", { class: "scrub", role: "slider", tabindex: 0, "aria-label": "Position", "aria-valuemin": 0,
      hidden: !seek, onclick: (event) => this.#choose(this.#at(event)),
      onpointermove: (event) => this.#hint(this.#at(event)), onkeydown: (event) => this.#key(event) }, this.head);
    this.legend = h("p", { class: "legend muted small-print" });
    this.note = h("p", { class: "muted small-print", role: "status" });
    this.moments = h("ol", { class: "moments" });
    this.frame = h("div", { class: "lanes-frame" }, this.strip, this.lanes, this.slider);
    this.element = h("section", { class: "timeline", "aria-label": "Timeline" },
      this.frame, this.legend, this.note, this.moments);
  }

  /** Shows a timeline of the daemon, with images if the recording has some; `note` says what is not shown, and why. */
  update(timeline, hasImages, note) {
    const hasCourse = timeline?.durationSeconds > 0;
    for (const part of [this.frame, this.legend, this.moments]) part.hidden = !hasCourse;
    setText(this.note, note || this.finding);
    if (!hasCourse) return;
    this.duration = timeline.durationSeconds;
    const gaps = timeline.participants.flatMap((person) => person.gaps.map((gap) => ({
      at: gap.from, kind: "gap", name: person.name, text: `${(gap.to - gap.from).toFixed(1)} s` })));
    this.events = [...timeline.events, ...gaps].filter((event) => Object.hasOwn(SENTENCES, event.kind)).sort((one, other) => one.at - other.at);
    const marks = this.events.filter((event) => event.kind === "mark");
    this.names = new Map(timeline.participants.map((person) => [person.id, person.name]));
    this.people = new Map(timeline.participants.map((person) => [person.id, this.#lane(name(person.name),
      [["present", person.present], ["speaks", person.speaks ?? []], ["gap", person.gaps]])]));
    this.lanes.replaceChildren(...this.people.values(),
      ...(marks.length ? [this.#lane("Marks", [["mark", marks.map(({ at }) => ({ from: at, to: at }))]])] : []));
    this.kinds = [["present", "present"], timeline.participants.some((person) => person.speaks) ? ["speaks", "speaks"] : null,
      gaps.length ? ["gap", "nothing came"] : null].filter(Boolean);
    const left = this.events.length - MOST_MOMENTS;
    this.moments.replaceChildren(...this.events.slice(0, MOST_MOMENTS).map((event) => h("li", { class: event.kind },
      this.seek ? h("a", { href: momentLink(this.id, event.at) }, duration(event.at)) : h("span", {}, duration(event.at)),
      h("bdi", {}, SENTENCES[event.kind](event)))),
    ...(left > 0 ? [h("li", { class: "muted" }, `and ${left} more`)] : []));
    if (hasImages && this.seek && !this.strip.hasChildNodes()) {
      this.strip.replaceChildren(...this.#images());
      this.#hear();
    }
    this.#drawWaves();
    this.show(this.position);
  }

  /** Asks how loud the participants were: that takes the daemon a while, and nothing else waits for it. */
  async #hear() {
    try {
      const levels = await get(path("recordings", this.id, "levels"), { seconds: PATIENCE_SECONDS, cache: "default" });
      this.step = levels.stepSeconds;
      this.waves = new Map(levels.participants.map((person) => [person.id, person.levels]));
      this.#drawWaves();
      const damaged = levels.participants.filter((person) => person.damaged).map((person) => this.names.get(person.id) ?? person.id);
      if (damaged.length) this.finding = `Incomplete waveform, because a file is damaged: ${damaged.join(", ")}.`;
    } catch (error) {
      this.finding = `There are no waveforms: ${error.message}`;
    }
    setText(this.note, this.finding);
  }

  /** A waveform in each lane: its height grows with the decibels, as hearing does. */
  #drawWaves() {
    const kinds = this.waves.size ? [...this.kinds, ["wave", "loudness"]] : this.kinds;
    this.legend.replaceChildren(...kinds.map(([kind, text]) => h("span", {},
      s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { class: kind, width: 10, height: 10 })), text)));
    for (const [id, levels] of this.waves) {
      const lane = this.people?.get(id)?.querySelector("svg");
      if (!lane || !levels.length) continue;
      const points = levels.map((level, index) => [
        Math.min(WIDTH, WIDTH * index * this.step / this.duration),
        HEIGHT / 2 * Math.min(1, Math.max(0, (level - QUIET) / (LOUD - QUIET)))]);
      const edge = (sign, all) => all.map(([x, high]) => `${x.toFixed(1)} ${(HEIGHT / 2 + sign * high).toFixed(2)}`);
      lane.querySelector(".wave")?.remove();
      lane.append(s("path", { class: "wave", d: `M${[...edge(-1, points), ...edge(1, points.reverse())].join("L")}Z` }));
    }
  }

  /** Images of moments, each in the middle of its stretch. */
  #images() {
    return Array.from({ length: IMAGES }, (_, index) => {
      const image = h("img", { alt: "", hidden: true });
      const place = h("span", {}, image);
      const seconds = Math.floor(this.duration * (index + 0.5) / IMAGES);
      stills.watch(place, image, `${path("recordings", this.id, "thumbnail.jpg")}?at=${seconds}`);
      return place;
    });
  }

  /** Moves the playhead. */
  show(seconds) {
    this.position = Math.min(Math.max(seconds, 0), this.duration);
    this.head.style.left = `${this.duration ? 100 * this.position / this.duration : 0}%`;
    setAttribute(this.slider, "aria-valuemax", Math.floor(this.duration));
    setAttribute(this.slider, "aria-valuenow", Math.floor(this.position));
    setAttribute(this.slider, "aria-valuetext", `${duration(this.position)} of ${duration(this.duration)}`);
  }

  #lane(label, layers) {
    const place = (seconds) => WIDTH * Math.min(Math.max(seconds / this.duration, 0), 1);
    const paths = layers.filter(([, spans]) => spans.length).map(([kind, spans]) => s("path", { class: kind,
      d: spans.map(({ from, to }) => {
        // A span that is shorter than a pixel can be seen, too.
        const start = Math.min(place(from), WIDTH - 2);
        return `M${start.toFixed(1)} 0H${Math.max(place(to), start + 2).toFixed(1)}V${HEIGHT}H${start.toFixed(1)}Z`;
      }).join("") }));
    return h("div", { class: "lane" }, h("span", { class: "who" }, label),
      s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, paths));
  }

  #at(event) {
    const box = this.slider.getBoundingClientRect();
    return this.duration * Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  }

  #choose(seconds) {
    this.show(seconds);
    this.seek(this.position);
  }

  /** The time below the pointer, and the mark that is nearest to it. */
  #hint(seconds) {
    const near = this.events.filter((event) => event.kind === "mark" && Math.abs(event.at - seconds) < NEAR * this.duration);
    setAttribute(this.slider, "title", [duration(seconds), ...near.map((event) => SENTENCES.mark(event))].join(" · "));
  }

  #key(event) {
    const steps = { ArrowLeft: -STEP_SECONDS, ArrowDown: -STEP_SECONDS, ArrowRight: STEP_SECONDS, ArrowUp: STEP_SECONDS,
      PageDown: -PAGE_SECONDS, PageUp: PAGE_SECONDS, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#choose(this.position + steps[event.key]);
  }
}
