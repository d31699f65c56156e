/** Which page is shown: the part of the address after # says it. */

import { ask, fromFragment } from "./api.js";
import { alertUser, h } from "./dom.js";
import { RunsPage } from "./runs_page.js";
import { StartPage } from "./start_page.js";
import { TablePage } from "./table_page.js";

const page = document.getElementById("page");
let games = null;
let shown = null;

async function route() {
  shown?.leave?.();
  shown = null;
  alertUser("");
  document.title = "card_envs";
  const [kind, value] = location.hash.slice(1).split(/=(.*)/s);
  for (const link of document.querySelectorAll("#pages a")) {
    const isHere = new URL(link.href).hash.slice(1) === kind;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    if (kind === "table") shown = new TablePage(page, games, value);
    else if (kind === "replay") await openReplay(fromFragment(value));
    else if (kind === "runs") shown = new RunsPage(page);
    else shown = new StartPage(page, games, kind === "watch", openReplay);
  } catch (error) {
    alertUser(error.message);
    shown = new StartPage(page, games, false, openReplay);
  }
}

/** Look at a replay; its link stays in the history. */
async function openReplay(replay) {
  const { table } = await ask("/api/replays", { replay });
  location.hash = `table=${table}`;
}

games = await ask("/api/games");
document.getElementById("pages").replaceChildren(
  h("a", { href: "#" }, "Play"),
  h("a", { href: "#watch" }, "Watch and replay"),
  ...(games.has_runs ? [h("a", { href: "#runs" }, "Runs")] : []),
);
addEventListener("hashchange", route);
await route();
