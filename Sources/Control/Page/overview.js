// SPDX-License-Identifier: Apache-2.0
// The daemon in a few figures, and what is wrong with it.

import { byId, h, setAttribute, setText } from "./dom.js";
import { bytes, count, span } from "./format.js";

const LOW_SECONDS = 24 * 3600;

function figure(label) {
  const value = h("dd", {}, "–");
  const note = h("dd", { class: "note" }, "\u00a0");
  byId("figures").append(h("div", { class: "figure" }, h("dt", {}, label), value, note));
  return (text, remark, tone) => {
    setText(value, text);
    setText(note, remark || "\u00a0");
    setAttribute(value.parentElement, "data-tone", tone);
  };
}

export class OverviewView {
  constructor() {
    this.recording = figure("Recording");
    this.rooms = figure("Rooms joined");
    this.disk = figure("Free disk");
    this.health = figure("Health");
    this.uptime = figure("Running for");
    this.shown = "";
  }

  update(overview) {
    const phases = overview.roomsByPhase ?? {};
    const rooms = Object.values(phases).reduce((sum, number) => sum + number, 0);
    const failed = (phases.failed ?? 0) + (phases["backing-off"] ?? 0) + (phases.queued ?? 0);
    const left = overview.secondsUntilFull;
    const hasForecast = left !== undefined && left !== null;
    this.recording(String(overview.activeRecordings), overview.pendingExports
      ? `${count(overview.pendingExports, "export")} to do` : "No exports queued",
      overview.activeRecordings ? "live" : null);
    this.rooms(`${phases.joined ?? 0} of ${rooms}`, failed ? `${failed} in trouble` : count(overview.workers, "worker"),
      failed ? "warn" : null);
    this.disk(bytes(overview.freeBytes), hasForecast ? `full in ${span(left)}` : "Not filling up",
      hasForecast && left < LOW_SECONDS ? "warn" : null);
    this.uptime(span(overview.uptimeSeconds), `version ${overview.version}`);
    const problems = overview.problems;
    this.health(problems.length ? count(problems.length, "problem") : "Good",
      problems.length ? "see below" : "Accepting rooms",
      problems.length ? "bad" : "good");
    const text = problems.join("\n");
    if (text === this.shown) return;
    this.shown = text;
    byId("health").replaceChildren(...problems.map((problem) => h("li", {}, problem)));
  }
}
