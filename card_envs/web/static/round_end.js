/** The end of a round: how it was counted, and who is ahead. */

import { card } from "./card.js";
import { capitalized, h } from "./dom.js";

/** The results that a scene has and the one before had not: a round has ended between the two. */
export function newResults(before, after) {
  const known = new Set(before?.grids.map(({ title }) => title));
  return before ? after.grids.filter(({ title }) => title && !known.has(title)) : [];
}

/**
 * The results of a round.
 *
 * Args:
 *   results: Tables of the scene.
 *   frame: The table after the round.
 *   style: The game's style.
 *   oncontinue: What the button does; null: there is none.
 */
export function drawRoundEnd(results, frame, style, oncontinue) {
  const { scene, leaders } = frame;
  const winners = scene.standing.filter(({ place }) => place === 1).map(({ label }) => label);
  const ahead = winners.length ? winners : scene.seats.filter(({ player }) => leaders.includes(player)).map(({ label }) => label);
  const verb = `${winners.length ? "win" : "lead"}${ahead.length > 1 || ahead[0] === "you" ? "" : "s"}`;
  const slots = new Set(scene.seats.flatMap(({ zones }) => zones).filter(({ layout }) => layout === "slots").flatMap(({ name, cards }) => cards.map((_, k) => `${name} ${k}`)));
  const isCard = (name) => name in style.faces;
  return h("div", { class: "round-end" },
    results.map((grid) => [h("h3", {}, capitalized(grid.title)), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Results: ${grid.title}` },
      h("table", { class: "grid" },
        h("thead", {}, h("tr", {}, grid.head.map((name) => (name ? h("th", { scope: "col" }, isCard(name) ? [card(style, name), h("span", { class: "unseen" }, name)] : name) : h("td"))))),
        h("tbody", {}, grid.rows.map(([first, ...cells]) => h("tr", {}, h("th", { scope: "row" }, `${first}`.trim()),
          cells.map((cell, k) => {
            const isSlot = slots.has(grid.head[k + 1]) && isCard(`${cell}`);
            return h("td", {}, isSlot ? [card(style, `${cell}`), h("span", { class: "unseen" }, `${cell}`)] : cell === 0 && isCard(grid.head[k + 1]) ? "·" : `${cell}`);
          }))))))]),
    ahead.length ? h("p", { class: "leader" }, `${capitalized(ahead.join(" and "))} ${verb}.`) : null,
    oncontinue ? h("button", { type: "button", class: "main", data: { key: "continue" }, onclick: oncontinue }, "Continue") : null);
}
