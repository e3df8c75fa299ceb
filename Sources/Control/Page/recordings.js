// SPDX-License-Identifier: Apache-2.0
// The recordings, page by page, newest first.

import { get, path } from "./api.js";
import { byId, button, h, icon, KeyedList, name, setAttribute, setText } from "./dom.js";
import { bytes, duration, instant, secondsSince } from "./format.js";
import { fail } from "./messages.js";
import { deleteRecording, verdict } from "./recording.js";
import { stills } from "./stills.js";

const LIMIT = 25;
const TYPING_MILLISECONDS = 250;
const EVENT_MILLISECONDS = 400;
const SECONDS_OF_A_LOOK = 5;

class Row {
  constructor(recording, view) {
    const about = `${recording.room}, ${instant(recording.start)}`;
    const href = `#recordings/${encodeURIComponent(recording.id)}`;
    this.view = view;
    this.duration = h("span", { class: "figure-text" });
    this.bytes = h("span", { class: "figure-text" });
    this.people = h("span", { class: "people-text muted" });
    this.pill = h("span", { class: "pill" });
    this.play = button("play", "Play", () => view.play(recording.id), { about });
    this.link = h("a", { class: "who", href }, name(recording.room));
    this.host = h("span", { class: "muted small-print", hidden: !recording.host });
    this.still = h("img", { alt: "", hidden: true });
    // The name is the link; the image is a larger place to click.
    this.face = h("a", { class: "face", href, tabindex: -1, "aria-hidden": "true" }, icon("play"), this.still);
    this.element = h("li", {}, this.face,
      h("div", { class: "what" }, this.link,
        h("time", { datetime: recording.start, class: "muted" }, instant(recording.start)), this.host),
      this.people,
      h("div", { class: "amounts" }, this.duration, this.bytes),
      this.pill,
      h("div", { class: "row-actions", role: "group", "aria-label": about }, this.play,
        button("remove", "", () => view.delete(this.recording),
          { class: "quiet icon-only needs-control", "aria-label": `Delete ${about}` })));
  }

  update(recording) {
    this.recording = recording;
    const [text, tone, note] = verdict(recording);
    const people = recording.participants;
    const isGoing = recording.state === "recording";
    this.tick();
    setText(this.host, recording.host ? `Host ${recording.host}` : "");
    setText(this.bytes, isGoing && !recording.bytes ? "–" : bytes(recording.bytes));
    setText(this.people, people.length ? people.join(", ") : "No participants");
    setAttribute(this.people, "title", people.slice(0, 20).join("\n") || null);
    setText(this.pill, text);
    setAttribute(this.pill, "data-tone", tone);
    setAttribute(this.pill, "title", note);
    setAttribute(this.play, "disabled", recording.state !== "finished");
    this.play.hidden = !this.view.session.may("media");
    // During a recording its files may not be on the disk yet.
    if (isGoing || this.hasFace || this.play.hidden) return;
    this.hasFace = true;
    stills.watch(this.face, this.still, path("recordings", recording.id, "thumbnail.jpg"));
  }

  /** The length so far of a recording in progress, the whole length of any other. */
  tick() {
    const { state, start, durationSeconds } = this.recording;
    const isKnown = durationSeconds !== undefined && durationSeconds !== null;
    setText(this.duration, state === "recording" ? duration(secondsSince(start)) : isKnown ? duration(durationSeconds) : "–");
  }

  close() {
    stills.forget(this.face);
  }
}

