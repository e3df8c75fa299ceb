// SPDX-License-Identifier: Apache-2.0
// Login: a token is traded for a cookie that scripts cannot read; the page keeps neither.

import { get, path, post, remove, unauthorized, Unreachable } from "./api.js";
import { byId } from "./dom.js";
import { fail, showProblem } from "./messages.js";

const RETRY_MILLISECONDS = 2000;

/** Whether the visitor is let in, and what for; calls back when that changes. */
export class Session {
  constructor(changed) {
    this.changed = changed;
    this.scopes = new Set();
    this.isOpen = false;
    byId("login").addEventListener("submit", (event) => this.#login(event));
    byId("logout").addEventListener("click", () => this.#logout());
    unauthorized.addEventListener("unauthorized", () => {
      if (this.isOpen) this.#take({ required: true, authenticated: false, scopes: [] });
    });
  }

  /** Asks the daemon; again and again while it does not answer. */
  async start() {
    for (;;) {
      try {
        this.#take(await get(path("session")));
        return;
      } catch (error) {
        // A cookie that is no longer good.
        if (!(error instanceof Unreachable)) {
          this.#take({ required: true, authenticated: false, scopes: [] });
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
    }
  }

  may(scope) {
    return this.scopes.has(scope);
  }

  #take(state) {
    this.isOpen = state.authenticated;
    this.scopes = new Set(state.scopes);
    byId("login").hidden = this.isOpen;
    byId("application").hidden = !this.isOpen;
    byId("views").hidden = !this.isOpen;
    byId("connection").hidden = !this.isOpen;
    byId("logout").hidden = !(state.required && this.isOpen);
    document.body.classList.toggle("read-only", !this.may("control"));
    for (const dialog of document.querySelectorAll("dialog[open]")) if (!this.isOpen) dialog.close();
    if (!this.isOpen) byId("token").focus();
    this.changed(this.isOpen);
  }

  async #login(event) {
    event.preventDefault();
    const token = byId("token");
    showProblem(byId("login-problem"), null);
    try {
      this.#take(await post(path("session"), { token: token.value }));
      token.value = "";
      byId("content").focus();
    } catch (error) {
      showProblem(byId("login-problem"), error);
      token.select();
    }
  }

  async #logout() {
    try {
      await remove(path("session"));
    } catch (error) {
      // 401: the cookie was good for nothing any more.
      if (error.status !== 401) return fail("You are still logged in", error);
    }
    this.#take({ required: true, authenticated: false, scopes: [] });
  }
}
