// SPDX-License-Identifier: Apache-2.0
// The rooms: a card for each that the filter lets through.

import { byId, KeyedList, setText } from "./dom.js";
import { Rates } from "./rates.js";
import { RoomCard } from "./room-card.js";
import { openRoomForm } from "./room-form.js";

export class RoomsView {
  constructor(session, feed) {
    this.rooms = [];
    /** By room, filtered out or not: a curve has no holes. */
    this.rates = new Map();
    this.list = new KeyedList(byId("rooms"), (item) => item.room.name,
      (item) => new RoomCard(item.room, session, () => feed.refreshSoon()));
    byId("room-filter").addEventListener("input", () => this.#show());
    byId("add-room").addEventListener("click", () => openRoomForm(null, (name) => {
      feed.refreshSoon(0);
      this.wanted = name;
    }));
    setInterval(() => this.#tick(), 1000);
  }

  #tick() {
    if (document.hidden) return;
    for (const card of this.list.entries.values()) card.tick();
  }

  update({ rooms, now }) {
    this.rooms = rooms;
    this.rates = new Map(rooms.map((room) => [room.name, this.rates.get(room.name) ?? new Rates()]));
    for (const room of rooms) {
      const isJoined = room.phase === "joined" && Boolean(room.since);
      this.rates.get(room.name).take(isJoined ? room.status.tracks.filter((track) => track.open) : [], now);
    }
    this.#show();
  }

  #show() {
    const filter = byId("room-filter").value.trim().toLowerCase();
    const matches = (room) =>
      !filter || [room.name, room.url, room.phase, room.host ?? ""].some((text) => text.toLowerCase().includes(filter));
    const shown = this.rooms.filter(matches);
    this.list.update(shown.map((room) => ({ room, rates: this.rates.get(room.name) })));
    const empty = byId("rooms-empty");
    empty.hidden = shown.length > 0;
    setText(empty, this.rooms.length ? "No room matches the filter."
      : "There is no room yet. Add one here, or list rooms in the configuration.");
    const added = this.wanted && this.list.get(this.wanted);
    if (!added) return;
    this.wanted = null;
    added.element.scrollIntoView({ block: "nearest" });
    added.record.focus({ preventScroll: true });
  }
}
