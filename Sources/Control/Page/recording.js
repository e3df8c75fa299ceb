// SPDX-License-Identifier: Apache-2.0
// One recording in full: player, tracks, exports, files.

import { filePath, get, path, remove } from "./api.js";
import { confirm } from "./dialogs.js";
import { byId, button, h, icon, name, setText } from "./dom.js";
import { Exports } from "./exports.js";
import { bytes, count, duration, instant } from "./format.js";
import { fail } from "./messages.js";
import { Player } from "./player.js";

/** What the state and the verdict of a recording are to people, with a tone. */
export function verdict(recording) {
  if (recording.state === "recording") return ["Recording", "live", "It is in progress."];
  if (recording.state === "unfinished") return ["Interrupted", "warn", "A crash cut it off; it is not yet repaired."];
  if (recording.verdict === "complete") {
    return ["Complete", "good", "Every track was read back, and nothing is missing."];
  }
  if (recording.verdict === "complete-with-gaps") {
    return ["With gaps", "quiet", "Everything that came is there, but something never came: the certificate says what."];
  }
  if (recording.verdict === "damaged") {
    return ["Damaged", "warn", "Something is missing or was changed: the certificate says what."];
  }
  return ["Finished", "quiet", "Nothing has been exported yet, so nothing has been checked."];
}

/** Asks, and deletes; whether it is gone. */
export async function deleteRecording(recording) {
  const isSure = await confirm("Delete this recording?",
    `${recording.room}, ${instant(recording.start)}, ${bytes(recording.bytes)}. Its files are deleted for good.`,
    "Delete recording");
  if (!isSure) return false;
  try {
    await remove(path("recordings", recording.id));
    return true;
  } catch (error) {
    fail("The recording was not deleted", error);
    return false;
  }
}

const dialog = byId("recording-dialog");
const VERDICTS = { complete: "Complete", "complete-with-gaps": "With gaps", damaged: "Damaged" };

