/** The bar under the table: what is to be decided, and buttons for the actions. */

import { capitalized, h } from "./dom.js";

const FEW = 8; // actions that are all shown as buttons

/**
 * What the person can do now.
 *
 * Args:
 *   pointing: What has been pointed at.
 *   onact(action), onclear(): What the buttons do.
 */
export function drawChoices(pointing, { onact, onclear }) {
  const { meant } = pointing;
  const total = pointing.actions.length;
  const button = ({ action, words }, isMain) =>
    h("button", { type: "button", class: isMain ? "main" : null, data: { action, key: `action-${action}`, tip: words }, onclick: () => onact(action) }, capitalized(words));
  const isPointed = pointing.chosen.size > 0;
  if (total <= FEW && !isPointed) return h("div", { class: "choices" }, meant.map((entry) => button(entry, total === 1)));
  // What nothing on the table stands for, such as passing, is always there.
  const ready = pointing.settled;
  const isMany = isPointed && meant.length > FEW;
  const shown = isMany ? meant.filter((entry) => entry === ready) : isPointed ? meant : meant.filter(({ needs }) => !needs.size).slice(0, FEW);
  return h("div", { class: "choices" },
    shown.map((entry) => button(entry, entry === ready)),
    isMany ? h("span", { class: "hint" }, `${meant.length - shown.length} ${ready ? "more " : ""}actions fit: point at more cards.`) : null,
    isPointed ? h("button", { type: "button", class: "quiet", data: { key: "clear" }, onclick: onclear }, "Clear") : null,
    isPointed ? null : h("span", { class: "hint" }, "Point at cards and piles, or choose from the list."),
    total > FEW ? drawList(pointing, button) : null,
  );
}

/** The buttons of the bar that play an action: not those in the list of all actions, which is closed. */
export function choicesIn(prompt) {
  return prompt.querySelectorAll(":scope > .choices > button[data-action]");
}

/** All actions by groups. */
function drawList(pointing, button) {
  const byGroup = new Map();
  for (const entry of pointing.actions) {
    if (!byGroup.has(entry.group)) byGroup.set(entry.group, []);
    byGroup.get(entry.group).push(entry);
  }
  const groups = [...byGroup].map(([group, entries]) =>
    entries.length === 1
      ? button(entries[0])
      : h("details", {}, h("summary", {}, `${capitalized(group)} (${entries.length})`),
        h("div", { class: "choices" }, entries.map((entry) => button(entry)))));
  return h("details", { class: "all" }, h("summary", {}, `All ${pointing.actions.length} actions`), h("div", { class: "kinds" }, groups));
}
