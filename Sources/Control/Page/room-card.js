// SPDX-License-Identifier: Apache-2.0
// One room: what it is, what it does, who is there, and its commands.

import { path, post, remove } from "./api.js";
import { askForMark, confirm } from "./dialogs.js";
import { byId, button, h, icon, KeyedList, name, relabel, setAttribute, setText } from "./dom.js";
import { bitrate, bytes, count, duration, instant, timeOfDay, upcoming } from "./format.js";
import { announce, fail, tell } from "./messages.js";
import { openRoomForm } from "./room-form.js";
import { Sparkline } from "./sparkline.js";
import { thumbnails } from "./thumbnails.js";

const PHASES = {
  idle: ["Idle", "quiet"],
  queued: ["Waiting for a place", "warn"],
  starting: ["Starting", "busy"],
  joining: ["Joining", "busy"],
  joined: ["Joined", "good"],
  "backing-off": ["Waiting to retry", "warn"],
  leaving: ["Leaving", "busy"],
  failed: ["Failed", "bad"],
};
const RECORDING = {
  off: ["Not recording", "quiet"],
  waiting: ["Waiting for media", "busy"],
  recording: ["Recording", "live"],
  paused: ["Paused", "warn"],
};
const DONE = { record: "recording requested", stop: "recording stopped", pause: "paused", resume: "resumed",
  keyframe: "keyframe requested" };
/** Below it a microphone counts as silent. */
const SILENCE_DECIBELS = -60;
const BITRATE_FLOOR = 100_000;
const LOSS_FLOOR = 10;

function meter(label, floor) {
  const value = h("span", { class: "value" }, "–");
  const curve = new Sparkline(floor);
  const element = h("div", { class: "meter", title: "The last two minutes" }, h("span", { class: "muted" }, label),
    value, curve.element);
  return { element, update: (text, values) => { setText(value, text); curve.update(values); } };
}

/** A participant with an image. */
class Tile {
  constructor(room, participant) {
    this.image = h("img", { alt: "", width: 320, height: 180, hidden: true });
    this.medium = icon("audio");
    this.place = h("div", { class: "still" }, this.medium, this.image);
    this.who = h("span", { class: "who" });
    this.tracks = h("span", { class: "muted" });
    this.level = h("meter", { class: "level", min: SILENCE_DECIBELS, max: 0 });
    this.element = h("li", { class: "tile" }, this.place,
      this.who, this.level, this.tracks);
    thumbnails.watch(this.place, room, participant.id, (url) => {
      this.image.src = url;
      this.image.hidden = false;
    });
  }

  update({ shownName, isConnected, tracks, mayLook }) {
    // A name may come after its participant.
    if (this.shownName !== shownName) {
      this.shownName = shownName;
      this.who.replaceChildren(name(shownName));
      setAttribute(this.image, "alt", `Image of ${shownName}`);
      setAttribute(this.level, "aria-label", `Audio level of ${shownName}`);
    }
    const levels = tracks.filter((track) => track.sound).map((track) => track.sound.levelDecibels ?? SILENCE_DECIBELS);
    const level = Math.max(SILENCE_DECIBELS, ...levels);
    this.level.hidden = levels.length === 0;
    this.level.value = level;
    setAttribute(this.level, "title", level > SILENCE_DECIBELS ? `${level.toFixed(0)} dB` : "Silent");
    const texts = tracks.map((track) =>
      [track.codec.toUpperCase(), track.width && `${track.width}×${track.height}`].filter(Boolean).join(" "));
    setText(this.tracks, isConnected ? texts.join(" · ") || "no media" : "connecting");
    const hasPicture = tracks.some((track) => track.kind === "video" && track.units > 0);
    if (!hasPicture) this.image.hidden = true;
    // An image is yet to come of one who sends video.
    setAttribute(this.medium.firstChild, "href", hasPicture ? "#i-video" : "#i-audio");
    thumbnails.turn(this.place, mayLook && isConnected && hasPicture);
  }

  close() {
    thumbnails.forget(this.place);
  }
}

