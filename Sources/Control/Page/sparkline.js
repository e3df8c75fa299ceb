// SPDX-License-Identifier: Apache-2.0
// A small curve without axes; its figures are written next to it.

import { s, setAttribute } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;
const POINTS = 60;

export class Sparkline {
  /** @param {number} floor the least height of the scale, so that noise near zero stays flat */
  constructor(floor) {
    this.floor = floor;
    this.area = s("path", { class: "area" });
    this.line = s("path", { class: "line" });
    this.element = s("svg", { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
      "aria-hidden": "true" }, this.area, this.line);
  }

  update(values) {
    const top = Math.max(this.floor, ...values);
    const step = WIDTH / (POINTS - 1);
    const start = WIDTH - (values.length - 1) * step;
    const points = values.map((value, index) =>
      `${(start + index * step).toFixed(1)} ${(HEIGHT - 1.5 - (value / top) * (HEIGHT - 3)).toFixed(1)}`);
    // Zero all along is the base line that is there anyway.
    const line = points.length > 1 && values.some((value) => value > 0) ? `M${points.join("L")}` : "";
    setAttribute(this.line, "d", line);
    setAttribute(this.area, "d", line && `${line}L${WIDTH} ${HEIGHT}L${start.toFixed(1)} ${HEIGHT}Z`);
  }
}
