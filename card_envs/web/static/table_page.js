/** The page of a table: play, watch, look back. */

import { drawAdvice, drawDisputes } from "./advice.js";
import { ask, Talk, toFragment } from "./api.js";
import { drawChoices } from "./choices.js";
import { alertUser, capitalized, h, speak } from "./dom.js";
import { letDrag } from "./drag.js";
import { animate, placesIn } from "./motion.js";
import { MoveList } from "./moves.js";
import { Pointing } from "./pointing.js";
import { drawGrids, drawLegend, drawTable } from "./scene.js";
import { Transport } from "./transport.js";

// Milliseconds for which a move of another player stays, by pace.
const PACES = { slow: 1800, normal: 900, fast: 300, instant: 0 };

const isSmall = () => matchMedia("(max-width: 62rem)").matches;

export class TablePage {
  constructor(page, games, name) {
    this.games = games;
    this.name = name;
    this.queue = [];
    this.pace = sessionStorage.getItem("pace") ?? "normal";
    this.moves = new MoveList((step) => this.lookAt(step));
    this.parts = {
      board: h("div", { class: "board" }),
      prompt: h("div", { class: "decide", "aria-label": "Your decision", role: "region" }),
      tools: h("div", { class: "tools" }),
      transport: h("div", { class: "transport-place" }),
      advice: h("section", { class: "panel opinion", hidden: true, "aria-label": "Agents' opinion" }),
      known: h("section", { class: "panel known", "aria-label": "What is known" }),
    };
    const { board, prompt, tools, transport, advice, known } = this.parts;
    page.replaceChildren(h("div", { class: "tablepage" },
      h("div", { class: "play" }, board, prompt, transport, known),
      h("aside", { class: "side", "aria-label": "About the game" }, tools, advice, this.moves.element)));
    letDrag(board, (from, to) => this.drop(from, to));
    this.talk = new Talk(name, {
      welcome: (message) => this.welcome(message),
      state: (message) => this.enqueue(message),
      frame: (message) => this.showPast(message),
      advice: (message) => this.showAdvice(message),
      disputes: (message) => this.showDisputes(message),
      problem: ({ message }) => { this.isWaiting = false; alertUser(message); this.refresh(); },
      lost: () => alertUser("The connection was lost; trying again …"),
      gone: (reason) => this.gone(reason),
    });
  }

  leave() {
    this.talk.end();
    this.transport?.stop();
    clearTimeout(this.timer);
  }

  gone(reason) {
    this.parts.board.replaceChildren(h("div", { class: "panel" }, h("h2", {}, "This table is gone"), h("p", {}, `${capitalized(reason)}.`), h("p", {}, h("a", { href: "#" }, "Begin a new game"))));
  }

  // ------------------------------------------------------------------------------------------
  // What the server says
  // ------------------------------------------------------------------------------------------

  welcome(message) {
    alertUser("");
    this.about = message;
    this.game = this.games.games.find(({ id }) => id === message.game);
    this.queue = [];
    this.live = message.state;
    this.eyes = message.is_open ? "all" : message.seat;
    this.frame = message.state.frame;
    this.isBack = false;
    this.isWaiting = false;
    this.adviser ??= message.advisers.includes("ppo") ? "ppo" : message.advisers[0];
    document.title = `${this.game.title} · card_envs`;
    this.transport?.stop();
    this.transport = new Transport(this);
    this.parts.transport.replaceChildren(this.transport.element);
    this.moves.set([...message.moves], message.state.is_revealed);
    this.advice = null;
    this.drawTools();
    this.show(this.frame);
    if (message.kind === "replay") this.lookAt(0);
    else if (this.eyes !== message.seat) this.lookAt(this.live.steps);
  }

  enqueue(state) {
    this.isWaiting = false;
    const isOwn = state.frame.move?.player === this.about.seat && this.about.kind === "play";
    if (state.was_undone) this.queue = [];
    this.queue.push(state);
    if (isOwn || state.was_undone || !this.timer) this.next();
  }

