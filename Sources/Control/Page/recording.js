// SPDX-License-Identifier: Apache-2.0
// One recording in full: player, tracks, exports, files.

import { filePath, get, path, remove } from "./api.js";
import { confirm } from "./dialogs.js";
import { byId, button, h, icon, name, setText } from "./dom.js";
import { Exports } from "./exports.js";
import { bytes, count, duration, instant, secondsSince } from "./format.js";
import { fail } from "./messages.js";
import { Player } from "./player.js";
import { momentLink, Timeline } from "./timeline.js";

/** What the state and the verdict of a recording are to people, with a tone. */
export function verdict(recording) {
  if (recording.state === "recording") return ["Recording", "live", "It is in progress."];
  if (recording.state === "unfinished") return ["Interrupted", "warn", "A crash cut it off; it is not yet repaired."];
  if (recording.verdict === "complete") {
    return ["Complete", "good", "Every track was read back, and nothing is missing."];
  }
  if (recording.verdict === "complete-with-gaps") {
    return ["With gaps", "quiet", "Everything received is intact, but some media never arrived; see the certificate."];
  }
  if (recording.verdict === "damaged") {
    return ["Damaged", "warn", "Something is missing or was changed; see the certificate."];
  }
  return ["Finished", "quiet", "Nothing has been exported yet, so nothing has been checked."];
}

/** Where a recording is uploaded to, and how far that is. */
function uploadText(upload) {
  if (!upload) return "";
  if (upload.finished) return `Uploaded to ${upload.place}, ${instant(upload.finished)}.`;
  const progress = `Upload to ${upload.place}: ${upload.verifiedFiles} of ${count(upload.files, "file")}, `
    + `${bytes(upload.verifiedBytes)} of ${bytes(upload.bytes)}.`;
  return upload.error ? `${progress} ${upload.error}. Next attempt: ${instant(upload.nextAttempt)}.` : progress;
}