/** The dialog with a recording's details. */
class RecordingDialog {
  constructor(session, changed) {
    this.session = session;
    this.changed = changed;
    dialog.addEventListener("close", () => this.#clear());
  }

  async open(id, { isPlaying = false } = {}) {
    let recording;
    try {
      recording = await get(path("recordings", id));
    } catch (error) {
      fail("The recording cannot be shown", error);
      return;
    }
    this.#clear();
    this.id = id;
    this.exports = new Exports(id, () => this.#refresh());
    this.player = new Player(id, senders(recording), this.exports);
    this.files = h("div", {});
    this.pill = h("span", { class: "pill" });
    dialog.replaceChildren(...this.#content(recording));
    this.#show(recording);
    if (!dialog.open) dialog.showModal();
    await this.exports.refresh().catch((error) => fail("The exports cannot be shown", error));
    if (isPlaying && this.id === id) await this.player.play();
  }

  hear(event) {
    this.exports?.hear(event);
    if (event.recording !== this.id) return;
    if (event.kind === "recording.deleted") dialog.close();
    else if (event.kind.startsWith("recording.")) this.#refresh();
  }

  #content(recording) {
    const mayPlay = this.session.may("media") && this.session.may("control") && recording.state === "finished"
      && recording.tracks.length > 0;
    const close = button("close", "", () => dialog.close(),
      { class: "quiet icon-only", "aria-label": "Close", title: "Close" });
    return [
      h("header", { class: "dialog-head" },
        h("div", {}, h("h2", { id: "recording-title" }, name(recording.room)),
          h("p", { class: "muted" }, instant(recording.start), " · ", h("code", {}, recording.id))),
        this.pill, close),
      mayPlay ? this.player.element : null,
      this.note = h("p", { class: "muted small-print" }),
      this.about = h("p", { class: "muted small-print" }),
      h("h3", {}, "Tracks"), this.tracks = h("ul", { class: "tracks" }),
      h("h3", {}, "Exports"), this.exports.element,
      recording.state === "finished" ? this.#exportForm(recording) : null,
      h("h3", {}, "Files"), this.files,
      this.certificate = h("section", { class: "certificate", "aria-label": "Certificate" }),
      h("div", { class: "dialog-actions needs-control" },
        button("remove", "Delete", () => this.#delete(recording), { about: "recording", class: "danger" })),
    ].filter(Boolean);
  }

  #show(recording) {
    const [text, tone, note] = verdict(recording);
    setText(this.pill, text);
    this.pill.dataset.tone = tone;
    const length = recording.durationSeconds === undefined || recording.durationSeconds === null
      ? "" : `${duration(recording.durationSeconds)} long. `;
    setText(this.note, `${length}${bytes(recording.bytes)}. ${note}`);
    const about = [...(recording.tags ?? []), recording.notes].filter(Boolean).join(" · ");
    setText(this.about, about);
    this.about.hidden = !about;
    const tracks = [...recording.tracks].sort((one, other) => (one.number ?? 0) - (other.number ?? 0));
    this.tracks.replaceChildren(...tracks.map((track) => h("li", {},
      h("span", { class: "number muted" }, String(track.number ?? "–")),
      h("span", { class: "who" }, name(track.name ?? track.participant)),
      h("span", {}, `${track.kind} · ${track.codec.toUpperCase()}`),
      h("span", { class: "muted figure-text" }, `${count(track.units, "unit")} · ${bytes(track.bytes)}`))));
    if (!tracks.length) this.tracks.replaceChildren(h("li", { class: "muted" }, "No track."));
    this.files.replaceChildren(h("ul", { class: "files" }, recording.files.map((file) => h("li", {},
      this.session.may("media")
        ? h("a", { href: `${filePath(recording.id, file.name)}?download=1`, download: true },
          icon("download"), name(file.name))
        : name(file.name),
      h("span", { class: "muted figure-text" }, bytes(file.bytes))))));
    this.#showCertificate(recording);
  }

  /** What was found when the recording was closed or exported last; nothing before. */
  #showCertificate({ certificate }) {
    if (!certificate) {
      this.certificate.replaceChildren();
      return;
    }
    const list = (title, sentences) => (sentences.length
      ? [h("h4", {}, title), h("ul", { class: "findings" }, sentences.map((text) => h("li", {}, name(text))))] : []);
    const clock = certificate.wallClockSeconds === undefined || certificate.wallClockSeconds === null
      ? "" : ` of ${duration(certificate.wallClockSeconds)} by the wall clock`;
    this.certificate.replaceChildren(...[
      h("h3", {}, "Certificate"),
      h("p", { class: "muted small-print" },
        `${VERDICTS[certificate.verdict] ?? "Unknown"}, ${duration(certificate.durationSeconds)}${clock}.`),
      ...list("Damage", certificate.damage), ...list("Gaps", certificate.gaps),
      certificate.files.length ? h("details", { "aria-label": "SHA-256 of each file" }, h("summary", {}, "SHA-256 of each file"),
        h("ul", { class: "hashes" }, certificate.files.map((file) => h("li", {},
          h("code", {}, file.sha256), " ", name(file.name))))) : null,
    ].filter(Boolean));
  }

  #exportForm(recording) {
    const seconds = (label) => h("label", { class: "field" }, label,
      h("input", { name: label.toLowerCase(), type: "number", min: 0, step: 1,
        inputmode: "numeric", placeholder: "s" }));
    const form = h("form", { class: "export-form needs-control", "aria-label": "New export" },
      h("label", { class: "field" }, "Layout", h("select", { name: "layout" },
        h("option", { value: "tracks" }, "MKV, all tracks"), h("option", { value: "browser" }, "For browsers"),
        h("option", { value: "grid" }, "Everyone in one video"), h("option", { value: "audio" }, "Audio of everyone"))),
      h("label", { class: "field" }, "Participant", h("select", { name: "participant" },
        h("option", { value: "" }, "Everyone"), senders(recording).map(([id, text]) => h("option", { value: id }, text)))),
      seconds("From"), seconds("To"),
      h("button", { type: "submit" }, "Export"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#export(new FormData(form));
    });
    return form;
  }

  async #export(fields) {
    const request = { layout: fields.get("layout") };
    if (fields.get("participant")) request.participant = fields.get("participant");
    for (const name of ["from", "to"]) if (fields.get(name)) request[name] = Number(fields.get(name));
    try {
      await this.exports.make(request);
    } catch (error) {
      if (this.id) fail("The export failed", error);
    }
  }

  async #refresh() {
    const id = this.id;
    this.changed();
    try {
      const recording = await get(path("recordings", id));
      if (this.id === id) this.#show(recording);
    } catch {
      // Gone, or the connection is lost: the page shows either.
    }
  }

  async #delete(recording) {
    if (!(await deleteRecording(recording))) return;
    if (dialog.open) dialog.close();
    this.changed();
    byId("recordings-title").focus();
  }

  #clear() {
    this.player?.close();
    this.exports?.close();
    this.player = this.exports = this.id = null;
  }
}

/** Who sent something: each id, and the name that people see. */
function senders(recording) {
  const named = new Map(recording.tracks.map((track) => [track.participant, track.name ?? track.participant]));
  return [...named].sort(([, one], [, other]) => one.localeCompare(other));
}

export { RecordingDialog };
