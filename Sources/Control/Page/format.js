// SPDX-License-Identifier: Apache-2.0
// Figures as people read them.

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

function scaled(value, units) {
  let rest = Number(value) || 0;
  let index = 0;
  while (rest >= 999.5 && index < units.length - 1) {
    rest /= 1000;
    index += 1;
  }
  const digits = index === 0 || rest >= 99.5 ? 0 : rest >= 9.95 ? 1 : 2;
  return `${rest.toFixed(digits)} ${units[index]}`;
}

/** 54471393280 is "54.5 GB". */
export const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"]);

/** 812000 is "812 kbit/s". */
export const bitrate = (value) => scaled(value, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);

/** 91378 is "1 d 1 h". */
export function span(seconds) {
  const total = Math.max(0, Math.round(Number(seconds) || 0));
  const days = Math.floor(total / 86400);
  const hours = Math.floor(total / 3600) % 24;
  const minutes = Math.floor(total / 60) % 60;
  if (days > 365) return "over a year";
  if (days) return `${days} d ${hours} h`;
  if (hours > 9) return `${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  if (minutes > 9) return `${minutes} min`;
  if (minutes) return `${minutes} min ${total % 60} s`;
  return `${total} s`;
}

/** 3725.4 is "1:02:05". */
export function duration(seconds) {
  const total = Math.max(0, Math.round(Number(seconds) || 0));
  const pad = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor(total / 60) % 60;
  return hours ? `${hours}:${pad(minutes)}:${pad(total % 60)}` : `${minutes}:${pad(total % 60)}`;
}

/** An instant in the visitor's time zone. */
export function instant(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? String(text) : dateTime.format(date);
}

/** The time of the day of an instant in the visitor's time zone. */
export function timeOfDay(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? String(text) : clock.format(date);
}

const soon = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const WEEK_MILLISECONDS = 6 * 86_400_000;

/** An instant to come: "Mon 09:00" within the next days, else with its date. */
export function upcoming(text) {
  const date = new Date(text);
  return date - Date.now() < WEEK_MILLISECONDS ? soon.format(date) : instant(text);
}

/** How long ago an instant was. */
export const secondsSince = (text) => Math.max(0, (Date.now() - new Date(text).getTime()) / 1000);

/** "1 track", "2 tracks". */
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
