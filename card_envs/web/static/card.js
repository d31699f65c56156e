/** Cards as SVG, from a game's style. */

import { s } from "./dom.js";

export const WIDTH = 72;
export const HEIGHT = 100;

/** The face of a card; one without a face of its own shows its name. */
export function faceOf(style, name) {
  return style.faces[name] ?? style.plain;
}

/** One card; no name: it lies face down. */
export function card(style, name, marks = "") {
  const drawing = s("svg", { class: "card", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  drawing.append(...(name ? front(faceOf(style, name), name) : back(style.back)));
  if (marks) drawing.append(...tag(marks));
  return drawing;
}

function outline(fill, edge) {
  return s("rect", { class: "edge", x: 1.5, y: 1.5, width: WIDTH - 3, height: HEIGHT - 3, rx: 8, fill, stroke: edge });
}

function front(face, name) {
  const label = face.label ?? name;
  const parts = [outline(face.ground, face.edge)];
  const text = (content, x, y, size, properties = {}) =>
    s("text", { x, y, "font-size": size, "text-anchor": "middle", fill: face.ink, ...properties }, content);
  if (face.symbol) {
    const isWord = /^[\x20-\x7e]+$/.test(face.symbol);
    const size = isWord ? (face.symbol.length > 1 ? 40 : 52) : 38;
    const bottom = label ? (rowsOf(label).length > 1 ? 56 : 61) : 50 + 0.36 * size;
    const kind = isWord ? "letters" : "symbol";
    parts.push(text(face.symbol, WIDTH / 2, bottom, size, { class: `figure ${kind}${label ? " over-label" : ""}` }));
    parts.push(text(face.symbol, 13, 19, isWord ? 16 : 13, { class: `corner ${kind}` }));
  }
  if (face.badge) parts.push(text(face.badge, WIDTH - 14, 21, 17, { class: "symbol badge" }));
  if (label) parts.push(...lettering(label, face.symbol ? 88 : 56, !face.symbol));
  return parts;
}

function rowsOf(label) {
  const words = label.split(" ");
  return words.length > 1 && label.length > 9 ? [words.slice(0, -1).join(" "), words.at(-1)] : [label];
}

/** A label in one line or two. */
function lettering(label, bottom, isLarge) {
  const rows = rowsOf(label);
  const longest = Math.max(...rows.map((row) => row.length));
  const size = Math.min(isLarge ? 22 : 13, (WIDTH - 10) / (0.64 * longest));
  return rows.map((row, k) =>
    s("text", {
      class: "label", x: WIDTH / 2, y: bottom - (rows.length - 1 - k) * (size + 1) + (rows.length > 1 ? 4 : 0),
      "font-size": size, "text-anchor": "middle",
    }, row));
}

function back({ ground, edge, ink }) {
  const lines = [];
  for (let k = -60; k < 100; k += 12) {
    lines.push(`M${k} 8 l84 84`, `M${k + 60} 8 l-84 84`);
  }
  const inner = { x: 8, y: 8, width: WIDTH - 16, height: HEIGHT - 16, rx: 4 };
  return [
    outline(ground, edge),
    s("svg", { x: inner.x, y: inner.y, width: inner.width, height: inner.height, viewBox: `8 8 ${inner.width} ${inner.height}` },
      s("path", { d: lines.join(""), stroke: ink, "stroke-width": 1.6, opacity: 0.55, fill: "none" })),
    s("rect", { ...inner, fill: "none", stroke: ink, "stroke-width": 1.5 }),
  ];
}

/** What else is known of a card, in its corner. */
function tag(marks) {
  const width = 9 + 9 * marks.length;
  return [
    s("rect", { class: "tag", x: WIDTH - width - 4, y: HEIGHT - 23, width, height: 18, rx: 5 }),
    s("text", { class: "marks", x: WIDTH - 4 - width / 2, y: HEIGHT - 9, "font-size": 15, "text-anchor": "middle" }, marks),
  ];
}

/** A symbol of the style, for counters. */
export function symbolOf(style, name) {
  return style.faces[name]?.symbol ?? "";
}
