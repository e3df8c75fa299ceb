// SPDX-License-Identifier: Apache-2.0
// The form that adds a room.

import { path, post } from "./api.js";
import { byId } from "./dom.js";
import { showProblem } from "./messages.js";

const form = byId("room-form");
const dialog = byId("room-dialog");
const problem = form.querySelector(".problem");
let finished = () => {};

/** Opens the form; `added(name)` is called when the daemon has taken the room. */
export function openRoomForm(added) {
  finished = added;
  form.reset();
  showProblem(problem, null);
  showSchedule();
  dialog.showModal();
}

/** What the configuration would hold under the room's name. */
function definition(fields) {
  const value = (name) => fields.get(name).trim();
  const hasMedia = fields.has("video") || fields.has("audio");
  return {
    url: value("url"),
    join: value("join") === "schedule"
      ? { schedule: value("schedule"), time_zone: value("zone"), duration: value("duration") } : value("join"),
    record: hasMedia
      ? { video: fields.has("video"), audio: fields.has("audio"), automatic: fields.has("automatic") } : "none",
  };
}

function showSchedule() {
  const isScheduled = form.elements.join.value === "schedule";
  byId("schedule").hidden = !isScheduled;
  for (const name of ["schedule", "zone", "duration"]) form.elements[name].required = isScheduled;
}

form.elements.join.addEventListener("change", showSchedule);
form.querySelector("button[value=cancel]").addEventListener("click", () => dialog.close());
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  const fields = new FormData(form);
  const name = fields.get("name").trim();
  try {
    await post(path("rooms"), { name, definition: definition(fields) });
    dialog.close();
    finished(name);
  } catch (error) {
    showProblem(problem, error);
  }
  form.ariaBusy = "false";
});
