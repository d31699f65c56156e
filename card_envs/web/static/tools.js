/** What stands beside the table: settings, helps, and what can be done with the game. */

import { showGuide } from "./coach.js";
import { toFragment } from "./api.js";
import { alertUser, h } from "./dom.js";
import { showKeys } from "./keys.js";
import { set, setting } from "./settings.js";

// Milliseconds for which a move of another player stays, by pace.
export const PACES = { slow: 1800, normal: 900, fast: 300, instant: 0 };

const SWITCHES = { coach: "Coach: the rules that matter now", forced: "Play forced moves by themselves", pause: "Pause at the end of a round", keys: "Keys of one character, such as h and 1" };
const OWN = ["coach", "forced"]; // for those who play

export function drawBadges({ about, live }) {
  const badge = (words, title) => h("span", { class: "badge", title }, words);
  return h("p", { class: "badges" },
    about.kind === "replay" ? badge("replay", "A finished or open game") : null,
    about.kind === "watch" ? badge("watching", "Agents play") : null,
    about.is_open && about.kind !== "replay" ? badge("open table", "All cards may be seen, and the position may be sent") : null,
    !about.is_open ? badge(live.is_over ? "game over: all is shown" : `${about.kind === "play" ? "your" : `player ${about.seat}'s`} view`, "What this seat cannot know stays on the server until the game is over") : null,
    about.practice ? badge("practice", "Undo and hints") : null);
}

/** The tools of a table's page. */
export function drawTools(page) {
  const { about, live } = page;
  const button = (words, onclick, properties = {}) => h("button", { type: "button", onclick, ...properties }, words);
  const isPlay = about.kind === "play";
  const advisers = h("select", { "aria-label": "Adviser", onchange: (event) => page.chooseAdviser(event.target.value) },
    about.advisers.map((label) => h("option", { value: label, selected: label === page.adviser }, label)));
  const paces = h("select", { "aria-label": "Pace", onchange: (event) => { page.pace = event.target.value; set("pace", page.pace); } },
    Object.keys(PACES).map((pace) => h("option", { value: pace, selected: pace === page.pace }, pace)));
  const canAdvise = live.is_revealed || (isPlay && about.practice);
  return h("section", { class: "panel toolbar", "aria-label": "Tools" },
    h("div", { class: "row" },
      button("Rules", () => showGuide(page), { data: { key: "rules" } }),
      isPlay && about.practice && !live.is_over ? button("Hint", () => page.hint(), { data: { key: "hint" } }) : null,
      isPlay && about.practice ? button("Undo", () => page.undo(), { data: { key: "undo" }, title: "Back to your last decision; what you could not know there is dealt again" }) : null,
      isPlay && !live.is_over ? button("Look back", () => page.lookAt(live.steps - 1)) : null),
    h("div", { class: "row" },
      isPlay ? h("label", {}, "Pace ", paces) : null,
      canAdvise ? h("label", {}, "Adviser ", advisers) : null),
    live.is_revealed ? h("div", { class: "row" }, button("Most disputed decisions", () => page.findDisputes())) : null,
    h("details", { class: "switches" }, h("summary", {}, "Settings"),
      Object.entries(SWITCHES).filter(([name]) => isPlay || !OWN.includes(name)).map(([name, words]) => drawSwitch(page, name, words))),
    h("div", { class: "row" },
      about.kind !== "replay" ? button("New game", () => page.again(false)) : null,
      about.kind !== "replay" && live.is_revealed ? button("Same deal again", () => page.again(true)) : null,
      live.is_revealed ? h("a", { class: "button", href: `/api/tables/${page.name}/replay`, download: "" }, "Download replay") : null,
      live.is_revealed ? button("Copy link", () => copyLink(page)) : null,
      button("Keys", () => showKeys())));
}

/** Copy a link that holds the game, and the moment that is shown if it is not the latest. */
async function copyLink(page) {
  const { frame, live, eyes } = page;
  const replay = await fetch(`/api/tables/${page.name}/replay`).then((answer) => (answer.ok ? answer.text() : null), () => null);
  if (!replay) return alertUser("The link could not be made: the replay did not come.");
  const moment = frame.step === live.steps ? "" : `&at=${frame.step}&eyes=${eyes}`;
  const link = new URL(`#replay=${toFragment(replay)}${moment}`, location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    alertUser(`The link has been copied: it holds the game, its options, its seed and all actions${moment ? ", and this moment" : ""}.`);
  } catch {
    page.drawAdvicePanel(h("label", {}, "The link: ", h("input", { class: "link", readonly: true, value: link })));
  }
}

function drawSwitch(page, name, words) {
  const box = h("input", { type: "checkbox", id: `switch-${name}`, onchange: () => page.change(name, box.checked) });
  box.checked = page.isOn(name);
  return h("label", { class: "check" }, box, words);
}

/** Whether a switch is on: the coach is at practice tables, unless the person has decided. */
export function isOn(name, about) {
  return setting(name) ?? (about.practice && about.kind === "play");
}
