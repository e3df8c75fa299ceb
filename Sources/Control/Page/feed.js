// SPDX-License-Identifier: Apache-2.0
// What the daemon does, live: events as they happen, figures by asking again. Rests while the page is hidden.

import { get, path, Problem, Unreachable } from "./api.js";
import { KINDS } from "./kinds.js";

const POLL_MILLISECONDS = 2000;
const OVERVIEW_EVERY = 3;
const AFTER_EVENT_MILLISECONDS = 150;
const LONGEST_WAIT_MILLISECONDS = 10000;

/**
 * Notifies its listeners of `rooms`, `overview`, `cluster`, `webhooks`, `event`, `connection` and `refusal`, each with its
 * value in `detail`.
 *
 * A connection is lost when an answer or the stream of events fails; both are tried again until they work.
 */
export class Feed extends EventTarget {
  constructor() {
    super();
    this.isRunning = false;
    this.turn = 0;
    this.failures = 0;
    this.lastEvent = "";
    document.addEventListener("visibilitychange", () => this.#look());
    addEventListener("online", () => this.refreshSoon(0));
  }

  start() {
    this.isRunning = true;
    this.turn = 0;
    this.#look();
  }

  stop() {
    this.isRunning = false;
    this.#look();
  }

  /** Asks for everything without waiting for the next turn. */
  refreshSoon(milliseconds = AFTER_EVENT_MILLISECONDS) {
    if (!this.isRunning || document.hidden) return;
    this.turn = 0;
    if (this.isAsking) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), milliseconds);
  }

  #look() {
    if (this.isRunning && !document.hidden) {
      this.#listen();
      this.refreshSoon(0);
    } else {
      clearTimeout(this.timer);
      clearTimeout(this.reopening);
      this.stream?.close();
      this.stream = null;
    }
  }

  #listen() {
    if (this.stream) return;
    const query = this.lastEvent ? `?last_event_id=${this.lastEvent}` : "";
    const stream = new EventSource(path("events") + query);
    this.stream = stream;
    stream.addEventListener("open", () => this.refreshSoon(0));
    for (const kind of KINDS) stream.addEventListener(kind, (message) => this.#hear(message));
    stream.addEventListener("stream.gap", () => this.refreshSoon());
    stream.addEventListener("error", () => {
      this.refreshSoon(0);
      // After an answer that is an error the browser does not come back automatically.
      if (stream.readyState !== EventSource.CLOSED || this.stream !== stream) return;
      this.stream = null;
      this.lastEvent = "";
      clearTimeout(this.reopening);
      this.reopening = setTimeout(() => this.isRunning && !document.hidden && this.#listen(),
        LONGEST_WAIT_MILLISECONDS);
    });
  }

  #hear(message) {
    this.lastEvent = message.lastEventId;
    let event;
    try {
      event = JSON.parse(message.data);
    } catch {
      return;
    }
    this.#tell("event", { details: {}, ...event });
    if (event.kind !== "export.progress") this.refreshSoon();
  }

  async #ask() {
    this.isAsking = true;
    const started = performance.now();
    const wantsOverview = this.turn % OVERVIEW_EVERY === 0;
    this.turn += 1;
    try {
      const [rooms, overview, health, hooks] = await Promise.all([
        get(path("rooms")),
        wantsOverview ? get(path("overview")) : null,
        wantsOverview ? readiness() : null,
        wantsOverview ? webhooks() : null,
      ]);
      // A daemon without a cluster is not asked for it.
      const cluster = overview?.host ? await get(path("cluster")) : null;
      this.failures = 0;
      if (this.isRunning) {
        this.#tell("connection", { isUp: true });
        this.#tell("rooms", { ...rooms, now: performance.now() });
        if (overview) this.#tell("overview", { ...overview, problems: health.problems ?? [] });
        if (overview) this.#tell("cluster", cluster);
        if (hooks) this.#tell("webhooks", hooks);
      }
    } catch (error) {
      this.failures += 1;
      const isLost = error instanceof Unreachable || error.status >= 500;
      if (this.isRunning && isLost) this.#tell("connection", { isUp: false });
      if (this.isRunning && error.status === 403 && this.failures === 1) this.#tell("refusal", error);
    }
    this.isAsking = false;
    if (!this.isRunning || document.hidden) return;
    const taken = performance.now() - started;
    const wait = this.failures > 0
      ? Math.min(LONGEST_WAIT_MILLISECONDS, 500 * 2 ** Math.min(this.failures, 6))
      : Math.max(this.turn === 0 ? AFTER_EVENT_MILLISECONDS : POLL_MILLISECONDS, 10 * taken);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), wait);
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

/** The webhooks; null if they cannot be read, which says nothing of the connection. */
async function webhooks() {
  try {
    return await get(path("webhooks"));
  } catch (error) {
    if (error instanceof Unreachable) throw error;
    return null;
  }
}

async function readiness() {
  try {
    return await get("/readyz");
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 503) throw error;
    return { problems: error.problems.length ? error.problems : [error.message] };
  }
}