/** Asks, and deletes; whether it is gone. */
export async function deleteRecording(recording) {
  const uploaded = recording.upload ? ` What was uploaded stays in ${recording.upload.place}.` : "";
  const isSure = await confirm("Delete this recording?",
    `${recording.room}, ${instant(recording.start)}, ${bytes(recording.bytes)}. Its files are deleted for good.${uploaded}`,
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

const VERDICTS = { complete: "Complete", "complete-with-gaps": "With gaps", damaged: "Damaged" };

/** The page of a recording. */
export class RecordingView {
  /** `changed()` is called when something about the recording is not what a list shows any more. */
  constructor(session, changed) {
    this.session = session;
    this.changed = changed;
    this.root = byId("recording-view");
  }

  /** Shows a recording, from a second on if one is given; one that is shown already only goes there. */
  async show(id, seconds, { isPlaying = false } = {}) {
    if (this.id === id && !this.hasFailed) {
      if (Number.isFinite(seconds)) this.player?.seek(seconds);
      return;
    }
    this.hide();
    this.id = id;
    this.root.replaceChildren(this.#head(h("h1", { id: "recording-title", tabindex: -1 }, "Recording")));
    let recording, timeline;
    try {
      [recording, timeline] = await Promise.all([get(path("recordings", id)), course(id)]);
    } catch (error) {
      if (this.id === id) this.#showFailure(error);
      return;
    }
    if (this.id !== id) return;
    document.title = `${recording.room}, ${instant(recording.start)} – Tapedeck`;
    this.exports = new Exports(id, () => this.#refresh());
    const mayPlay = this.session.may("media") && recording.state === "finished" && recording.tracks.length > 0;
    this.player = mayPlay ? new Player(recording, this.exports, {
      mayMake: this.session.may("control"), moved: (moment) => this.timeline.show(moment) }) : null;
    this.timeline = new Timeline(id, mayPlay ? (moment) => {
      this.player.seek(moment);
      history.replaceState(null, "", momentLink(id, moment));
    } : null);
    this.root.replaceChildren(...this.#content(recording));
    this.#showTimeline(recording, timeline);
    this.#show(recording);
    if (Number.isFinite(seconds)) {
      this.timeline.show(seconds);
      this.player?.seek(seconds);
    }
    byId("recording-title").focus({ preventScroll: true });
    scrollTo(0, 0);
    await this.exports.refresh().catch((error) => fail("The exports cannot be shown", error));
    if (isPlaying && this.id === id) await this.player?.play();
  }

  /** Stops what plays, and forgets the recording. */
  hide() {
    clearInterval(this.clock);
    this.player?.close();
    this.exports?.close();
    this.player = this.exports = this.id = null;
    this.isGoing = false;
    this.hasFailed = false;
    this.root.replaceChildren();
  }

  /** Tries again what could not be shown because the daemon did not answer. */
  retry() {
    if (this.hasFailed) this.show(this.id);
  }

  /** Looks again at a recording in progress of another host, whose events do not come here. */
  look(host) {
    if (this.isGoing && this.host !== host) this.#refresh();
  }

  hear(event) {
    this.exports?.hear(event);
    if (event.recording !== this.id || !this.id) return;
    if (event.kind === "recording.deleted") this.#showFailure({ status: 404 });
    else if (event.kind === "recording.finished" || event.kind === "recording.repaired") this.#showAnew();
    else if (["recording.", "upload."].some((start) => event.kind.startsWith(start)) || event.kind === "export.finished") this.#refresh();
  }

  #head(...parts) {
    return h("div", { class: "recording-head" }, h("a", { href: "#recordings" }, "All recordings"), ...parts);
  }

  #showFailure(error) {
    const isGone = error.status === 404 || error.status === 400;
    const id = this.id;
    this.hide();
    [this.id, this.hasFailed] = [id, !isGone];
    document.title = isGone ? "Recording not found – Tapedeck" : "Recording – Tapedeck";
    this.root.replaceChildren(this.#head(h("h1", { id: "recording-title", tabindex: -1 },
      isGone ? "Recording not found" : "The recording cannot be shown")),
    h("p", { class: "empty" }, isGone ? "There is no recording at this link: it was deleted, or the link is wrong."
      : error.message));
    byId("recording-title").focus();
  }

  /** A recording that is finished now can be played. */
  #showAnew() {
    const id = this.id;
    this.changed();
    this.hide();
    this.show(id);
  }

  #content(recording) {
    return [
      this.#head(
        h("div", { class: "title-line" }, h("h1", { id: "recording-title", tabindex: -1 }, name(recording.room)),
          this.pill = h("span", { class: "pill" })),
        this.note = h("p", { class: "muted small-print" }),
        this.about = h("p", { class: "muted small-print" }),
        this.upload = h("p", { class: "muted small-print" })),
      this.player?.element, this.timeline.element,
      h("h2", {}, "Tracks"), this.tracks = h("ul", { class: "tracks" }),
      h("h2", {}, "Exports"), this.exports.element,
      recording.state === "finished" ? this.#exportForm(recording) : null,
      h("h2", {}, "Files"), this.files = h("div", {}),
      this.certificate = h("section", { class: "certificate", "aria-label": "Certificate" }),
      recording.state === "recording" ? null : h("div", { class: "dialog-actions needs-control" },
        button("remove", "Delete", () => this.#delete(recording), { about: "recording", class: "danger" })),
    ].filter(Boolean);
  }

  /** Nothing while the recording is in progress; images once an export has said where they are. */
  #showTimeline(recording, timeline) {
    const isOver = recording.state !== "recording";
    const hasImages = isOver && Boolean(recording.certificate);
    this.timeline.update(isOver ? timeline : null, hasImages, !isOver ? "The timeline follows when the recording is over."
      : timeline.problem ? `The timeline cannot be shown: ${timeline.problem}`
        : !hasImages ? "Images and waveforms follow after the first export." : "");
  }

  #show(recording) {
    const [text, tone, note] = verdict(recording);
    setText(this.pill, text);
    this.pill.dataset.tone = tone;
    const isGoing = recording.state === "recording";
    [this.host, this.isGoing] = [recording.host, isGoing];
    const tell = () => {
      const length = isGoing ? duration(secondsSince(recording.start))
        : recording.durationSeconds === undefined || recording.durationSeconds === null ? null : duration(recording.durationSeconds);
      setText(this.note, [instant(recording.start), length, isGoing ? null : bytes(recording.bytes), note,
        recording.host ? `host ${recording.host}` : null, recording.id].filter(Boolean).join(" · "));
    };
    tell();
    clearInterval(this.clock);
    if (isGoing) this.clock = setInterval(tell, 1000);
    const about = [...(recording.tags ?? []), recording.notes].filter(Boolean).join(" · ");
    setText(this.about, about);
    this.about.hidden = !about;
    const upload = uploadText(recording.upload);
    setText(this.upload, upload);
    this.upload.hidden = !upload;
    const tracks = [...recording.tracks].sort((one, other) => (one.number ?? 0) - (other.number ?? 0));
    this.tracks.replaceChildren(...tracks.map((track) => h("li", {},
      h("span", { class: "number muted" }, String(track.number ?? "–")),
      h("span", { class: "who" }, name(track.name ?? track.participant)),
      h("span", {}, `${track.kind} · ${track.codec.toUpperCase()}`),
      h("span", { class: "muted figure-text" }, bytes(track.bytes)))));
    if (!tracks.length) this.tracks.replaceChildren(h("li", { class: "muted" }, "No track."));
    const download = (href, label) => h("a", { href, download: true }, icon("download"), label);
    const mayLoad = this.session.may("media");
    const all = recording.files.reduce((sum, file) => sum + file.bytes, 0);
    this.files.replaceChildren(h("ul", { class: "files" },
      mayLoad && !isGoing && recording.files.length > 1 ? h("li", {},
        download(path("recordings", recording.id, "archive.tar"), "All files in one archive (.tar)"),
        h("span", { class: "muted figure-text" }, bytes(all))) : null,
      recording.files.map((file) => h("li", {},
        mayLoad ? download(`${filePath(recording.id, file.name)}?download=1`, name(file.name)) : name(file.name),
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
      ? [h("h3", {}, title), h("ul", { class: "findings" }, sentences.map((text) => h("li", {}, name(text))))] : []);
    const clock = certificate.wallClockSeconds === undefined || certificate.wallClockSeconds === null
      ? "" : ` of ${duration(certificate.wallClockSeconds)} by the wall clock`;
    this.certificate.replaceChildren(...[
      h("h2", {}, "Certificate"),
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
    const { exports } = this;
    try {
      await exports.make(request);
    } catch (error) {
      if (this.exports === exports) fail("The export failed", error);
    }
  }

  async #refresh() {
    const id = this.id;
    this.changed();
    try {
      const [recording, timeline] = await Promise.all([get(path("recordings", id)), course(id)]);
      if (this.id !== id) return;
      if (this.isGoing && recording.state !== "recording") return this.#showAnew();
      this.#show(recording);
      this.#showTimeline(recording, timeline);
      this.player?.offer(recording);
    } catch {
      // Gone, or the connection is lost: the page shows either.
    }
  }

  async #delete(recording) {
    if (!(await deleteRecording(recording))) return;
    this.changed();
    location.hash = "recordings";
  }
}

/** Who sent something: each id, and the name that people see. */
function senders(recording) {
  const named = new Map(recording.tracks.map((track) => [track.participant, track.name ?? track.participant]));
  return [...named].sort(([, one], [, other]) => one.localeCompare(other));
}

/** The timeline of a recording, or the `problem` with it. */
async function course(id) {
  try {
    return await get(path("recordings", id, "timeline"));
  } catch (error) {
    // A journal that cannot be read hides nothing else of the page.
    if (error.status >= 400 && error.status !== 401) return { problem: error.message };
    throw error;
  }
}