  /** Show the next state, and the one after that when this one has been seen. */
  next() {
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.queue.length) {
      this.refresh();
      return;
    }
    this.take(this.pace === "instant" ? this.queue.length : 1);
    const isPaced = this.about.kind === "play" && !(this.live.legal.length && !this.queue.length);
    this.timer = setTimeout(() => this.next(), isPaced ? PACES[this.pace] : 0);
  }

  /** Show the last of the next `count` states; the others are told, but not drawn. */
  take(count) {
    for (const state of this.queue.splice(0, count)) {
      this.live = state;
      const { move, step } = state.frame;
      if (state.was_undone) {
        this.moves.cut(step);
        speak("Your last decision was undone.");
      } else if (move) {
        this.moves.add(move, step - 1, state.is_revealed);
        speak(`${capitalized(this.nameOf(move.player))}: ${move.words}.`);
      }
      if (state.is_over) this.end(state);
    }
    if (!this.isBack) {
      const { frame, is_revealed } = this.live;
      if (this.eyes !== this.about.seat && is_revealed) this.talk.send({ type: "look", step: frame.step, eyes: this.eyes });
      else this.show(frame);
    }
    this.transport.update();
  }

  end(state) {
    speak(state.frame.scene.standing_title);
    this.moves.set(this.moves.moves, true);
    this.drawTools();
  }

  showPast(frame) {
    if (frame.step !== this.wanted && frame.step !== this.live.steps) return;
    this.show(frame);
    if (this.isBack && frame.move && this.transport.isRunning) speak(`${capitalized(this.nameOf(frame.move.player))}: ${frame.move.words}.`);
  }

  showAdvice(advice) {
    this.isWaiting = false;
    const played = this.frame.decision && this.frame.step === advice.step ? this.frame.decision.action : null;
    this.advice = advice;
    this.drawAdvicePanel(drawAdvice(advice, played));
    const best = advice.opinions.find(({ action }) => action === advice.choice);
    speak(`${advice.agent} would ${best.words}.`);
  }

  showDisputes(found) {
    this.disputes = found;
    this.drawAdvicePanel();
  }

  // ------------------------------------------------------------------------------------------
  // What is shown
  // ------------------------------------------------------------------------------------------

  nameOf(player) {
    const label = this.about.agents[player];
    if (player === this.about.seat && this.about.kind === "play") return "you";
    return label ? `player ${player} (${label})` : `player ${player}`;
  }

  get isDeciding() {
    const isOwnView = this.frame.scene.observer === this.about.seat && this.frame.step === this.live.steps;
    return this.live.legal.length > 0 && isOwnView && !this.queue.length && !this.isBack && !this.isWaiting;
  }

  show(frame) {
    const before = this.frame?.scene;
    const places = placesIn(this.parts.board);
    const isStep = this.frame && Math.abs(frame.step - this.frame.step) === 1;
    this.frame = frame;
    this.pointing = null;
    this.refresh();
    if (isStep && before?.observer === frame.scene.observer) {
      animate(this.parts.board, this.game.style, before, frame.scene, places, this.pace === "instant" ? 0 : this.pace === "fast" ? 0.5 : 1);
    }
    this.moves.mark(frame.step);
    this.transport.update();
    if (this.live.is_revealed && frame.decision && this.transport.isAsking) this.askAbout(frame.step);
    else if (this.advice?.step !== frame.step) this.drawAdvicePanel(null);
  }

  /** Draw the table as it is shown now. */
  refresh() {
    const { scene } = this.frame;
    const isNew = this.isDeciding && !this.pointing;
    if (this.isDeciding) this.pointing ??= new Pointing(this.live.legal);
    else this.pointing = null;
    const focused = document.activeElement?.dataset?.key;
    const table = drawTable(scene, this.game.style, {
      agents: this.about.agents, isPerson: this.about.kind === "play" && scene.observer === this.about.seat, pointing: this.pointing, onpoint: (key, count) => this.point(key, count),
    });
    const title = h("div", { class: "title" }, h("h1", {}, scene.title), this.drawBadges());
    this.parts.board.replaceChildren(title, table);
    this.drawPrompt(scene);
    this.drawKnown(scene);
    if (isNew) this.scrollToDecision();
    if (focused) this.parts.board.parentElement.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  /** The own hand and, below it, what is to be decided: both are seen, or the hand and the beginning of the other. */
  scrollToDecision() {
    const top = this.parts.board.querySelector(".seat.own").getBoundingClientRect().top;
    const bottom = this.parts.prompt.getBoundingClientRect().bottom;
    if (bottom > innerHeight || top < 0 || isSmall()) scrollBy(0, Math.min(bottom - innerHeight, top) + 4);
  }

  drawBadges() {
    const { about, live } = this;
    const badge = (words, title) => h("span", { class: "badge", title }, words);
    return h("p", { class: "badges" },
      about.kind === "replay" ? badge("replay", "A finished or open game") : null,
      about.kind === "watch" ? badge("watching", "Agents play") : null,
      about.is_open && about.kind !== "replay" ? badge("open table", "All cards may be seen, and the position may be sent") : null,
      !about.is_open ? badge(live.is_over ? "game over: all is shown" : `closed table: ${about.kind === "play" ? "your" : `player ${about.seat}'s`} eyes`, "Seed and history stay on the server until the game is over") : null,
      about.practice ? badge("practice", "Undo and hints") : null);
  }

  drawPrompt(scene) {
    const { prompt } = this.parts;
    const note = this.frame.move && !this.isDeciding ? h("p", { class: "last" }, `${capitalized(this.nameOf(this.frame.move.player))}: ${this.frame.move.words}`) : null;
    const decision = this.frame.decision;
    prompt.classList.toggle("yours", this.isDeciding);
    prompt.replaceChildren(...[
      note,
      scene.prompt ? h("p", { class: "prompt" }, scene.prompt) : null,
      decision ? h("p", { class: "decision" }, "Decided here: ", h("b", {}, decision.words)) : null,
      this.pointing ? drawChoices(this.pointing, {
        onact: (action) => this.act(action), onclear: () => { this.pointing.clear(); this.refresh(); },
      }) : null,
      this.queue.length > 2 ? h("button", { type: "button", class: "quiet", onclick: () => this.skip() }, `Skip ${this.queue.length} moves`) : null,
    ].filter(Boolean));
  }

  drawKnown(scene) {
    const { known } = this.parts;
    const isOpen = known.querySelector("details.words")?.open ?? false;
    known.replaceChildren(...[
      h("h2", {}, "What is known"),
      ...scene.notes.map((note) => h("p", { class: "note" }, note)),
      drawLegend(scene),
      ...drawGrids(scene),
      h("details", { class: "words", open: isOpen }, h("summary", {}, "The table in words"), h("pre", { tabindex: "0" }, this.frame.words)),
    ].filter(Boolean));
  }

  drawTools() {
    const { about, live } = this;
    const button = (words, onclick, properties = {}) => h("button", { type: "button", onclick, ...properties }, words);
    const isPlay = about.kind === "play";
    const advisers = h("select", { "aria-label": "Adviser", onchange: (event) => { this.adviser = event.target.value; this.disputes = null; if (this.frame.decision) this.askAbout(this.frame.step); } },
      about.advisers.map((label) => h("option", { value: label, selected: label === this.adviser }, label)));
    const paces = h("select", { "aria-label": "Pace", onchange: (event) => { this.pace = event.target.value; sessionStorage.setItem("pace", this.pace); } },
      Object.keys(PACES).map((pace) => h("option", { value: pace, selected: pace === this.pace }, pace)));
    const canAdvise = live.is_revealed || (isPlay && about.practice);
    this.parts.tools.replaceChildren(h("section", { class: "panel toolbar", "aria-label": "Tools" },
      h("div", { class: "row" },
        h("label", {}, "Pace ", paces),
        canAdvise ? h("label", {}, "Adviser ", advisers) : null),
      h("div", { class: "row" },
        isPlay && about.practice && !live.is_over ? button("Hint", () => this.hint(), { data: { key: "hint" } }) : null,
        isPlay && about.practice ? button("Undo", () => this.undo(), { data: { key: "undo" } }) : null,
        isPlay && !live.is_over ? button("Look back", () => this.lookAt(this.live.steps - 1)) : null,
        live.is_revealed ? button("Most disputed decisions", () => this.talk.send({ type: "find_disputes", agent: this.adviser })) : null),
      isPlay && about.practice ? h("p", { class: "note" }, "Undo takes you back to your last decision. Whatever you could not know there is dealt again, so what you have seen since tells you nothing.") : null,
      h("div", { class: "row" },
        about.kind !== "replay" ? button("New game", () => this.again(false)) : null,
        about.kind !== "replay" && live.is_revealed ? button("Same deal again", () => this.again(true)) : null,
        live.is_revealed ? h("a", { class: "button", href: `/api/tables/${this.name}/replay`, download: "" }, "Download replay") : null,
        live.is_revealed ? button("Copy link", () => this.copyLink()) : null)));
  }

  drawAdvicePanel(advice = undefined) {
    const { advice: panel } = this.parts;
    if (advice !== undefined) this.adviceShown = advice;
    if (advice === null) this.advice = null;
    const content = [
      this.adviceShown,
      this.disputes ? drawDisputes(this.disputes, (step) => this.lookAt(step)) : null,
    ].filter(Boolean);
    panel.replaceChildren(...(content.length ? [h("h2", {}, "Opinion"), ...content] : []));
    panel.hidden = !content.length;
  }

  // ------------------------------------------------------------------------------------------
  // What the person does
  // ------------------------------------------------------------------------------------------

  point(key, count) {
    if (!this.pointing) return;
    this.pointing.set(key, count);
    const ready = this.pointing.complete;
    // Places alone leave no doubt; cards may be meant to be more.
    if (ready && [...ready.needs.keys()].every((entry) => !this.isCounted(entry))) this.act(ready.action);
    else this.refresh();
  }

  /** Whether a key stands for cards of a kind, of which several can be meant. */
  isCounted(key) {
    return this.pointing.actions.some(({ needs }) => needs.has(key) && key.split("/").length > 2 && !/\/\d+$/.test(key));
  }

  drop(from, to) {
    if (!this.pointing) return;
    for (const key of [from, to]) if (!this.pointing.count(key) && this.pointing.canAdd(key)) this.pointing.set(key, 1);
    const ready = this.pointing.complete;
    if (ready) this.act(ready.action);
    else this.refresh();
  }

  act(action) {
    if (!this.isDeciding) return;
    this.isWaiting = true;
    this.talk.send({ type: "act", step: this.live.steps, action });
    this.drawAdvicePanel(null);
    this.refresh();
  }

  undo() {
    this.skip();
    if (!this.live.can_undo) return alertUser("There is nothing to undo.");
    this.isBack = false;
    this.disputes = null;
    this.talk.send({ type: "undo", step: this.live.steps });
  }

  hint() {
    if (!this.isDeciding) return alertUser("Hints are for your own decisions.");
    this.talk.send({ type: "hint", step: this.live.steps, agent: this.adviser });
  }

  askAbout(step) {
    this.talk.send({ type: "analyse", step, agent: this.adviser });
  }

  skip() {
    if (this.queue.length) this.take(this.queue.length);
    this.next();
  }

  lookAt(step) {
    this.wanted = Math.max(0, Math.min(step, this.live.steps));
    this.isBack = this.wanted < this.live.steps;
    if (!this.isBack && this.eyes === this.about.seat) this.show(this.live.frame);
    else this.talk.send({ type: "look", step: this.wanted, eyes: this.eyes });
  }

  advance() {
    this.talk.send({ type: "advance", step: this.live.steps });
  }

  async again(sameDeal) {
    try {
      const { table } = await ask(`/api/tables/${this.name}/again`, { same_deal: sameDeal });
      location.hash = `table=${table}`;
    } catch (error) {
      alertUser(error.message);
    }
  }

  async copyLink() {
    const replay = await (await fetch(`/api/tables/${this.name}/replay`)).text();
    const link = new URL(`#replay=${toFragment(replay)}`, location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      alertUser("The link has been copied: it holds the game, its options, its seed and all actions.");
    } catch {
      this.drawAdvicePanel(h("label", {}, "The link: ", h("input", { class: "link", readonly: true, value: link })));
    }
  }
}
