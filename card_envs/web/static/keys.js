/** Keys of the table's page: arrows and numbers choose, Enter plays. */

import { choicesIn } from "./choices.js";
import { showGuide } from "./coach.js";
import { h, showDialog } from "./dom.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PLACES = "main, .board, .decide"; // that only hold what keys are for
const TARGETS = ".board [data-key], .decide button:not([disabled]), .decide summary";

/** What the keys do, for the list under "?". */
export const KEYS = [
  ["arrows", "to the card, pile or button that lies in that direction"],
  ["1 – 9", "to the choice of that number"],
  ["Enter", "plays the choice; on a chosen card: plays what has been chosen"],
  ["Space", "chooses a card or a pile, or takes that back; starts and stops a game that is watched"],
  ["Esc", "clears what has been chosen"],
  ["h", "hint"],
  ["u", "undo"],
  ["r", "rules"],
  ["c", "coach on or off"],
  [", and .", "one decision back or forward"],
  ["b", "back to the game"],
  ["?", "this list"],
];

/** Listen to keys for a table's page; returns what ends that. */
export function letPress(page) {
  const actions = {
    h: () => page.hint(),
    u: () => page.undo(),
    r: () => showGuide(page),
    c: () => page.change("coach", !page.isOn("coach")),
    b: () => page.lookAt(page.live.steps),
    "?": () => showKeys(),
    ",": () => page.transport.go(page.transport.step - 1),
    ".": () => { page.transport.stop(); page.transport.onward(); },
    " ": () => { if (!page.transport.element.hidden) page.transport.toggle(); },
    Escape: () => page.clear(),
  };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || !page.live) return;
    const { target } = event;
    if (target.matches("input, select, textarea")) return;
    // Who speaks to the computer, or touches keys unawares, can switch these off (WCAG 2.1.4).
    if (/^\S$/.test(event.key) && !page.isOn("keys")) return;
    if (event.key in ARROWS) {
      if (move(ARROWS[event.key])) event.preventDefault();
    } else if (/^[1-9]$/.test(event.key)) {
      choicesIn(page.parts.prompt)[Number(event.key) - 1]?.focus();
    } else if (event.key === " " ? target === document.body || target.matches(PLACES) : event.key in actions) {
      event.preventDefault();
      actions[event.key]?.();
    }
  };
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}

/** Focus what lies next in a direction; whether there is anything to focus. */
function move([dx, dy]) {
  const targets = [...document.querySelectorAll(TARGETS)].filter((target) => target.offsetParent !== null);
  const from = document.activeElement;
  if (!targets.includes(from)) {
    if (from !== document.body && !from.matches(PLACES)) return false;
    targets[0]?.focus();
    return targets.length > 0;
  }
  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + Math.min(box.width / 2, 12), box.y + box.height / 2];
  };
  const [x, y] = middle(from);
  let best = null;
  let least = Infinity;
  for (const target of targets) {
    const [a, b] = middle(target);
    const along = (a - x) * dx + (b - y) * dy;
    const across = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
    if (target !== from && along > 4 && along + 3 * across < least) [best, least] = [target, along + 3 * across];
  }
  best?.focus();
  return true;
}

/** The list of keys, as a dialog. */
export function showKeys() {
  showDialog("Keys",
    h("dl", { class: "keys" }, KEYS.map(([key, words]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)))),
    h("p", { class: "note" }, "Those of one character can be switched off in the settings."));
}
