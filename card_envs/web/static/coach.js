/** Helps to learn a game: the rule that matters, the words of tips, the whole guide. */

import { h, showDialog } from "./dom.js";
import { beginningOf, guideOf, inline } from "./guide.js";

const MOST = 2; // rules at once

/** The rules for the present decision, from the game's guide. */
const rulesNow = (guide, { pointing, frame }) => guide.rulesFor(frame.scene.prompt, ...new Set(pointing.actions.map(({ group }) => group)));

/** What is allowed now, in short. */
export function drawCoach({ pointing, guide, frame }) {
  const rules = rulesNow(guide, { pointing, frame }).slice(0, MOST);
  return rules.length ? h("section", { class: "coach", "aria-label": "Coach" }, rules.map((rule, k) => h("p", {}, k ? null : h("b", {}, "Coach: "), inline(beginningOf(rule))))) : null;
}

/** The words of a tip: what something is, and what the guide says of it. */
export function explain(page, target) {
  const { guide, frame } = page;
  const { tip, card, marks, counter, action } = target.dataset;
  const meanings = frame.scene.legend.filter(([sign]) => marks?.includes(sign)).map(([sign, meaning]) => `${sign} ${meaning}`);
  const isHelped = counter || (action && page.isOn("coach"));
  const [found] = (isHelped && guide?.rulesFor(counter ?? tip)) || [];
  const rule = card ? guide?.ofCard(card) : found && beginningOf(found);
  const words = action && rule ? [`You may ${tip}, since:`, rule] : [tip, ...meanings, rule];
  return words.filter(Boolean).join("\n").replace(/[*`]/g, "");
}

/** The guide as a dialog, what matters now first. */
export async function showGuide({ game, pointing, frame }) {
  const guide = await guideOf(game);
  const now = pointing ? rulesNow(guide, { pointing, frame }) : [];
  showDialog(`Rules of ${game.title}`,
    now.length ? h("section", { class: "now", "aria-label": "What matters now" }, h("h3", {}, "What matters now"), now.map((rule) => h("p", {}, inline(rule.text)))) : null,
    h("div", { class: "guide" }, guide.draw()));
}
