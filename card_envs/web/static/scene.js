/** Draws a scene: seats, zones and cards as elements. It knows no game. */

import { card, symbolOf } from "./card.js";
import { capitalized, h, patch } from "./dom.js";

const SHORT = 5; // letters of a counter that needs its name
const FANNED = 12; // more cards of a kind are one stack

/** Classes of what only holds seats and zones. */
export const SIDES = ["table", "left", "top-side", "right", "middle", "zones"];

// The page begins with setting these to what the server says.
const colourOf = (player) => ({ "--player": `var(--player-${player})`, "--on-player": `var(--on-player-${player})` });

/** A player's number in their colour. */
export function playerDot(player) {
  return h("span", { class: "dot", style: colourOf(player), "aria-hidden": "true" }, `${player}`);
}

/**
 * The table.
 *
 * Args:
 *   scene: The scene.
 *   style: The game's style.
 *   options: `agents`, labels by player; `isPerson`, whether the observer's seat is the viewer's; `pointing` and `onpoint(key, count)`, if the viewer
 *     decides something.
 */
export function drawTable(scene, style, options) {
  const [own, ...others] = scene.seats;
  const draw = (seat) => drawSeat(seat, style, options);
  // Clockwise from the observer, who sits below: up the left side, along the top, down the right side.
  const high = others.length < 2 ? 0 : others.length < 5 ? 1 : 2;
  const [left, top, right] = [others.slice(0, high), others.slice(high, others.length - high), high ? others.slice(-high) : []];
  const table = h("div", { class: "table", style: { "--felt": style.table } },
    left.length ? h("div", { class: "left" }, left.map(draw)) : null,
    top.length ? h("div", { class: "top-side" }, top.map(draw)) : null,
    right.length ? h("div", { class: "right" }, right.map(draw)) : null,
    h("div", { class: "middle" },
      scene.standing.length ? drawStanding(scene) : null,
      h("div", { class: "zones" }, scene.zones.map((zone) => drawZone(zone, `-/${zone.name}`, "nobody's", style, options)))),
    drawSeat(own, style, options, true),
  );
  return table;
}

function drawSeat(seat, style, options, isOwn = false) {
  const label = options.agents?.[seat.player];
  const owner = seat.label === "you" ? "your" : `${seat.label}'s`;
  const note = seat.note ? h("p", { class: "note" }, seat.note) : null;
  return h("section", {
    class: `seat${isOwn ? " own" : ""}${seat.to_move ? " to-move" : ""}`,
    "aria-label": `${capitalized(seat.label)}${seat.to_move ? ", to move" : ""}`,
    data: { player: seat.player },
    style: colourOf(seat.player),
  },
    h("header", {},
      playerDot(seat.player),
      h("h2", {}, nameOf(seat, options), label ? h("small", {}, label) : null),
      isOwn ? note : null,
      seat.mark ? h("span", { class: "pill mark", data: { tip: seat.label, marks: seat.mark } }, seat.mark) : null,
      h("ul", { class: "counters" }, seat.counters.map(([name, value]) => drawCounter(name, value, style)))),
    h("div", { class: "zones" }, seat.zones.map((zone) =>
      drawZone(zone, `${seat.player}/${zone.name}`, owner, style, { ...options, isFanned: isOwn, isSmall: !isOwn }))),
    isOwn ? null : note,
  );
}

/** The seat's occupant; a person at no seat learns by number whose view of the table it is. */
function nameOf(seat, { isPerson }) {
  return seat.label === "you" && !isPerson ? `You are player ${seat.player}` : capitalized(seat.label);
}

function drawCounter(name, value, style) {
  if (value === "-") return null;
  const symbol = symbolOf(style, name);
  const isPlain = `${value}`.length > SHORT;
  return h("li", { class: "pill", data: { tip: `${name}: ${value}`, counter: name } },
    symbol ? h("span", { class: "symbol", "aria-hidden": "true" }, symbol) : null,
    h("span", { class: symbol || isPlain ? "unseen" : "name" }, `${name} `),
    `${value}`);
}

/** A zone, with its cards as buttons where the viewer can point at them. */
function drawZone(zone, key, owner, style, options) {
  const { pointing } = options;
  const size = zone.cards.reduce((sum, entry) => sum + entry.count, 0);
  const isList = zone.layout === "pile" && zone.cards.length > 3;
  const canPoint = pointing && (pointing.canAdd(key) || pointing.count(key) > 0);
  const name = capitalized(zone.name);
  const heading = h("h3", {}, zone.layout === "slots" ? null : name, zone.note ? h("small", {}, zone.note) : null);
  const cards = zone.cards.flatMap((entry, place) => drawCards(entry, place, zone, key, owner, style, { ...options, isList }));
  const box = h("div", {
    class: `zone as-${zone.layout}${zone.highlight ? " highlight" : ""}${isList ? " list" : ""}${size ? "" : " empty"}`,
    data: { zone: key },
  }, heading, h("div", { class: "cards" }, cards.length ? cards : h("span", { class: "nothing" }, "empty")));
  if (canPoint && !cards.some((entry) => entry.querySelector?.("[data-key]") || entry.dataset.key)) {
    makeButton(box, key, `${name}, ${owner}`, pointing.count(key) > 0, () => options.onpoint(key, pointing.count(key) ? 0 : 1));
  } else if (canPoint) {
    // A zone whose cards can be pointed at as well has a handle of its own.
    const handle = h("button", {
      type: "button", class: "handle", data: { key }, "aria-pressed": `${pointing.count(key) > 0}`,
      onclick: () => options.onpoint(key, pointing.count(key) ? 0 : 1),
    }, name);
    heading.firstChild ? heading.firstChild.replaceWith(handle) : heading.prepend(handle);
    box.dataset.drop = key;
  }
  return box;
}

