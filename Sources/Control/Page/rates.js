// SPDX-License-Identifier: Apache-2.0
// From counters that only rise to rates over time.

const SAMPLES = 60;
/** What happens in a room is a reason to ask between two turns: not every answer is a sample. */
const SHORTEST_MILLISECONDS = 1500;
/** A worker tells its counters about once a second: a shorter span would show that beat and not the media. */
const WINDOW_MILLISECONDS = 9500;

/** What a room has received and lost, as rates. */
export class Rates {
  constructor() {
    this.sums = [];
    this.tracks = new Map();
    this.received = 0;
    this.lost = 0;
    /** Bits a second, oldest first. */
    this.bitrates = [];
    /** Packets lost a second, oldest first. */
    this.losses = [];
  }

  /** Takes the counters of a room's tracks at an instant in milliseconds. */
  take(tracks, now) {
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
    if (this.sums.length > 0 && now - this.sums.at(-1).now < SHORTEST_MILLISECONDS) return;
    this.sums.push({ now, received: this.received, lost: this.lost });
    while (this.sums.length > 2 && now - this.sums[1].now >= WINDOW_MILLISECONDS) this.sums.shift();
    const first = this.sums[0];
    const seconds = (now - first.now) / 1000;
    if (seconds <= 0) return;
    append(this.bitrates, ((this.received - first.received) * 8) / seconds);
    append(this.losses, (this.lost - first.lost) / seconds);
  }

  get bitrate() {
    return this.bitrates.at(-1) ?? 0;
  }

  get loss() {
    return this.losses.at(-1) ?? 0;
  }
}

function append(values, value) {
  values.push(value);
  if (values.length > SAMPLES) values.shift();
}
