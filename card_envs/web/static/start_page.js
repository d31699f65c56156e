/** Where games are begun, and replays opened. */

import { ask, fromFragment, goToTable } from "./api.js";
import { card } from "./card.js";
import { alertUser, capitalized, h } from "./dom.js";
import { guideOf, inline } from "./guide.js";
import { showGuide } from "./coach.js";
import { playerDot } from "./scene.js";
import { lasting, ofThisTab } from "./storage.js";
import { remember, unfinished } from "./unfinished.js";

const SHOWN = 5; // cards of a game on its tile
const MOST_BYTES = 1 << 26; // of a recording that is read
const GAMES_FILE = "games.jsonl"; // in a dataset
const KINDS = {
  random: "makes any legal move",
  heuristic: "plays by rules of thumb",
  ppo: "a trained policy",
  search: "looks ahead in that many games for each decision; slower",
  run: "the policy of a training run",
};

export class StartPage {
  /** `wanted` may name a game and an agent, whom one then plays against. */
  constructor(page, games, isWatching, openReplay, wanted = new URLSearchParams()) {
    this.games = games;
    this.agent = wanted.get("agent");
    this.isWatching = isWatching;
    this.openReplay = openReplay;
    const kept = wanted.get("game") ?? ofThisTab.get("game");
    this.game = games.games.find(({ id }) => id === kept) ?? games.games[0];
    this.form = h("form", { class: "panel start", onsubmit: (event) => { event.preventDefault(); this.begin(); } });
    page.replaceChildren(h("div", { class: "startpage" },
      h("h1", {}, isWatching ? "Watch and replay" : "Play"),
      h("p", { class: "lead" }, isWatching
        ? "Let agents play each other and look on, or go through a game that was played."
        : "Sit down with heuristics, trained policies and searchers. You see what your seat may know, and nothing else."),
      isWatching ? null : this.drawUnfinished(),
      games.is_open ? h("p", { class: "notice" }, "Tables that are begun here are open: all cards may be seen, and positions be sent, in mid-game.") : null,
      this.form,
      isWatching ? this.drawReplay() : null));
    this.draw();
  }

  draw() {
    const { game } = this;
    const players = Array.from({ length: game.players.max - game.players.min + 1 }, (_, k) => game.players.min + k);
    this.count = Math.min(Math.max(this.count ?? game.players.default, game.players.min), game.players.max);
    this.seat = Math.min(this.seat ?? 0, this.count - 1);
    this.labels = this.agent && !game.agents.includes(this.agent) ? [...game.agents, this.agent] : game.agents;
    this.agents = Array.from({ length: this.count }, (_, k) => (this.labels.includes(this.agents?.[k]) ? this.agents[k] : this.agent ?? game.default_agent));
    const focused = document.activeElement?.id;
    const isFirst = !lasting.get(`played-${game.id}`);
    const controls = () => [...this.form.querySelectorAll("[data-option], .check input")];
    const before = new Map(this.drawn === game ? controls().map(({ id, value, checked }) => [id, { value, checked }]) : []);
    this.drawn = game;
    this.form.replaceChildren(...[
      h("fieldset", { class: "games" }, h("legend", {}, "Game"), this.games.games.map((entry) => this.drawTile(entry))),
      this.drawAbout(),
      h("div", { class: "row" },
        this.select("players", "Players", players.map((n) => [n, `${n}`]), this.count, (value) => { this.count = Number(value); this.draw(); }),
        this.select("seat", this.isWatching ? "Through the eyes of" : "Your seat", Array.from({ length: this.count }, (_, k) => [k, `player ${k}`]), this.seat, (value) => { this.seat = Number(value); this.draw(); })),
      h("fieldset", { class: "agents" }, h("legend", {}, this.isWatching ? "Who plays" : "Who sits at the other seats"), this.drawAgents()),
      this.drawOptions(),
      h("div", { class: "row checks" },
        this.isWatching ? null : this.check("practice", "Practice", ": hints, a coach and undo", isFirst),
        this.check("open_cards", "Open cards", ": all hands lie face up", false)),
      h("div", { class: "row" },
        h("button", { type: "submit", class: "main", id: "begin" }, this.isWatching ? "Watch" : "Play"),
        h("button", { type: "button", id: "surprise", onclick: () => this.surprise() }, "Surprise me")),
    ].filter(Boolean));
    for (const control of controls()) Object.assign(control, before.get(control.id) ?? {});
    if (focused) document.getElementById(focused)?.focus();
  }