/** The cards of one entry of a zone: side by side, or one stack with their number. */
function drawCards(entry, place, zone, zoneKey, owner, style, options) {
  const { pointing } = options;
  const isSlot = zone.layout === "slots";
  const ownKey = isSlot ? `${zoneKey}/${place}` : `${zoneKey}/${entry.name}`;
  const canPoint = (key) => pointing && (pointing.canAdd(key) || pointing.count(key) > 0);
  const key = canPoint(ownKey) ? ownKey : null;
  const isSpread = options.isFanned ? zone.layout === "row" : !options.isSmall && zone.layout !== "pile";
  const spreads = entry.name && entry.count <= FANNED && (isSpread || key !== null);
  const words = entry.name
    ? (entry.count > 1 && !spreads ? `${entry.count} ${entry.plural || `${entry.name}s`}` : entry.name)
    : entry.count > 1 ? `${entry.count} face-down cards` : "face-down card";
  const label = isSlot ? `${zone.name} ${place}: ${words}` : words;
  const one = (n) => {
    const box = h("span", {
      class: `place${entry.highlight ? " highlight" : ""}${!spreads && entry.count > 1 ? " stack" : ""}`,
      role: "img", "aria-label": `${label}${entry.marks ? `, marked ${entry.marks}` : ""}`,
      data: { card: entry.name, at: ownKey, tip: label, marks: entry.marks },
    },
      card(style, entry.name, entry.marks),
      !spreads && entry.count > 1 ? h("span", { class: "count", "aria-hidden": "true" }, `×${entry.count}`) : null,
      isSlot ? h("span", { class: "slot", "aria-hidden": "true" }, `${place}`) : null);
    const isChosen = key !== null && n < pointing.count(key);
    if (isChosen || (key && pointing.canAdd(key))) {
      makeButton(box, key, `${label}, ${owner} ${zone.name}`, isChosen, () =>
        options.onpoint(key, pointing.count(key) + (isChosen ? -1 : 1)), isChosen ? options.onplay : null);
    }
    return box;
  };
  if (!spreads) return [one(0)];
  const copies = Array.from({ length: entry.count }, (_, n) => one(n));
  return entry.count > 1 ? [h("span", { class: "kind" }, copies)] : copies;
}

/** `onplay` is what Enter does on something that has been chosen. */
function makeButton(element, key, label, isPressed, onpoint, onplay = null) {
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "0");
  element.setAttribute("aria-label", label);
  element.setAttribute("aria-pressed", `${isPressed}`);
  element.dataset.key = key;
  element.classList.add("can");
  element.addEventListener("click", onpoint);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (event.key === "Enter" && onplay?.()) return;
    onpoint();
  });
}

function drawStanding(scene) {
  return h("section", { class: "standing", "aria-label": "Standing" },
    h("h2", {}, scene.standing_title),
    h("ol", {}, scene.standing.map((place) =>
      h("li", { class: place.place === 1 ? "first" : null },
        h("b", {}, `${place.place}. `), h("i", {}, capitalized(place.label)), h("span", {}, place.result)))));
}

/** What is known besides the table and the `results` that stand elsewhere, and the table in words. */
export function drawKnown(panel, { scene, words, legend }, style, results) {
  const isOpen = panel.querySelector("details.words")?.open ?? false;
  patch(panel, [
    h("h2", {}, "What is known"),
    ...scene.notes.map((note) => h("p", { class: "note" }, note)),
    drawLegend(legend),
    ...drawGrids(scene.grids.filter((grid) => !results.includes(grid)), style),
    h("details", { class: "words", open: isOpen }, h("summary", {}, "The table in words"), h("pre", { tabindex: "0" }, words)),
  ].filter(Boolean));
}

/** What is known or was counted, in numbers. */
function drawGrids(grids, style) {
  return grids.map((grid) =>
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": grid.title || "Numbers of cards" },
      h("table", { class: "grid" },
        grid.title ? h("caption", {}, capitalized(grid.title)) : null,
        h("thead", {}, h("tr", {}, grid.head.map((name, k) => (name ? h("th", { scope: "col", class: k >= grid.head.length - grid.text_columns ? "words" : null }, drawHead(name, style)) : h("td"))))),
        h("tbody", {}, grid.rows.map(([first, ...cells]) =>
          h("tr", {}, h("th", { scope: "row" }, `${first}`.trim()),
            cells.map((cell, k) => h("td", { class: k >= cells.length - grid.text_columns ? "words" : null }, cell === 0 ? "·" : `${cell}`))))))));
}

/** The head of a column; where there is little room a card is its symbol. */
function drawHead(name, style) {
  const symbol = symbolOf(style, name);
  return symbol ? [h("span", { class: "symbol short", "aria-hidden": "true", title: name }, symbol), h("span", { class: "long" }, name)] : name;
}

/** What the signs mean. */
function drawLegend(signs) {
  return signs.length ? h("dl", { class: "legend" }, signs.map(([sign, meaning]) => h("div", {}, h("dt", {}, sign), h("dd", {}, meaning)))) : null;
}
