// SPDX-License-Identifier: Apache-2.0
// The page: who is here, which view is shown, and what each part is notified of.

import { byId, setAttribute, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { announce, announceEvent, fail } from "./messages.js";
import { OverviewView } from "./overview.js";
import { RecordingsView } from "./recordings.js";
import { RoomsView } from "./rooms.js";
import { Session } from "./session.js";
import { WebhooksView } from "./webhooks.js";

const feed = new Feed();
const session = new Session((isOpen) => (isOpen ? feed.start() : feed.stop()));
const overview = new OverviewView();
const rooms = new RoomsView(session, feed);
const recordings = new RecordingsView(session);
const webhooks = new WebhooksView(feed);

function showConnection(isUp) {
  const pill = byId("connection");
  if (pill.dataset.up === String(isUp)) return;
  if (pill.dataset.up !== undefined || !isUp) announce(isUp ? "Connected again" : "Connection lost");
  pill.dataset.up = String(isUp);
  pill.dataset.tone = isUp ? "good" : "bad";
  setText(pill, isUp ? "Live" : "Offline");
  byId("lost").hidden = isUp;
  if (isUp) recordings.refreshSoon();
}

function route() {
  const views = { "#rooms": "rooms", "#recordings": "recordings" };
  const isNew = byId("rooms-view").hidden && byId("recordings-view").hidden;
  const view = views[location.hash] ?? (isNew || !location.hash ? "rooms" : null);
  if (!view) return;
  byId("rooms-view").hidden = view !== "rooms";
  byId("recordings-view").hidden = view !== "recordings";
  recordings.show(view === "recordings");
  document.title = view === "rooms" ? "Rooms – Tapedeck" : "Recordings – Tapedeck";
  for (const link of byId("views").querySelectorAll("a")) {
    setAttribute(link, "aria-current", link.hash === `#${view}` ? "page" : null);
  }
}

feed.addEventListener("connection", ({ detail }) => showConnection(detail.isUp));
feed.addEventListener("refusal", ({ detail }) => fail("The rooms cannot be shown", detail));
feed.addEventListener("overview", ({ detail }) => overview.update(detail));
feed.addEventListener("webhooks", ({ detail }) => webhooks.update(detail));
feed.addEventListener("rooms", ({ detail }) => {
  rooms.update(detail);
  recordings.offer(detail.rooms);
});
feed.addEventListener("event", ({ detail }) => {
  announceEvent(detail);
  recordings.hear(detail);
});
addEventListener("hashchange", route);
route();
session.start();
