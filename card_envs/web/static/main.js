/** Which page is shown: the part of the address after # says it. */

import { ask, fromFragment, goToTable } from "./api.js";
import { alertUser, h } from "./dom.js";
import { RunsPage } from "./runs_page.js";
import { StartPage } from "./start_page.js";
import { TablePage } from "./table_page.js";

const page = document.getElementById("page");
let games = null;
let shown = null;

// The part after # names the page that is shown, which the link must not change.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  page.focus();
});

async function route() {
  shown?.leave?.();
  shown = null;
  alertUser("");
  document.title = "card_envs";
  // Such as table=ID, replay=DATA&at=12&eyes=all
  const [first, ...rest] = location.hash.slice(1).split("&");
  const [kind, value] = first.split(/=(.*)/s);
  const wanted = new URLSearchParams(rest.join("&"));
  for (const link of document.querySelectorAll("#pages a")) {
    const isHere = new URL(link.href).hash.slice(1) === kind;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    if (kind === "table") shown = new TablePage(page, games, value, momentOf(wanted));
    else if (kind === "replay") await openReplay(fromFragment(value), rest);
    else if (kind === "runs") shown = new RunsPage(page, games);
    else shown = new StartPage(page, games, kind === "watch", openReplay, wanted);
  } catch (error) {
    alertUser(error.message);
    shown = new StartPage(page, games, false, openReplay);
  }
}

/** Look at a replay, at the moment that its link names; the link stays in the history. */
async function openReplay(replay, moment = []) {
  await goToTable(ask("/api/replays", { replay }), moment);
}

/** A moment of a game: the decision, and whose eyes. */
function momentOf(wanted) {
  const moment = {};
  if (/^\d+$/.test(wanted.get("at"))) moment.at = Number(wanted.get("at"));
  if (/^(all|mover|\d+)$/.test(wanted.get("eyes"))) moment.eyes = /^\d+$/.test(wanted.get("eyes")) ? Number(wanted.get("eyes")) : wanted.get("eyes");
  return moment;
}

games = await ask("/api/games");
games.player_colours.forEach(({ colour, ink }, player) => {
  document.documentElement.style.setProperty(`--player-${player}`, colour);
  document.documentElement.style.setProperty(`--on-player-${player}`, ink);
});
document.getElementById("pages").replaceChildren(
  h("a", { href: "#" }, "Play"),
  h("a", { href: "#watch" }, "Watch and replay"),
  ...(games.has_runs ? [h("a", { href: "#runs" }, "Runs")] : []),
);
addEventListener("hashchange", route);
await route();
