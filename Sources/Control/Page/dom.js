// SPDX-License-Identifier: Apache-2.0
// Building the page. Text only ever becomes text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** A new element: attributes by name, listeners as `onclick`, children as nodes or text. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** A new SVG element. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else setAttribute(element, name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets an attribute, or takes it away for null, undefined and false. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Sets an element's text, without touching the document if it is the same. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A name from outside: kept apart from the writing direction around it. */
export const name = (text) => h("bdi", { title: text }, text);

/** A decoration from the sprite of index.html. */
export function icon(id) {
  return s("svg", { class: "icon", "aria-hidden": "true" }, s("use", { href: `#i-${id}` }));
}

/** A button, with a decoration if it is named; `about` is only for those who do not see what it belongs to. */
export function button(iconName, text, onclick, { about, ...attributes } = {}) {
  const label = h("span", { class: "label" }, text);
  const hidden = about ? h("span", { class: "visually-hidden" }, ` ${about}`) : null;
  return h("button", { type: "button", ...attributes, onclick }, iconName ? icon(iconName) : null, label, hidden);
}

/** Gives a button of `button` another decoration and another text. */
export function relabel(element, iconName, text) {
  setText(element.querySelector(".label"), text);
  setAttribute(element.querySelector("use"), "href", `#i-${iconName}`);
}

/**
 * Makes a list show these items, in their order; what is there already is kept and updated, with its focus.
 *
 * `create(item)` gives an object with an `element` and a method `update(item)`, and perhaps `close()`.
 */
export class KeyedList {
  constructor(parent, key, create) {
    this.parent = parent;
    this.key = key;
    this.create = create;
    this.entries = new Map();
  }

  update(items) {
    const left = new Map(this.entries);
    let place = this.parent.firstChild;
    for (const item of items) {
      const key = this.key(item);
      let entry = left.get(key);
      if (!entry) {
        if (this.entries.has(key) && !left.has(key)) continue;
        entry = this.create(item);
        this.entries.set(key, entry);
      }
      left.delete(key);
      entry.update(item);
      if (entry.element === place) place = place.nextSibling;
      else this.parent.insertBefore(entry.element, place);
    }
    for (const [key, entry] of left) {
      entry.close?.();
      entry.element.remove();
      this.entries.delete(key);
    }
  }

  get(key) {
    return this.entries.get(key);
  }
}
