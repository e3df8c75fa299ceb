// SPDX-License-Identifier: Apache-2.0
// The page: who is here, which view is shown, and what each part is notified of.

import { byId, setAttribute, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { HostsView } from "./hosts.js";
import { announce, announceEvent, fail } from "./messages.js";
import { OverviewView } from "./overview.js";
import { RecordingView } from "./recording.js";
import { RecordingsView } from "./recordings.js";
import { RoomsView } from "./rooms.js";
import { Session } from "./session.js";
import { WebhooksView } from "./webhooks.js";

const feed = new Feed();
/** What is shown, and the recording that is to play when its page is there. */
let shown = null;
let wished = null;
const session = new Session((isOpen) => {
  if (isOpen) feed.start();
  else feed.stop();
  route();
});
const overview = new OverviewView();
const hosts = new HostsView();
const rooms = new RoomsView(session, feed);
const recordings = new RecordingsView(session, (id) => {
  wished = id;
  location.hash = `recordings/${encodeURIComponent(id)}`;
});
const recording = new RecordingView(session, () => recordings.refreshSoon());
const webhooks = new WebhooksView(feed);

function showConnection(isUp) {
  const pill = byId("connection");
  if (pill.dataset.up === String(isUp)) return;
  if (pill.dataset.up !== undefined || !isUp) announce(isUp ? "Connected again" : "Connection lost");
  pill.dataset.up = String(isUp);
  pill.dataset.tone = isUp ? "good" : "bad";
  setText(pill, isUp ? "Live" : "Offline");
  byId("lost").hidden = isUp;
  if (!isUp) return;
  recordings.refreshSoon();
  recording.retry();
}

/** The view that a link names, with the recording and the second for one of these; null for a link into the page. */
function destination(hash) {
  if (hash === "" || hash === "#rooms") return { view: "rooms" };
  if (hash === "#recordings") return { view: "recordings" };
  const found = /^#recordings\/([^/]+)(?:\/t=(\d+(?:\.\d+)?))?/.exec(hash);
  return found && { view: "recording", id: decoded(found[1]), seconds: Number(found[2] ?? NaN) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  const place = destination(location.hash) ?? (shown ? null : { view: "rooms" });
  if (!place) return;
  const before = shown;
  shown = place;
  for (const view of ["rooms", "recordings", "recording"]) byId(`${view}-view`).hidden = view !== place.view;
  const isOpen = session.isOpen;
  recordings.show(isOpen && place.view === "recordings");
  if (isOpen && place.view === "recording") recording.show(place.id, place.seconds, { isPlaying: wished === place.id });
  else recording.hide();
  wished = null;
  if (place.view !== "recording") document.title = place.view === "rooms" ? "Rooms – Tapedeck" : "Recordings – Tapedeck";
  if (place.view === "recordings" && before?.view === "recording") recordings.focus(before.id);
  for (const link of byId("views").querySelectorAll("a")) {
    const isHere = link.hash === (place.view === "rooms" ? "#rooms" : "#recordings");
    setAttribute(link, "aria-current", isHere ? (place.view === "recording" ? "true" : "page") : null);
  }
}

feed.addEventListener("connection", ({ detail }) => showConnection(detail.isUp));
feed.addEventListener("refusal", ({ detail }) => fail("The rooms cannot be shown", detail));
feed.addEventListener("overview", ({ detail }) => overview.update(detail));
feed.addEventListener("cluster", ({ detail }) => {
  hosts.update(detail);
  if (!(detail?.hosts.length > 1)) return;
  // Events are those of this host alone.
  recordings.refreshSoon();
  recording.look(detail.host);
});
feed.addEventListener("webhooks", ({ detail }) => webhooks.update(detail));
feed.addEventListener("rooms", ({ detail }) => {
  rooms.update(detail);
  hosts.hear(detail.incomplete ?? []);
  recordings.offer(detail.rooms);
});
feed.addEventListener("event", ({ detail }) => {
  announceEvent(detail);
  recordings.hear(detail);
  recording.hear(detail);
});
addEventListener("hashchange", route);
// A link to the place that is shown changes nothing: it is followed all the same.
addEventListener("click", ({ target }) => {
  if (target.closest?.("a")?.hash === location.hash) route();
});
route();
session.start();