export class RoomCard {
  constructor(room, session, changed) {
    this.name = room.name;
    this.session = session;
    this.changed = changed;
    const title = h("h2", {}, name(room.name));
    title.id = `room-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
    this.phase = h("span", { class: "pill phase" });
    this.state = h("span", { class: "pill state" });
    this.clock = h("span", { class: "clock", title: "Since the recording began" });
    this.reason = h("p", { class: "reason" });
    this.tiles = h("ul", { class: "tiles", "aria-label": "Participants" });
    this.alone = h("p", { class: "alone muted" }, "No one else is here");
    this.people = new KeyedList(this.tiles, (person) => person.id, (person) => new Tile(room.name, person));
    this.bitrate = meter("Bitrate", BITRATE_FLOOR);
    this.loss = meter("Loss", LOSS_FLOOR);
    this.host = h("span", {});
    this.join = h("span", {});
    this.worker = h("span", {});
    this.restarts = h("span", {});
    this.url = h("span", { class: "url" });
    this.element = h("li", {}, h("article", { class: "card room", "aria-labelledby": title.id },
      h("header", {}, title, h("div", { class: "pills" }, this.clock, this.state, this.phase)),
      this.url, this.reason,
      h("div", { class: "people" }, this.tiles, this.alone),
      h("div", { class: "meters" }, this.bitrate.element, this.loss.element),
      h("p", { class: "facts muted" }, this.host, this.join, this.worker, this.restarts),
      this.#actions()));
  }

  #actions() {
    const about = this.name;
    this.record = button("record", "Record", () => this.#act(this.isActive ? "stop" : "record"),
      { about, class: "record" });
    this.pause = button("pause", "Pause", () => this.#act(this.isPaused ? "resume" : "pause"),
      { about, class: "pause" });
    this.mark = button(null, "Mark", () => this.#mark(), { about });
    this.keyframe = button(null, "Keyframe", () => this.#act("keyframe", {}), { about });
    this.change = button(null, "Edit", () => openRoomForm(this.name, () => this.changed()), { about });
    this.removal = button("remove", "", () => this.#remove(),
      { class: "quiet icon-only", "aria-label": `Remove ${this.name}`, title: "Remove" });
    return h("div", { class: "actions needs-control", role: "group", "aria-label": `Actions for ${this.name}` },
      this.record, this.pause, this.mark, this.keyframe, this.change, this.removal);
  }

  update({ room, rates }) {
    // Of a room whose host does not answer, nothing is known but what was.
    const isKnown = Boolean(room.since) || !room.host;
    const isJoined = room.phase === "joined" && isKnown;
    const status = room.status;
    const state = isJoined ? status.recordingState : "off";
    this.origin = room.origin;
    this.isActive = state !== "off";
    this.isPaused = state === "paused";
    const [phase, phaseTone] = PHASES[room.phase] ?? [room.phase, "quiet"];
    setText(this.phase, isKnown ? phase : "Unknown");
    setAttribute(this.phase, "data-tone", isKnown ? phaseTone : "warn");
    setAttribute(this.phase, "title", !isKnown ? `Before: ${phase}` : room.since ? `Since ${instant(room.since)}` : null);
    const [recording, tone] = RECORDING[state] ?? [state, "quiet"];
    setText(this.state, recording);
    setAttribute(this.state, "data-tone", tone);
    this.state.hidden = !isJoined;
    setText(this.url, room.url);
    setAttribute(this.url, "title", room.url);
    this.started = state === "recording" || state === "paused" ? startOf(status.recording) : null;
    this.tick();
    this.change.hidden = room.origin !== "api";
    const reason = !isJoined && room.reason ? sentence(room.reason) : "";
    setText(this.reason, reason);
    this.reason.hidden = !reason;
    this.#showPeople(isJoined ? status : { participants: [], tracks: [] }, isJoined, reason);
    this.rates = rates;
    this.bitrate.update(isJoined ? bitrate(rates.bitrate) : "–", rates.bitrates);
    this.loss.update(isJoined ? `${rates.loss.toFixed(1)} packets/s` : "–", rates.losses);
    setText(this.host, room.host ? `Host ${room.host}` : "");
    this.host.hidden = !room.host;
    setText(this.join, `${joinText(room)}${room.origin === "api" ? " · added here" : ""}`);
    setAttribute(this.join, "title", room.next ? room.join : null);
    setText(this.worker, room.worker
      ? `CPU ${room.worker.cpuPercent.toFixed(0)} % · ${bytes(room.worker.residentBytes)}` : isKnown ? "no worker" : "");
    setAttribute(this.worker, "title", room.worker ? `Process ${room.worker.processID}` : null);
    setText(this.restarts, isKnown ? count(room.restarts, "restart") : "");
    setAttribute(this.restarts, "data-tone", room.restarts ? "warn" : null);
    this.#showActions(isJoined);
  }

  /** Once a second: the time moves on between two answers. */
  tick() {
    this.clock.hidden = !this.started;
    if (this.started) setText(this.clock, duration((Date.now() - this.started) / 1000));
  }

  #showPeople(status, isJoined, reason) {
    const tracks = status.tracks.filter((track) => track.open);
    this.people.update(status.participants.map((person) => ({
      id: person.id,
      shownName: person.shownName || person.id,
      isConnected: person.connected,
      tracks: tracks.filter((track) => track.participant === person.id),
      mayLook: this.session.may("media"),
    })));
    const isEmpty = status.participants.length === 0;
    // Why we are not in the room says that we are not.
    this.alone.hidden = !isEmpty || Boolean(reason);
    this.tiles.hidden = isEmpty;
    setText(this.alone, isJoined ? "No one else is here" : "Not in the room");
  }

  #showActions(isJoined) {
    relabel(this.record, this.isActive ? "stop" : "record", this.isActive ? "Stop" : "Record");
    relabel(this.pause, this.isPaused ? "record" : "pause", this.isPaused ? "Resume" : "Pause");
    // Not `disabled`: the focus would be lost when the state changes under it.
    setAttribute(this.pause, "aria-disabled", this.isActive ? null : "true");
    setAttribute(this.mark, "aria-disabled", this.isActive ? null : "true");
    setAttribute(this.keyframe, "aria-disabled", isJoined ? null : "true");
  }

  async #act(verb, body) {
    const buttons = { pause: this.pause, resume: this.pause, mark: this.mark, keyframe: this.keyframe };
    if (buttons[verb]?.getAttribute("aria-disabled")) return;
    try {
      const room = await post(path("rooms", this.name, verb), body);
      this.update({ room, rates: this.rates });
      if (verb === "mark") tell(`${this.name}: marked “${body.text}” at ${timeOfDay(Date.now())}`);
      else announce(`${this.name}: ${DONE[verb]}`);
    } catch (error) {
      fail(`${this.name}: ${verb} failed`, error);
    }
    this.changed();
  }

  async #mark() {
    if (this.mark.getAttribute("aria-disabled")) return;
    const text = await askForMark();
    if (text !== null) await this.#act("mark", { text });
  }

  async #remove() {
    const later = this.origin === "configuration"
      ? " The room returns if its entry in the configuration file changes, and when Tapedeck restarts." : "";
    const isSure = await confirm(`Remove ${this.name}?`,
      `Tapedeck finishes the recording in progress and leaves the room. Existing recordings are kept.${later}`,
      "Remove room");
    if (!isSure) return;
    try {
      await remove(path("rooms", this.name));
      byId("rooms-title").focus();
    } catch (error) {
      fail(`${this.name}: removing failed`, error);
    }
    this.changed();
  }

  close() {
    this.people.update([]);
  }
}

function joinText({ join, next }) {
  if (next) return `By schedule · next: ${upcoming(next)}`;
  return { always: "Always joined", "on-demand": "Joined when requested" }[join] ?? join;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** When a recording began, as its folder's name says; null if it does not. */
function startOf(recording) {
  const [, ...parts] = /\/(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[^/]*$/.exec(recording?.folder ?? "") ?? [];
  return parts.length ? Date.UTC(parts[0], parts[1] - 1, ...parts.slice(2)) : null;
}
