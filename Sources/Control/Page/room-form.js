// SPDX-License-Identifier: Apache-2.0
// The form that adds a room, and changes one that was added.

import { get, patch, path, post } from "./api.js";
import { byId, setAttribute, setText } from "./dom.js";
import { fail, showProblem } from "./messages.js";

/** The keys of a definition that differ from the names of the form's fields. */
const FIELDS = { "join.schedule": "schedule", "join.duration": "duration", "join.time_zone": "zone" };

const form = byId("room-form");
const dialog = byId("room-dialog");
const problem = form.querySelector(".problem");
let finished = () => {};
/** What the room is that is changed; null while one is added. */
let before = null;

/** Opens the form, for a room of this name if there is one; `done(name)` is called when the daemon has taken the room. */
export async function openRoomForm(room, done) {
  let definition = null;
  try {
    if (room !== null) ({ definition } = await get(path("rooms", room)));
  } catch (error) {
    fail(`${room}: cannot be changed now`, error);
    return;
  }
  if (dialog.open) return;
  before = definition;
  finished = done;
  form.reset();
  mark([]);
  showProblem(problem, null);
  setText(byId("room-dialog-title"), room === null ? "Add a room" : `Change ${room}`);
  setText(byId("room-submit"), room === null ? "Add room" : "Save");
  form.elements.name.readOnly = room !== null;
  if (before) fill(room, before);
  showSchedule();
  dialog.showModal();
}

function fill(name, { url, join = "always", record = {}, announce = "" }) {
  const fields = form.elements;
  fields.name.value = name;
  fields.url.value = url;
  fields.announce.value = announce;
  fields.join.value = typeof join === "object" ? "schedule" : join;
  if (typeof join === "object") {
    fields.schedule.value = join.schedule;
    fields.duration.value = join.duration;
    fields.zone.value = join.time_zone ?? "UTC";
  }
  const isRecorded = typeof record === "object";
  fields.video.checked = isRecorded && record.video !== false;
  fields.audio.checked = isRecorded && record.audio !== false;
  fields.automatic.checked = isRecorded && record.automatic !== false;
}

/** What the configuration would hold under the room's name; of a room that is changed only what the form knows. */
function definition(fields) {
  const value = (name) => fields.get(name).trim();
  const hasMedia = fields.has("video") || fields.has("audio");
  const room = {
    join: value("join") === "schedule"
      ? { schedule: value("schedule"), time_zone: value("zone"), duration: value("duration") } : value("join"),
    record: hasMedia
      ? { video: fields.has("video"), audio: fields.has("audio"), automatic: fields.has("automatic") } : "none",
  };
  // The URL that is shown may lack its secrets: it is sent only if it is another one.
  if (value("url") !== before?.url) room.url = value("url");
  if (value("announce") || before?.announce) room.announce = value("announce") || null;
  if (fields.get("secret")) room.secret = fields.get("secret");
  return room;
}

function showSchedule() {
  const isScheduled = form.elements.join.value === "schedule";
  byId("schedule-fields").hidden = !isScheduled;
  for (const name of ["schedule", "zone", "duration"]) form.elements[name].required = isScheduled;
}

/** Marks the fields of these names as wrong, and goes to the first. */
function mark(names) {
  for (const field of form.elements) {
    if (field.name) setAttribute(field, "aria-invalid", names.includes(field.name) ? "true" : null);
  }
  form.elements[names[0]]?.focus();
}

/** Shows what the daemon does not take, in the words of the form. */
function complain(error, name) {
  const wrong = [];
  const problems = (error.problems ?? []).map((text) => {
    const [, key = "", reason = text] = /^(?:line \d+, column \d+: )?([^:]+): (.*)$/s.exec(text) ?? [];
    const inside = key.startsWith(`${name}.`) ? key.slice(name.length + 1) : key === name ? "name" : key;
    const field = form.elements[FIELDS[inside] ?? inside];
    if (!field?.labels?.length) return text.replace(/^line \d+, column \d+: /, "");
    wrong.push(field.name);
    return `${field.labels[0].firstChild.textContent.trim()}: ${reason.replace(/^room URL, /, "")}`;
  });
  showProblem(problem, { message: problems.length ? "Some fields need a change." : error.message, problems });
  mark(wrong);
}

form.elements.join.addEventListener("change", showSchedule);
form.addEventListener("input", (event) => event.target.removeAttribute("aria-invalid"));
form.querySelector("button[value=cancel]").addEventListener("click", () => dialog.close());
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  const fields = new FormData(form);
  const name = fields.get("name").trim();
  try {
    if (before) await patch(path("rooms", name), definition(fields));
    else await post(path("rooms"), { name, definition: definition(fields) });
    dialog.close();
    finished(name);
  } catch (error) {
    complain(error, name);
  }
  form.ariaBusy = "false";
});