  check(id, name, words, isOn) {
    const box = h("input", { type: "checkbox", id });
    box.checked = isOn;
    return h("label", { class: "check" }, box, h("span", {}, h("b", {}, name), words));
  }

  /** What the game is about, from its guide. */
  drawAbout() {
    const { game } = this;
    const about = h("p", { class: "about" });
    guideOf(game).then((guide) => {
      const first = guide.blocks.find(({ kind }) => kind === "p");
      if (first) about.replaceChildren(...inline(first.text), " ", h("button", { type: "button", class: "quiet", onclick: () => showGuide({ game }) }, "Rules"));
    });
    return about;
  }

  /** Games that can be gone on with. */
  drawUnfinished() {
    const entries = unfinished();
    if (!entries.length) return null;
    const section = h("section", { class: "panel unfinished" }, h("h2", {}, "Continue"), h("ul", {}, entries.map(({ table, title, players, steps }) => {
      const row = h("li", { class: "row" },
        h("a", { class: "button", href: `#table=${table}` }, title),
        h("small", {}, `${players} players, ${steps} decisions`),
        h("button", { type: "button", class: "quiet", "aria-label": `Forget ${title}`, onclick: () => { remember(table, null); row.remove(); if (!unfinished().length) section.remove(); } }, "×"));
      return row;
    })));
    return section;
  }

  /** Any game, table size and opponents. */
  surprise() {
    const any = (list) => list[Math.floor(Math.random() * list.length)];
    this.choose(any(this.games.games));
    const { min, max } = this.game.players;
    this.count = min + Math.floor(Math.random() * (max - min + 1));
    this.seat = Math.floor(Math.random() * this.count);
    this.agents = Array.from({ length: this.count }, () => any(this.game.agents));
    this.draw();
    this.begin();
  }

  /** What an agent is, and how many of its opponents it finished ahead of at a table of this size (a tie is a half). */
  strengthOf(label) {
    const found = (this.game.strength[label] ?? []).filter(({ num_players }) => num_players === this.count);
    const shares = found.map(({ opponents, rank }, k) => `${opponents} ${Math.round(50 * (rank + 1))}%${k ? "" : " of the time"}`);
    const measured = shares.length ? `beats ${shares.join(", ")}` : null;
    return [KINDS[label.replace(/^(ppo)_v\d+$|^(search|run):.*$/, "$1$2")], measured].filter(Boolean).join("; ");
  }

  drawTile(game) {
    const names = Object.entries(game.style.faces).filter(([, face]) => face.symbol).map(([name]) => name);
    const step = Math.max(1, Math.floor(names.length / SHOWN));
    const some = names.filter((_, k) => k % step === 0).slice(0, SHOWN);
    const input = h("input", { type: "radio", name: "game", id: `game-${game.id}`, value: game.id, onchange: () => this.choose(game) });
    input.checked = game === this.game;
    return h("label", { class: "tile", style: { "--felt": game.style.table } }, input,
      h("span", { class: "fan" }, (some.length ? some : ["", "", ""]).map((name) => card(game.style, name))),
      h("span", { class: "name" }, game.title),
      h("small", {}, `${game.players.min === game.players.max ? game.players.min : `${game.players.min}–${game.players.max}`} players`));
  }

  choose(game) {
    this.game = game;
    this.count = this.agents = null;
    ofThisTab.set("game", game.id);
    this.draw();
  }

  select(id, label, entries, chosen, onchange) {
    return h("label", { for: id }, `${label} `,
      h("select", { id, onchange: (event) => onchange(event.target.value) },
        entries.map(([value, words]) => h("option", { value, selected: `${value}` === `${chosen}` }, words))));
  }

  drawAgents() {
    return Array.from({ length: this.count }, (_, k) => {
      if (k === this.seat && !this.isWatching) return h("p", { class: "agent" }, playerDot(k), h("span", {}, "You"));
      const strength = h("small", {}, this.strengthOf(this.agents[k]));
      return h("label", { class: "agent", for: `agent-${k}` }, playerDot(k), h("span", { class: "unseen" }, `Player ${k}`),
        h("select", { id: `agent-${k}`, onchange: (event) => { this.agents[k] = event.target.value; strength.textContent = this.strengthOf(this.agents[k]); } },
          this.labels.map((label) => h("option", { value: label, selected: label === this.agents[k] }, label))),
        strength);
    });
  }

