// SPDX-License-Identifier: Apache-2.0
// The hosts of the cluster, and whether this one sees them as they are. Without a cluster there is nothing to see.

import { byId, h, KeyedList, name, setAttribute, setText } from "./dom.js";
import { count, instant } from "./format.js";

class Host {
  constructor(host) {
    this.pill = h("span", { class: "pill" });
    this.amounts = h("span", { class: "muted small-print" });
    this.note = h("span", { class: "muted small-print" });
    this.element = h("li", { class: "card" }, h("span", { class: "who" }, name(host.name)), this.pill, this.amounts, this.note);
  }

  update({ host, isHere, silence }) {
    const [text, tone] = silence ? ["Does not answer", "bad"] : host.stopping ? ["Stopping", "warn"]
      : host.draining ? ["Draining", "warn"] : ["Alive", "good"];
    setText(this.pill, text);
    setAttribute(this.pill, "data-tone", tone);
    setAttribute(this.pill, "title", host.since ? `Since ${instant(host.since)}` : null);
    setText(this.amounts, `${count(host.rooms, "room")}, ${host.load} of ${host.capacity} taken`);
    setText(this.note, [isHere ? "This page's host" : null, silence ?? host.problem].filter(Boolean).join(" · "));
  }
}

export class HostsView {
  constructor() {
    this.silent = new Map();
    this.list = new KeyedList(byId("hosts"), (item) => item.host.name, (item) => new Host(item.host));
  }

  /** Hosts that did not answer when the rooms were listed. */
  hear(incomplete) {
    this.silent = new Map(incomplete.map(({ host, reason }) => [host, reason]));
    if (this.cluster) this.update(this.cluster);
  }

  update(cluster) {
    this.cluster = cluster;
    byId("hosts-section").hidden = !cluster;
    if (!cluster) return;
    const stale = byId("hosts-stale");
    stale.hidden = cluster.connected;
    setText(stale, cluster.connected ? ""
      : `This host does not reach the etcd: hosts, and rooms of hosts that do not answer, are as they were ${instant(cluster.since)}.`
        + (cluster.reason ? ` ${cluster.reason}` : ""));
    this.list.update(cluster.hosts.map((host) => ({
      host, isHere: host.name === cluster.host, silence: this.silent.get(host.name) })));
  }
}
