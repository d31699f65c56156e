/** Where games are begun, and replays opened. */

import { ask, fromFragment } from "./api.js";
import { card } from "./card.js";
import { alertUser, capitalized, h } from "./dom.js";
import { playerDot } from "./scene.js";

const SHOWN = 5; // cards of a game on its tile

export class StartPage {
  constructor(page, games, isWatching, openReplay) {
    this.games = games;
    this.isWatching = isWatching;
    this.openReplay = openReplay;
    const kept = sessionStorage.getItem("game");
    this.game = games.games.find(({ id }) => id === kept) ?? games.games[0];
    this.form = h("form", { class: "panel start", onsubmit: (event) => { event.preventDefault(); this.begin(); } });
    page.replaceChildren(h("div", { class: "startpage" },
      h("h1", {}, isWatching ? "Watch and replay" : "Play"),
      h("p", { class: "lead" }, isWatching
        ? "Let agents play each other and look on, or go through a game that was played."
        : "Sit down at a table with heuristics, trained policies and searchers. You see what your seat may know, and nothing else."),
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
    this.agents = Array.from({ length: this.count }, (_, k) => (game.agents.includes(this.agents?.[k]) ? this.agents[k] : game.default_agent));
    const focused = document.activeElement?.id;
    this.form.replaceChildren(
      h("fieldset", { class: "games" }, h("legend", {}, "Game"), this.games.games.map((entry) => this.drawTile(entry))),
      h("div", { class: "row" },
        this.select("players", "Players", players.map((n) => [n, `${n}`]), this.count, (value) => { this.count = Number(value); this.draw(); }),
        this.select("seat", this.isWatching ? "Through the eyes of" : "Your seat", Array.from({ length: this.count }, (_, k) => [k, `player ${k}`]), this.seat, (value) => { this.seat = Number(value); this.draw(); })),
      h("fieldset", { class: "agents" }, h("legend", {}, this.isWatching ? "Who plays" : "Who sits at the other seats"), this.drawAgents()),
      this.drawOptions(),
      this.isWatching ? null : h("label", { class: "check" }, h("input", { type: "checkbox", id: "practice" }), h("span", {}, h("b", {}, "Practice"), ": undo and hints are allowed. Undo deals again what you could not know.")),
      h("button", { type: "submit", class: "main", id: "begin" }, this.isWatching ? "Watch" : "Play"));
    if (focused) document.getElementById(focused)?.focus();
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
    sessionStorage.setItem("game", game.id);
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
      return h("label", { class: "agent", for: `agent-${k}` }, playerDot(k), h("span", { class: "unseen" }, `Player ${k}`),
        h("select", { id: `agent-${k}`, onchange: (event) => { this.agents[k] = event.target.value; } },
          this.game.agents.map((label) => h("option", { value: label, selected: label === this.agents[k] }, label))));
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
      const { table } = await ask("/api/tables", {
        game: this.game.id,
        num_players: this.count,
        options: this.options(),
        seat: this.isWatching ? null : this.seat,
        eyes: this.isWatching ? this.seat : 0,
        agents: this.agents.map((label, k) => (k === this.seat && !this.isWatching ? null : label)),
        practice: document.getElementById("practice")?.checked ?? false,
      });
      location.hash = `table=${table}`;
    } catch (error) {
      alertUser(error.message);
      this.draw();
    }
  }

  drawReplay() {
    const open = (text) => this.openReplay(text).catch((error) => alertUser(error.message));
    const link = h("input", { id: "link", type: "url", placeholder: "a link that holds a game" });
    return h("section", { class: "panel" }, h("h2", {}, "Replay"),
      h("p", {}, "A replay holds the game, its options, its seed and all actions."),
      h("label", { class: "option", for: "file" }, h("b", {}, "A replay file"),
        h("input", { id: "file", type: "file", accept: ".json,application/json", onchange: async (event) => {
          const [file] = event.target.files;
          if (file) open(await file.text());
        } })),
      h("form", { class: "row", onsubmit: (event) => {
        event.preventDefault();
        const [, data] = link.value.split("#replay=");
        if (!data) return alertUser("That is no link to a replay: it has no part that begins with #replay=");
        try {
          open(fromFragment(data));
        } catch {
          alertUser("The link is damaged.");
        }
      } }, h("label", { for: "link" }, "A link ", link), h("button", { type: "submit" }, "Open")));
  }
}
