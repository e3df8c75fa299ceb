// SPDX-License-Identifier: Apache-2.0
// The webhooks: their addresses, deliveries in progress, and those that failed for good. Without a webhook there is nothing to see.

import { path, post } from "./api.js";
import { byId, button, h, KeyedList, name, setAttribute, setText } from "./dom.js";
import { count, instant, span } from "./format.js";
import { announce, fail } from "./messages.js";

class Webhook {
  constructor(webhook) {
    this.pill = h("span", { class: "pill" });
    this.amounts = h("span", { class: "muted" });
    this.note = h("span", { class: "webhook-note" });
    this.element = h("li", {}, h("span", { class: "who" }, name(webhook.target)), this.pill, this.amounts, this.note);
  }

  update(webhook) {
    const { retry } = webhook;
    const [text, tone] = retry ? ["Tries again", "warn"] : webhook.dead ? ["Gave up", "bad"] : ["Good", "good"];
    setText(this.pill, text);
    setAttribute(this.pill, "data-tone", tone);
    const amounts = [`${webhook.delivered} delivered`, `${webhook.queued} waiting`, `${webhook.dead} failed for good`];
    if (webhook.dropped) amounts.push(`${webhook.dropped} dropped`);
    setText(this.amounts, amounts.join(", "));
    setText(this.note, retry ? `${count(retry.attempts, "attempt")} failed, next ${soon(retry.due)}`
      + (retry.error ? `: ${retry.error}` : "") : "");
  }
}

class Letter {
  constructor(letter, view) {
    const when = instant(letter.created);
    this.note = h("span", { class: "webhook-note" });
    this.element = h("li", {}, h("span", { class: "who" }, name(letter.event)),
      h("span", { class: "muted" }, h("time", { datetime: letter.created }, when), ` to ${letter.target}`), this.note,
      button(null, "Try again", () => view.retry(letter),
        { about: `${letter.event}, ${when}`, class: "needs-control" }));
  }

  update(letter) {
    setText(this.note, count(letter.attempts, "attempt") + (letter.error ? `: ${letter.error}` : ""));
  }
}

export class WebhooksView {
  constructor(feed) {
    this.feed = feed;
    this.webhooks = new KeyedList(byId("webhooks"), (webhook) => webhook.key, (webhook) => new Webhook(webhook));
    this.letters = new KeyedList(byId("letters"), (letter) => letter.id, (letter) => new Letter(letter, this));
  }

  update({ webhooks, deadLetters }) {
    byId("webhooks-section").hidden = webhooks.length === 0;
    byId("letters-part").hidden = deadLetters.length === 0;
    // Several may tell the same server.
    const seen = {};
    this.webhooks.update(webhooks.map((webhook) => {
      seen[webhook.target] = (seen[webhook.target] ?? 0) + 1;
      return { ...webhook, key: `${webhook.target} ${seen[webhook.target]}` };
    }));
    this.letters.update(deadLetters);
  }

  async retry(letter) {
    try {
      await post(`${path("webhooks", "deliveries", letter.id)}/retry`);
      announce(`${letter.event}: it is tried again`);
      byId("webhooks-title").focus();
      this.feed.refreshSoon(0);
    } catch (error) {
      fail("The delivery cannot be tried again", error);
    }
  }
}

/** When an instant comes, as people say it. */
function soon(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  return seconds > 1 ? `in ${span(seconds)}` : "now";
}
