// SPDX-License-Identifier: Apache-2.0
// Messages for the visitor: failures to see, changes of state to hear.

import { byId, button, h } from "./dom.js";

const MAXIMUM_MESSAGES = 4;
const MAXIMUM_ANNOUNCEMENTS = 20;
const DONE_MILLISECONDS = 6000;

/** Shows what went wrong until it is dismissed. */
export function fail(what, error) {
  const box = byId("messages");
  const details = (error.problems ?? []).map((problem) => h("li", {}, problem));
  const message = h("div", { class: "message", role: "alert" },
    h("div", {}, h("strong", {}, what), h("p", {}, error.message), details.length ? h("ul", {}, details) : null));
  message.append(button("close", "", () => message.remove(),
    { class: "quiet icon-only", "aria-label": "Dismiss", title: "Dismiss" }));
  box.append(message);
  while (box.children.length > MAXIMUM_MESSAGES) box.firstChild.remove();
}

/** Shows for a few seconds that something was done. */
export function tell(text) {
  const message = h("div", { class: "message done", role: "status" }, text);
  byId("messages").append(message);
  setTimeout(() => message.remove(), DONE_MILLISECONDS);
}

/** Puts a failure into a form. */
export function showProblem(place, error) {
  const details = (error?.problems ?? []).map((problem) => h("li", {}, problem));
  place.replaceChildren(...(error ? [h("p", {}, error.message)] : []),
    ...(details.length ? [h("ul", {}, details)] : []));
}

/** Calls the listeners. */
export function announce(text) {
  const log = byId("announcements");
  log.append(h("p", {}, text));
  while (log.children.length > MAXIMUM_ANNOUNCEMENTS) log.firstChild.remove();
}

const SENTENCES = {
  "room.joined": (event) => `${event.room}: joined`,
  "room.left": (event) => `${event.room}: left, ${event.details.reason}`,
  "room.unreachable": (event) => `${event.room}: unreachable, ${event.details.reason}`,
  "room.added": (event) => `${event.room}: added`,
  "room.removed": (event) => `${event.room}: removed`,
  "participant.joined": (event) => `${event.room}: ${event.details.name ?? "a participant"} came`,
  "participant.left": (event) => `${event.room}: ${event.details.name ?? "a participant"} went`,
  "recording.started": (event) => `${event.room}: recording started`,
  "recording.paused": (event) => `${event.room}: recording paused`,
  "recording.resumed": (event) => `${event.room}: recording resumed`,
  "recording.marked": (event) => `${event.room}: marked “${event.details.text}”`,
  "recording.finished": (event) => `${event.room}: recording finished`,
  "recording.degraded": (event) => `${event.room}: media are being lost`,
  "recording.deleted": (event) => `A recording of ${event.room} was deleted`,
  "export.finished": (event) => `Export finished: ${event.details.file}`,
  "export.failed": (event) => `Export failed: ${event.details.reason}`,
  "upload.failed": (event) => `Upload of ${event.details.file} failed: ${event.details.reason}`,
  "room.moved": (event) => `${event.room}: taken over from ${event.details.from}`,
  "host.lost": (event) => `The host ${event.details.host} of the cluster is gone`,
  "worker.crash_loop": (event) => `${event.room}: its worker crashes again and again`,
  "configuration.reloaded": () => "New configuration in force",
  "configuration.refused": () => "New configuration refused",
  "disk.low": () => "The disk is low on space",
  "disk.recovered": () => "The disk has enough space again",
};

/** Calls the listeners with an event of the daemon. */
export function announceEvent(event) {
  const sentence = SENTENCES[event.kind];
  if (sentence) announce(sentence({ details: {}, ...event }));
}
