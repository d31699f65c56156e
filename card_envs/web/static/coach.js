/** Helps to learn a game: the rule that matters, the words of tips, the whole guide. */

import { h, showDialog } from "./dom.js";
import { guideOf, inline } from "./guide.js";

/** What matters for the present decision, from the game's guide. */
export function drawCoach({ pointing, guide, frame }) {
  const groups = [...new Set(pointing.actions.map(({ group }) => group))].join(" ");
  const [rule] = guide?.about(`${frame.scene.prompt} ${groups}`) ?? [];
  return rule ? h("p", { class: "coach" }, h("b", {}, "Coach: "), inline(rule)) : null;
}

/** The words of a tip: what something is, and what the guide says of it. */
export function explain(page, target) {
  const { guide, frame } = page;
  const { tip, card, marks, counter, action } = target.dataset;
  const meanings = frame.scene.legend.filter(([sign]) => marks?.includes(sign)).map(([sign, meaning]) => `${sign} ${meaning}`);
  let rule = "";
  if (card) rule = guide?.ofCard(card);
  else if (counter) [rule] = guide?.about(counter, 1, 0) ?? [];
  else if (action) {
    [rule] = (page.isOn("coach") && guide?.about(`${tip} ${tip} ${frame.scene.prompt}`)) || [];
    if (rule) return `You may ${tip}, since: ${rule}`.replace(/[*`]/g, "");
  }
  return [tip, ...meanings, rule].filter(Boolean).join("\n").replace(/[*`]/g, "");
}

/** The guide as a dialog, what matters now first. */
export async function showGuide({ game, pointing, frame }) {
  const guide = await guideOf(game);
  const now = pointing ? guide.about(`${frame.scene.prompt} ${pointing.actions.map(({ group }) => group).join(" ")}`, 3) : [];
  showDialog(`Rules of ${game.title}`,
    now.length ? h("section", { class: "now", "aria-label": "What matters now" }, h("h3", {}, "What matters now"), now.map((rule) => h("p", {}, inline(rule)))) : null,
    h("div", { class: "guide" }, guide.draw()));
}
