/** What the person prefers, kept in the browser. */

import { lasting } from "./storage.js";

const DEFAULTS = { pace: "normal", speed: "1×", forced: true, pause: true, keys: true, coach: null };

export function setting(name) {
  try {
    return JSON.parse(lasting.get(`setting-${name}`)) ?? DEFAULTS[name];
  } catch {
    return DEFAULTS[name];
  }
}

export function set(name, value) {
  lasting.set(`setting-${name}`, JSON.stringify(value));
}
