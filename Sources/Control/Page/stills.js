// SPDX-License-Identifier: Apache-2.0
// Images of recordings, loaded one after the other, and only when they come into view: the daemon makes one at a time.

class Stills {
  constructor() {
    this.urls = new WeakMap();
    this.waiting = [];
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        this.observer.unobserve(entry.target);
        this.waiting.push(entry.target);
      }
      this.#next();
    }, { rootMargin: "100px" });
  }

  /** Loads an image once its place is in view; the image is hidden until it is there, and stays so if there is none. */
  watch(place, image, url) {
    this.urls.set(place, [image, url]);
    this.observer.observe(place);
  }

  forget(place) {
    this.observer.unobserve(place);
    this.waiting = this.waiting.filter((other) => other !== place);
  }

  #next() {
    if (this.isBusy || !this.waiting.length) return;
    this.isBusy = true;
    const [image, url] = this.urls.get(this.waiting.shift());
    const over = (event) => {
      image.hidden = event.type === "error";
      this.isBusy = false;
      this.#next();
    };
    image.addEventListener("load", over, { once: true });
    image.addEventListener("error", over, { once: true });
    image.src = url;
  }
}

export const stills = new Stills();
