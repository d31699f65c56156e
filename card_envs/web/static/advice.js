/** What an agent thinks of a decision, as bars; and the decisions at which it disagrees. */

import { capitalized, h, signed } from "./dom.js";
import { playerDot } from "./scene.js";

const percent = (share) => (share < 0.005 ? (share > 0 ? "<1%" : "0%") : `${Math.round(100 * share)}%`);

/** An advice; `played` is the action that was played, if that is known, `all` every agent's advice on this decision. */
export function drawAdvice(advice, played = null, all = []) {
  const hasShares = advice.opinions.some((opinion) => opinion.probability !== null);
  const hasValues = advice.opinions.some((opinion) => opinion.value !== null);
  // Of what is hardly ever played the first three lines are enough.
  const shown = advice.opinions.filter(({ action, value, probability }, k) => k < 3 || value !== null || probability >= 0.005 || action === played);
  const others = advice.others + advice.opinions.length - shown.length;
  const heads = ["action", hasShares ? "probability" : null, hasValues ? "value" : null].filter(Boolean);
  return h("figure", { class: "advice" },
    h("figcaption", {}, h("b", {}, advice.agent), " would ", h("em", {}, nameOf(advice, advice.choice)), drawReason(advice), "."),
    all.filter(({ agent }) => agent !== advice.agent).map((other) => h("p", { class: "note" }, other.choice === advice.choice ? `${other.agent} agrees.` : `${other.agent} disagrees: it would ${nameOf(other, other.choice)}.`)),
    h("table", {},
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, shown.map((opinion) => drawOpinion(opinion, advice, played, hasShares, hasValues)))),
    others ? h("p", { class: "note" }, `${others} other legal ${others === 1 ? "action" : "actions"}${hasShares ? ", less likely" : hasValues ? ", not tried" : ""}`) : null,
    hasValues ? h("p", { class: "note" }, "Value: the mean reward of the search's rollouts.") : null,
  );
}

/** Why: how far the choice is ahead of the next action. */
function drawReason({ choice, opinions }) {
  const best = opinions.find(({ action }) => action === choice);
  const next = opinions.find(({ action, value, probability }) => action !== choice && (value ?? probability) !== null);
  if (!best || !next) return null;
  if (best.value !== null && next.value !== null) {
    return `, worth ${signed(best.value, 2)} after ${best.count} visits; then ${next.words}, ${signed(next.value, 2)} after ${next.count}`;
  }
  return best.probability === null ? null : `, with a probability of ${percent(best.probability)}`;
}

/** Show on cards, piles and buttons what an agent thinks of the actions that point at them. */
export function markHints(root, { choice, opinions }) {
  for (const element of root.querySelectorAll("[data-hint]")) {
    delete element.dataset.hint;
    element.classList.remove("hinted");
  }
  const marks = new Map();
  for (const { action, needs, probability, value } of opinions) {
    if (probability === null && value === null) continue;
    for (const key of [`action-${action}`, ...Object.keys(needs)]) {
      const mark = marks.get(key) ?? { share: 0, value: -Infinity, isChosen: false };
      mark.share += probability ?? 0;
      mark.value = Math.max(mark.value, value ?? -Infinity);
      mark.isChosen ||= action === choice;
      marks.set(key, mark);
    }
  }
  for (const [key, { share, value, isChosen }] of marks) {
    const name = CSS.escape(key);
    const zone = `[data-zone="${name}"]`; // its name, if it has one
    const selectors = [`[data-at="${name}"]`, `${zone} > h3:not(:empty)`, zone, `.decide [data-key="${name}"]`];
    const element = selectors.map((selector) => root.querySelector(selector)).find(Boolean);
    if (!element || (value === -Infinity && share < 0.005 && !isChosen)) continue;
    element.dataset.hint = value > -Infinity ? signed(value, 2) : percent(Math.min(share, 1));
    element.classList.toggle("hinted", isChosen);
  }
}

const nameOf = (advice, action) => advice.opinions.find((opinion) => opinion.action === action)?.words ?? `action ${action}`;

function drawOpinion(opinion, advice, played, hasShares, hasValues) {
  const isPlayed = opinion.action === played;
  return h("tr", { class: isPlayed ? "played" : null },
    h("th", { scope: "row" }, capitalized(opinion.words),
      opinion.action === advice.choice ? h("span", { class: "tag choice" }, advice.agent) : null,
      isPlayed ? h("span", { class: "tag" }, "played") : null),
    hasShares ? h("td", {}, bar("share", 0, opinion.probability ?? 0), h("span", { class: "number" }, percent(opinion.probability ?? 0))) : null,
    hasValues ? drawValue(opinion) : null);
}

function drawValue({ value, count }) {
  if (value === null) return h("td", { class: "untried" }, "not tried");
  const [low, high] = [Math.min(value, 0), Math.max(value, 0)].map((end) => (end + 1) / 2);
  return h("td", {}, bar(value < 0 ? "value loss" : "value gain", low, high), h("span", { class: "number" }, signed(value, 2)), h("small", {}, ` ${count} visits`));
}

function bar(kind, low, high) {
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true" },
    h("i", { style: { "--low": `${Math.max(0, 100 * low)}%`, "--high": `${Math.min(100, 100 * high)}%` } }));
}

/** How far a search for disputes has come, or what it has found; `onjump(step)`. */
export function drawDisputes(found, onjump) {
  if (found.done < found.total) {
    return h("div", { class: "disputes" },
      h("label", {}, `${found.agent} looks at decision ${found.done + 1} of ${found.total} `,
        h("progress", { max: found.total, value: found.done })));
  }
  if (!found.disputes.length) return h("p", { class: "note" }, `${found.agent} would have played the same at every decision.`);
  return h("div", { class: "disputes" },
    h("p", { class: "note" }, `${found.agent} disagrees with ${found.disputes.length} of ${found.total} decisions${found.disputes.some(({ loss }) => loss !== null) ? "; the greatest loss first" : ""}.`),
    h("ol", {}, found.disputes.map((dispute) =>
      h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => onjump(dispute.step) },
        playerDot(dispute.player),
        h("span", {}, h("span", { class: "unseen" }, `Decision ${dispute.step + 1}, player ${dispute.player}: `), h("s", {}, dispute.played), h("span", { class: "unseen" }, ", rather "), " ", h("b", {}, dispute.preferred)),
        dispute.loss === null ? null : h("span", { class: "number" }, signed(-dispute.loss, 2)))))));
}