export class RecordingsView {
  /** `play(id)` goes to a recording's page and plays it. */
  constructor(session, play) {
    this.session = session;
    this.play = play;
    this.cursors = [null];
    this.loads = 0;
    this.form = byId("recording-filters");
    this.list = new KeyedList(byId("recordings"), (recording) => recording.id, (recording) => new Row(recording, this));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.#restart(TYPING_MILLISECONDS));
    byId("newer").addEventListener("click", () => this.#turn(-1));
    byId("older").addEventListener("click", () => this.#turn(1));
  }

  /** Shown or hidden. */
  show(isShown) {
    this.isShown = isShown;
    clearInterval(this.clock);
    if (!isShown) return;
    this.refreshSoon(0);
    let seconds = 0;
    this.clock = setInterval(() => {
      const going = [...this.list.entries.values()].filter((row) => row.recording.state === "recording");
      for (const row of going) row.tick();
      // Participants come and sizes grow without an event.
      seconds += 1;
      if (going.length && seconds % SECONDS_OF_A_LOOK === 0) this.refreshSoon(0);
    }, 1000);
  }

  /** Gives the focus to a recording's row, as after a look at its page; to the title if it is not in the list. */
  focus(id) {
    (this.list.get(id)?.link ?? byId("recordings-title")).focus();
  }

  hear(event) {
    if (/^(recording|export)\.(?!progress)/.test(event.kind)) this.refreshSoon(EVENT_MILLISECONDS);
  }

  /** Offers the present rooms as a filter. */
  offer(rooms) {
    const select = this.form.elements.room;
    const names = rooms.map((room) => room.name);
    const known = [...select.options].slice(1).map((option) => option.value);
    if (names.join("\n") === known.join("\n") || document.activeElement === select) return;
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...names.map((room) => h("option", { value: room }, room)));
    select.value = names.includes(chosen) ? chosen : "";
    // The room that was chosen is gone, and so is the filter.
    if (select.value !== chosen) this.#restart(0);
  }

  refreshSoon(milliseconds = EVENT_MILLISECONDS) {
    clearTimeout(this.timer);
    if (this.isShown) this.timer = setTimeout(() => this.#load(), milliseconds);
  }

  async delete(recording) {
    if (!(await deleteRecording(recording))) return;
    this.refreshSoon(0);
    byId("recordings-title").focus();
  }

  /** The first page of what the filters are now. */
  #restart(milliseconds) {
    this.cursors = [null];
    // An answer to the question of before is not wanted any more.
    this.loads += 1;
    this.refreshSoon(milliseconds);
  }

  async #load() {
    this.loads += 1;
    const number = this.loads;
    try {
      const page = await get(`${path("recordings")}?${this.#query()}`);
      if (number !== this.loads) return;
      this.next = page.next;
      this.list.update(page.recordings);
      this.#showPlace(page.recordings.length);
      this.#showMissing(page.incomplete ?? []);
    } catch (error) {
      if (error.status) fail("The recordings cannot be listed", error);
    }
  }

  #query() {
    const fields = new FormData(this.form);
    const query = new URLSearchParams({ limit: LIMIT });
    const put = (name, value) => value && query.set(name, value);
    put("text", fields.get("text").trim());
    put("room", fields.get("room"));
    put("from", midnight(fields.get("from"), 0));
    put("to", midnight(fields.get("to"), 1));
    put("cursor", this.cursors.at(-1));
    return query;
  }

  #showPlace(shown) {
    const isFiltered = [...new FormData(this.form).values()].some(Boolean);
    const empty = byId("recordings-empty");
    empty.hidden = shown > 0;
    byId("recordings").hidden = shown === 0;
    setText(empty, isFiltered ? "No recording matches."
      : "There is no recording yet. One begins when a participant comes into a room.");
    setText(byId("page-number"), `Page ${this.cursors.length}`);
    setAttribute(byId("newer"), "aria-disabled", this.cursors.length > 1 ? null : "true");
    setAttribute(byId("older"), "aria-disabled", this.next ? null : "true");
  }

  /** Hosts whose recordings are not in the list. */
  #showMissing(hosts) {
    const place = byId("recordings-incomplete");
    place.hidden = hosts.length === 0;
    setText(place, hosts.map(({ host, reason }) => `Recordings of the host ${host} are missing: ${reason}.`).join(" "));
  }

  #turn(step) {
    if (step > 0 && this.next) this.cursors.push(this.next);
    else if (step < 0 && this.cursors.length > 1) this.cursors.pop();
    else return;
    // What comes after the new page is known when it is there: a second click before that leads nowhere.
    this.next = null;
    this.#load();
  }
}

/** The visitor's midnight before a day, or so many days later, as the API wants it. */
function midnight(day, later) {
  if (!day) return null;
  const [year, month, date] = day.split("-").map(Number);
  const instant = new Date(year, month - 1, date + later);
  return Number.isNaN(instant.getTime()) ? null : instant.toISOString();
}
