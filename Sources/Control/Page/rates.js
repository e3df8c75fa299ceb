// SPDX-License-Identifier: Apache-2.0
// From counters that only rise to rates over time.

const SAMPLES = 60;
/** What happens in a room is a reason to ask between two turns: not every answer is a sample. */
const SHORTEST_MILLISECONDS = 1500;
const WINDOW_MILLISECONDS = 19000;
/** A worker reports its counters every five seconds; when they stand still for longer, nothing comes. */
const SILENCE_MILLISECONDS = 8000;

/**
 * What a room has received and lost, as rates.
 *
 * Counters arrive in steps. A rate is taken from one step to another, never from the middle of one, else the curve
 * would show the beat of the worker.
 */
export class Rates {
  constructor() {
    this.steps = [];
    this.tracks = new Map();
    this.received = 0;
    this.lost = 0;
    this.sampled = -Infinity;
    /** Bits a second, oldest first. */
    this.bitrates = [];
    /** Packets lost a second, oldest first. */
    this.losses = [];
  }

  /** Takes the counters of a room's tracks at an instant in milliseconds. */
  take(tracks, now) {
    this.#count(tracks);
    this.#step(now);
    if (now - this.sampled < SHORTEST_MILLISECONDS) return;
    this.sampled = now;
    const first = this.steps[0];
    const last = this.steps.at(-1);
    const seconds = (last.now - first.now) / 1000;
    append(this.bitrates, seconds > 0 ? ((last.received - first.received) * 8) / seconds : 0);
    append(this.losses, seconds > 0 ? (last.lost - first.lost) / seconds : 0);
  }

  get bitrate() {
    return this.bitrates.at(-1) ?? 0;
  }

  get loss() {
    return this.losses.at(-1) ?? 0;
  }

  #count(tracks) {
    const seen = new Map();
    for (const track of tracks) {
      const key = `${track.participant}\n${track.number}\n${track.kind}`;
      const before = this.tracks.get(key);
      seen.set(key, { bytes: track.bytes, lost: track.lostPackets });
      // The first sight of a track, and a counter that fell, begin a new count.
      if (!before) continue;
      this.received += Math.max(0, track.bytes - before.bytes);
      this.lost += Math.max(0, track.lostPackets - before.lost);
    }
    this.tracks = seen;
  }

  #step(now) {
    const last = this.steps.at(-1);
    const hasMoved = last && (this.received !== last.received || this.lost !== last.lost);
    if (last && !hasMoved && now - last.now < SILENCE_MILLISECONDS) return;
    // The first look fell between two steps: what is measured begins with the next one.
    if (hasMoved && !this.hasBegun) this.steps.length = 0;
    this.hasBegun = this.hasBegun || hasMoved;
    this.steps.push({ now, received: this.received, lost: this.lost });
    while (this.steps.length > 2 && now - this.steps[1].now >= WINDOW_MILLISECONDS) this.steps.shift();
  }
}

function append(values, value) {
  values.push(value);
  if (values.length > SAMPLES) values.shift();
}
