// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon. Paths are relative to the page's own server; there is no other.

const PATIENCE_SECONDS = 20;

/** An answer that is an error, in the words of its problem document (RFC 9457). */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `The server answered ${status}.`);
    this.status = status;
    /** Every single thing that is wrong with what was sent. */
    this.problems = Array.isArray(document.problems) ? document.problems.map(String) : [];
  }
}

/** No answer came. */
export class Unreachable extends Error {
  constructor() {
    super("The daemon does not answer.");
  }
}

/** Called for each answer that asks for a login. */
export const unauthorized = new EventTarget();

/** Joins the parts of a path; what they hold cannot leave its place. */
export const path = (...parts) => `/v1/${parts.map(encodeURIComponent).join("/")}`;

/** Path of a recording's file. */
export const filePath = (recording, file) =>
  `${path("recordings", recording, "files")}/${file.split("/").map(encodeURIComponent).join("/")}`;

/** Sends a request; the answer's JSON, or null for one without. Throws `Problem` and `Unreachable`. */
export async function send(method, target, body, options) {
  const answer = await exchange(method, target, body, options);
  if (answer.status === 204) return null;
  const isJSON = (answer.headers.get("Content-Type") ?? "").includes("json");
  return isJSON ? await read(answer.json()) : null;
}

/** Gets JSON; `options` are `seconds` to wait for it, and the `cache` of `fetch`. */
export const get = (target, options) => send("GET", target, undefined, options);
export const post = (target, body) => send("POST", target, body);
export const patch = (target, body) => send("PATCH", target, body);
export const remove = (target) => send("DELETE", target);

/** Gets something that is no JSON. */
export async function getBlob(target) {
  return await read((await exchange("GET", target)).blob());
}

async function exchange(method, target, body, { seconds = PATIENCE_SECONDS, cache = "no-store" } = {}) {
  const options = { method, cache, signal: AbortSignal.timeout(seconds * 1000) };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  const answer = await read(fetch(target, options));
  if (answer.ok) return answer;
  let document = {};
  try {
    document = (await answer.json()) ?? {};
  } catch {
    // Something between us and the daemon answered.
  }
  if (answer.status === 401 && target !== path("session")) unauthorized.dispatchEvent(new Event("unauthorized"));
  throw new Problem(answer.status, document);
}

async function read(promise) {
  try {
    return await promise;
  } catch {
    throw new Unreachable();
  }
}
