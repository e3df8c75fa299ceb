// SPDX-License-Identifier: Apache-2.0
// Questions. The browser keeps the focus inside a <dialog> and gives it back afterwards; Escape is a no.

import { byId, setText } from "./dom.js";

function closed(dialog) {
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}

/** Whether the visitor means it. */
export async function confirm(title, text, verb) {
  const dialog = byId("confirm");
  setText(byId("confirm-title"), title);
  setText(byId("confirm-text"), text);
  setText(byId("confirm-yes"), verb);
  dialog.returnValue = "no";
  dialog.showModal();
  return (await closed(dialog)) === "yes";
}

/** The text of a mark, "Mark" for none; null if the visitor does without. */
export async function askForMark() {
  const dialog = byId("mark-dialog");
  const input = dialog.querySelector("input");
  input.value = "";
  dialog.returnValue = "cancel";
  dialog.querySelector("button[type=button]").onclick = () => dialog.close("cancel");
  dialog.showModal();
  return (await closed(dialog)) === "mark" ? input.value.trim() || "Mark" : null;
}
