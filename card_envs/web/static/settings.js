/** What the person prefers, kept in the browser. */

const DEFAULTS = { pace: "normal", speed: "1×", forced: true, pause: true, coach: null };

export function setting(name) {
  try {
    return JSON.parse(localStorage.getItem(`setting-${name}`)) ?? DEFAULTS[name];
  } catch {
    return DEFAULTS[name];
  }
}

export function set(name, value) {
  localStorage.setItem(`setting-${name}`, JSON.stringify(value));
}