  drawOptions() {
    return h("details", { class: "options" }, h("summary", {}, "Options of the game"),
      this.game.options.map((option) => {
        const id = `option-${option.name}`;
        const isFlag = typeof option.default === "boolean";
        const label = capitalized(option.name.replaceAll("_", " "));
        const control = option.choices.length || isFlag
          ? h("select", { id, data: { option: option.name, kind: isFlag ? "flag" : "choice" } },
            (isFlag ? ["true", "false"] : option.choices).map((value) => h("option", { value, selected: value === `${option.default}` }, isFlag ? (value === "true" ? "yes" : "no") : value)))
          : h("input", { id, type: "number", min: option.minimum, max: option.maximum, value: option.default ?? "", placeholder: option.default === null ? "none" : null, data: { option: option.name, kind: "number" } });
        return h("label", { for: id, class: "option" }, h("b", {}, label), control, h("small", {}, option.doc));
      }));
  }

  options() {
    const found = {};
    for (const control of this.form.querySelectorAll("[data-option]")) {
      const { option, kind } = control.dataset;
      if (kind === "flag") found[option] = control.value === "true";
      else if (kind === "number") found[option] = control.value === "" ? null : Number(control.value);
      else found[option] = control.value;
    }
    return found;
  }

  async begin() {
    const button = document.getElementById("begin");
    button.disabled = true;
    button.textContent = "The rules are being loaded …";
    try {
      await goToTable(ask("/api/tables", {
        game: this.game.id,
        num_players: this.count,
        options: this.options(),
        seat: this.isWatching ? null : this.seat,
        eyes: this.isWatching ? this.seat : 0,
        agents: this.agents.map((label, k) => (k === this.seat && !this.isWatching ? null : label)),
        practice: document.getElementById("practice")?.checked ?? false,
        open_cards: document.getElementById("open_cards")?.checked ?? false,
      }));
      if (!this.isWatching) lasting.set(`played-${this.game.id}`, "yes");
    } catch (error) {
      alertUser(error.message);
      this.draw();
    }
  }

  /** The games of a recording, to choose one. */
  drawGames(games, open) {
    const number = h("input", { id: "number", type: "number", required: true, min: 1, max: games.length, value: 1 });
    return h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); open(games[number.valueAsNumber - 1]); } },
      h("label", { for: "number" }, "Game ", number, ` of ${games.length}`), h("button", { type: "submit" }, "Look at it"));
  }

  drawReplay() {
    const open = (text, moment = []) => this.openReplay(text, moment).catch((error) => alertUser(error.message));
    const chosen = h("div", {});
    const read = async (file) => {
      const games = (await file.slice(0, MOST_BYTES).text()).split("\n").filter((line) => line.trim());
      if (file.size > MOST_BYTES) games.pop(); // which was cut
      if (games.length === 1) open(games[0]);
      else if (games.length) chosen.replaceChildren(this.drawGames(games, open));
      else alertUser("There is no game in this file.");
    };
    const link = h("input", { id: "link", type: "url", placeholder: "a link that holds a game" });
    return h("section", { class: "panel" }, h("h2", {}, "Replay"),
      h("p", {}, "A replay holds the game, its options, its seed and all actions: a file that was downloaded here, or what card-envs record has written, with a game on each line."),
      h("label", { class: "option", for: "file" }, h("b", {}, "A replay file"),
        h("input", { id: "file", type: "file", accept: ".json,.jsonl,application/json", onchange: (event) => {
          const [file] = event.target.files;
          if (file) read(file);
        } })),
      h("label", { class: "option", for: "dataset" }, h("b", {}, "A Minari dataset's folder"),
        h("input", { id: "dataset", type: "file", webkitdirectory: "", onchange: (event) => {
          const file = [...event.target.files].find((each) => each.name === GAMES_FILE);
          if (file) read(file);
          else if (event.target.files.length) alertUser(`This folder cannot be replayed: it has no ${GAMES_FILE}, which card-envs record writes beside a dataset's arrays. Earlier releases did not.`);
        } })),
      chosen,
      h("form", { class: "row", onsubmit: (event) => {
        event.preventDefault();
        const [data, ...moment] = (link.value.split("#replay=")[1] ?? "").split("&");
        if (!data) return alertUser("That is no link to a replay: it has no part that begins with #replay=");
        try {
          open(fromFragment(data), moment);
        } catch {
          alertUser("The link is damaged.");
        }
      } }, h("label", { class: "option", for: "link" }, h("b", {}, "A link"), link), h("button", { type: "submit" }, "Open")));
  }
}
