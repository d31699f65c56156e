/** Helps to learn a game: the rule that matters, the words of tips, the whole guide. */

import { h, showDialog } from "./dom.js";
import { beginningOf, guideOf, inline, plain } from "./guide.js";

const MOST = 2; // rules at once

/** The rules for the present decision, from the game's guide. */
const rulesNow = ({ guide, pointing, frame }) => guide.rulesFor(frame.scene.prompt, ...new Set(pointing.actions.map(({ group }) => group)));

/** What is allowed now, in short. */
export function drawCoach(page) {
  const rules = rulesNow(page).slice(0, MOST);
  return rules.length ? h("section", { class: "coach", "aria-label": "Coach" }, rules.map((rule, k) => h("p", {}, k ? null : h("b", {}, "Coach: "), inline(beginningOf(rule))))) : null;
}

/** The words of a tip: what something is, and what the guide says of it. */
export function explain(page, target) {
  const { guide, frame } = page;
  const { tip, card, marks, counter, action } = target.dataset;
  if (action) return plain(beginningOf(ruleBesides(page, tip) ?? { text: "" }));
  const meanings = frame.scene.legend.filter(([sign]) => marks?.includes(sign)).map(([sign, meaning]) => `${sign} ${meaning}`);
  const [found] = (counter && guide?.rulesFor(counter)) || [];
  const rule = card ? guide?.ofCard(card) : found && beginningOf(found);
  return plain([tip, ...meanings, rule].filter(Boolean).join("\n"));
}

/** The rule for an action that the coach, if it is there, has not said already. */
function ruleBesides(page, words) {
  if (!page.pointing || !page.isOn("coach")) return null;
  const said = rulesNow(page).slice(0, MOST);
  const [found] = page.guide.rulesFor(words);
  return said.includes(found) ? null : found;
}

/** The guide as a dialog, what matters now first. */
export async function showGuide({ game, pointing, frame }) {
  const guide = await guideOf(game);
  const now = pointing ? rulesNow({ guide, pointing, frame }) : [];
  showDialog(`Rules of ${game.title}`,
    now.length ? h("section", { class: "now", "aria-label": "What matters now" }, h("h3", {}, "What matters now"), now.map((rule) => h("p", {}, inline(rule.text)))) : null,
    guide.blocks.length ? h("div", { class: "guide" }, guide.draw()) : h("p", {}, "The rules did not come; try again later."));
}
