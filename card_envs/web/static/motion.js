/** Cards that move from one zone to another between two scenes. */

import { card } from "./card.js";
import { h, prefersCalm } from "./dom.js";
import { zonesOf } from "./pointing.js";

const MILLISECONDS = 520;
const MOST = 14; // cards in the air

/** How many cards of which name a scene has in each zone. */
function counts(scene) {
  const found = new Map();
  for (const { key, zone } of zonesOf(scene)) {
    const names = new Map();
    for (const entry of zone.cards) names.set(entry.name, (names.get(entry.name) ?? 0) + entry.count);
    found.set(key, names);
  }
  return found;
}

/** The cards that have left a zone, and those that have come to one. */
function changes(before, after) {
  const [old, now] = [counts(before), counts(after)];
  const left = [];
  const come = [];
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const [a, b] = [old.get(key) ?? new Map(), now.get(key) ?? new Map()];
    for (const name of new Set([...a.keys(), ...b.keys()])) {
      const more = (b.get(name) ?? 0) - (a.get(name) ?? 0);
      for (let k = 0; k < more; k += 1) come.push({ key, name });
      for (let k = 0; k < -more; k += 1) left.push({ key, name });
    }
  }
  return { left, come };
}

/** How many cards have come to each place, by its key; places of slots have numbers, not names. */
export function arrivals(before, after) {
  const slots = new Set(zonesOf(after).filter(({ zone }) => zone.layout === "slots").map(({ key }) => key));
  const found = new Map();
  for (const { key, name } of changes(before, after).come) {
    if (!slots.has(key)) found.set(`${key}/${name}`, (found.get(`${key}/${name}`) ?? 0) + 1);
  }
  return found;
}

/** Mark what the last move touched: places that it pointed at, and cards that have come. */
export function markTouched(table, { move, touched }, arrived) {
  const mark = (element) => element?.classList.add("touched");
  if (move) table.querySelector(`.seat[data-player="${move.player}"]`)?.classList.add("moved");
  for (const key of touched) {
    mark(table.querySelector(`[data-zone="${CSS.escape(key)}"]`));
    if (!arrived.has(key)) mark(table.querySelector(`[data-at="${CSS.escape(key)}"]`));
  }
  for (const [key, count] of arrived) [...table.querySelectorAll(`[data-at="${CSS.escape(key)}"]`)].slice(-count).forEach(mark);
}

/** Which card has come from where: one of its name, else one that lay or lies face down. */
function flights(before, after) {
  const { left, come } = changes(before, after);
  const found = [];
  const take = (card, isFit) => {
    const k = left.findIndex((other) => other.key !== card.key && isFit(other));
    if (k < 0) return false;
    found.push({ from: left[k].key, to: card.key, name: card.name || left[k].name });
    left.splice(k, 1);
    return true;
  };
  const rest = come.filter((entry) => !entry.name || !take(entry, (other) => other.name === entry.name));
  for (const entry of rest) take(entry, (other) => !other.name || !entry.name);
  return found;
}

/** Where the zones are on the screen. */
export function placesIn(root) {
  const found = new Map();
  for (const zone of root.querySelectorAll("[data-zone]")) {
    const cards = [...zone.querySelectorAll(".card")];
    const box = (cards.at(-1) ?? zone).getBoundingClientRect();
    found.set(zone.dataset.zone, { x: box.x + box.width / 2, y: box.y + box.height / 2, width: cards.length ? box.width : 48 });
  }
  return found;
}

/** Let the cards fly that have changed their zone. */
export function animate(root, style, before, after, placesBefore, pace = 1) {
  if (prefersCalm()) return;
  const places = placesIn(root);
  const layer = h("div", { class: "air", "aria-hidden": "true" });
  document.body.append(layer);
  const running = flights(before, after).slice(0, MOST).map(({ from, to, name }, k) => {
    const [start, end] = [placesBefore.get(from) ?? places.get(from), places.get(to)];
    if (!start || !end) return null;
    const flying = card(style, name);
    layer.append(flying);
    const at = ({ x, y, width }, turn) =>
      `translate(${x}px, ${y}px) translate(-50%, -50%) rotate(${turn}deg) scale(${width / 72})`;
    return flying.animate(
      [
        { transform: at(start, 0), opacity: 1 },
        { transform: at(end, k % 2 ? 4 : -4), opacity: 1, offset: 0.85 },
        { transform: at(end, 0), opacity: 0 },
      ],
      { duration: MILLISECONDS * pace, delay: 35 * k * pace, easing: "cubic-bezier(.3,.8,.4,1)", fill: "both" },
    ).finished.catch(() => null);
  });
  Promise.all(running).then(() => layer.remove());
}
