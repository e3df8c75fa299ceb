// SPDX-License-Identifier: Apache-2.0
// Images of the participants, requested one after the other, and only while they can be seen.

import { getBlob, path } from "./api.js";

const INTERVAL_MILLISECONDS = 4000;
const FIRST_MILLISECONDS = 600;

class Thumbnails {
  constructor() {
    this.places = new Map();
    this.timer = null;
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const place = this.places.get(entry.target);
        if (place) place.isVisible = entry.isIntersecting;
      }
      this.#plan(0);
    }, { rootMargin: "80px" });
    document.addEventListener("visibilitychange", () => this.#plan(0));
  }

  /** Shows a participant in a place from now on; `shown(url)` is called with each image. */
  watch(element, room, participant, shown) {
    this.places.set(element, { room, participant, shown, isVisible: false, isOn: false, last: 0, url: null });
    this.observer.observe(element);
  }

  /** Says whether there is an image to request. */
  turn(element, isOn) {
    const place = this.places.get(element);
    if (!place || place.isOn === isOn) return;
    place.isOn = isOn;
    this.#plan(FIRST_MILLISECONDS);
  }

  forget(element) {
    const place = this.places.get(element);
    if (place?.url) URL.revokeObjectURL(place.url);
    this.observer.unobserve(element);
    this.places.delete(element);
  }

  #plan(milliseconds) {
    if (this.isBusy) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#round(), milliseconds);
  }

  async #round() {
    this.isBusy = true;
    for (const [element, place] of [...this.places]) {
      if (document.hidden) break;
      if (!place.isOn || !place.isVisible || performance.now() - place.last < INTERVAL_MILLISECONDS) continue;
      place.last = performance.now();
      await this.#refresh(element, place);
    }
    this.isBusy = false;
    if (!document.hidden && this.places.size > 0) this.#plan(500);
  }

  async #refresh(element, place) {
    try {
      const image = await getBlob(path("rooms", place.room, "participants", place.participant, "thumbnail.jpg"));
      if (!this.places.has(element)) return;
      const old = place.url;
      place.url = URL.createObjectURL(image);
      place.shown(place.url);
      if (old) setTimeout(() => URL.revokeObjectURL(old), 1000);
    } catch {
      // No keyframe yet, or the worker is busy: the next round asks again.
    }
  }
}

export const thumbnails = new Thumbnails();
