/** The page of a table: play, watch, look back. */

import { drawAdvice, drawDisputes, markHints } from "./advice.js";
import { ask, goToTable, Talk } from "./api.js";
import { choicesIn, drawChoices } from "./choices.js";
import { alertUser, capitalized, h, patch, speak } from "./dom.js";
import { letDrag } from "./drag.js";
import { drawCoach, explain } from "./coach.js";
import { guideOf } from "./guide.js";
import { letPress } from "./keys.js";
import { animate, arrivals, markTouched, placesIn } from "./motion.js";
import { MoveList } from "./moves.js";
import { Pointing } from "./pointing.js";
import { drawRoundEnd, newResults } from "./round_end.js";
import { drawKnown, drawTable, SIDES } from "./scene.js";
import { set, setting } from "./settings.js";
import { letExplain } from "./tips.js";
import { drawBadges, drawTools, isOn, PACES } from "./tools.js";
import { Transport } from "./transport.js";
import { remember } from "./unfinished.js";

const isSmall = () => matchMedia("(max-width: 62rem)").matches;

export class TablePage {
  /** `moment` says what of the game is shown at first: `at`, a decision, and `eyes`. */
  constructor(page, games, name, moment = {}) {
    this.page = page;
    this.games = games;
    this.name = name;
    this.moment = moment;
    this.queue = [];
    this.rounds = [];
    this.pace = setting("pace");
    this.moves = new MoveList((step) => this.transport.go(step));
    this.parts = {
      board: h("div", { class: "board", "aria-labelledby": "table-title", role: "region", tabindex: "-1" }),
      prompt: h("div", { class: "decide", "aria-label": "Your decision", role: "region", tabindex: "-1" }),
      tools: h("div", { class: "tools" }),
      transport: h("div", { class: "transport-place" }),
      advice: h("section", { class: "panel opinion", hidden: true, "aria-label": "Agents' opinion" }),
      known: h("section", { class: "panel known", "aria-label": "What is known" }),
    };
    const { board, prompt, tools, transport, advice, known } = this.parts;
    this.play = h("div", { class: "play" }, board, prompt, transport, known);
    page.replaceChildren(h("div", { class: "tablepage" }, this.play,
      h("aside", { class: "side", "aria-label": "About the game" }, tools, advice, this.moves.element)));
    letDrag(board, (from, to) => this.drop(from, to));
    this.unhear = [letExplain(this.play, (target) => explain(this, target)), letPress(this)];
    this.talk = new Talk(name, {
      welcome: (message) => this.welcome(message),
      state: (message) => this.enqueue(message),
      frame: (message) => this.showPast(message),
      advice: (message) => this.showAdvice(message),
      disputes: (message) => this.showDisputes(message),
      rounds: ({ starts }) => { this.rounds = starts; this.transport.draw(); this.transport.update(); },
      problem: ({ message }) => this.tellProblem(message),
      lost: () => alertUser("The connection was lost; trying again …"),
      gone: (reason) => { remember(this.name, null); this.refused("This table is gone", reason); },
      full: (reason) => this.refused("This table cannot be joined now", reason),
    });
  }

  leave() {
    this.talk.end();
    this.unhear.forEach((end) => end());
    this.transport?.stop();
    clearTimeout(this.timer);
  }

  /** There is no table any more: its choices, tools and keys go too. */
  refused(title, reason) {
    this.leave();
    alertUser("");
    const heading = h("h1", { tabindex: "-1" }, title);
    this.page.replaceChildren(h("div", { class: "startpage" }, h("div", { class: "panel" }, heading, h("p", {}, `${capitalized(reason)}.`), h("p", {}, h("a", { href: "#" }, "Begin a new game")))));
    heading.focus();
  }

  // ------------------------------------------------------------------------------------------
  // What the server says
  // ------------------------------------------------------------------------------------------

  welcome(message) {
    const { state } = message;
    alertUser("");
    this.about = message;
    this.live = state;
    this.queue = [];
    this.isWaiting = false;
    this.isUndoing = false;
    this.asked = null;
    this.adviser ??= message.advisers.includes("ppo") ? "ppo" : message.advisers[0];
    this.keep();
    this.moves.set([...message.moves], state.is_revealed);
    if (this.transport) this.resume();
    else this.begin();
    guideOf(this.game).then((guide) => { this.guide = guide; this.refresh(); });
    if (state.is_revealed) this.talk.send({ type: "find_rounds" });
  }

  begin() {
    const { about, live } = this;
    this.game = this.games.games.find(({ id }) => id === about.game);
    document.title = `${this.game.title} · card_envs`;
    this.eyes = about.is_open ? "all" : about.seat;
    this.frame = live.frame;
    this.isBack = false;
    this.isPausing = false;
    this.transport = new Transport(this);
    this.parts.transport.replaceChildren(this.transport.element);
    this.drawTools();
    this.show(this.frame);
    // The button that led here is gone, and the focus with it.
    if (document.activeElement === document.body) this.parts.board.focus({ preventScroll: true });
    const { at = about.kind === "replay" ? 0 : null, eyes } = this.moment;
    if (eyes !== undefined && live.is_revealed) this.eyes = eyes;
    if (at !== null) this.lookAt(at);
    else if (this.eyes !== about.seat) this.lookAt(live.steps);
    if (about.kind === "watch" && !live.is_over && at === null) this.transport.toggle();
  }

  /** Look at the same again after an interruption, if it is still there. */
  resume() {
    const { about, live, frame, transport } = this;
    const wasRunning = transport.isRunning;
    transport.stop();
    if (!live.is_revealed) this.eyes = about.seat;
    this.disputes = null; // the search for them ended with the connection
    this.isBack &&= this.wanted < live.steps;
    this.isPausing &&= frame.step < live.steps;
    this.drawTools();
    if (this.isPausing && !this.isBack) this.refresh();
    else this.lookAt(this.isBack ? this.wanted : live.steps);
    if (wasRunning && transport.canForward) transport.toggle();
    else transport.update();
  }

  /** Keep in the browser that this game can be gone on with, or that it is over. */
  keep() {
    const { about, live } = this;
    if (about.kind === "play") remember(this.name, live.is_over ? null : { game: about.game, title: live.frame.scene.title, players: about.agents.length, steps: live.steps });
  }

  enqueue(state) {
    this.isWaiting = false;
    const isOwn = state.frame.move?.player === this.about.seat && this.about.kind === "play";
    const isRoundEnd = newResults((this.queue.at(-1) ?? this.live).frame.scene, state.frame.scene).length > 0;
    if (state.was_undone) [this.queue, this.isPausing, this.forced, this.isUndoing] = [[], false, null, false];
    this.queue.push(state);
    if (!this.isPausing && (isOwn || state.was_undone || !this.timer)) this.next();
    // After the look at this decision, which the next one would make stale.
    if (this.about.kind === "watch") this.transport.arrived(state, isRoundEnd);
  }

  /** Show the next state, and the one after that when this one has been seen. */
  next() {
    clearTimeout(this.timer);
    this.timer = null;
    if (!this.queue.length) return this.about.kind === "play" ? this.refresh() : null;
    this.take(this.pace === "instant" ? this.queue.length : 1);
    if (this.isPausing) return;
    const isPaced = this.about.kind === "play" && !(this.live.legal.length && !this.queue.length);
    this.timer = setTimeout(() => this.next(), isPaced ? PACES[this.pace] : 0);
  }

  /** Show the last of the next `count` states; the others are told, but not drawn. */
  take(count) {
    for (let k = 0; k < count && !this.isPausing; k += 1) {
      const state = this.queue.shift();
      const results = state.was_undone ? [] : newResults(this.live.frame.scene, state.frame.scene);
      if (results.length) {
        this.rounds.push({ step: state.steps, title: state.frame.scene.title });
        this.isPausing = this.about.kind === "play" && !state.is_over && this.isOn("pause");
        if (this.isPausing && !this.isBack) [this.frame, this.arrived, this.results] = [this.live.frame, new Map(), results];
      }
      const wasOver = this.live.is_over;
      this.live = state;
      const { move, step } = state.frame;
      if (state.was_undone) {
        this.moves.cut(step);
        this.rounds = this.rounds.filter((round) => round.step <= step);
        // The cards are others now.
        [this.told, this.others, this.disputes] = [null, null, null];
        this.drawAdvicePanel(null);
        if (wasOver) this.drawTools();
        speak("Your last decision was undone.");
      } else if (move) {
        this.moves.add(move, step - 1, state.is_revealed);
        speak(`${capitalized(this.nameOf(move.player))}: ${move.words}.`);
      }
      if (state.is_over) this.end(state);
    }
    this.keep();
    if (this.isPausing && !this.isBack) {
      speak("The round is over.");
      this.refresh();
      this.moves.mark(this.live.steps);
      this.parts.prompt.scrollIntoView({ block: "nearest" });
      this.parts.prompt.querySelector("[data-key=continue]")?.focus({ preventScroll: true });
    } else if (!this.isBack) {
      const { frame, is_revealed } = this.live;
      if (this.eyes !== this.about.seat && is_revealed) this.talk.send({ type: "look", step: frame.step, eyes: this.eyes });
      else this.show(frame);
    }
    this.transport.update();
  }

  /** Go on after the end of a round. */
  goOn() {
    this.isPausing = false;
    this.show(this.live.frame);
    this.next();
  }

  end(state) {
    speak(state.frame.scene.standing_title);
    if (state.is_revealed && this.about.kind !== "replay") this.talk.send({ type: "find_rounds" });
    this.moves.set(this.moves.moves, true);
    this.drawTools();
  }

  showPast(frame) {
    if (frame.step !== this.wanted && frame.step !== this.live.steps) return;
    this.show(frame);
    if (this.about.kind !== "watch" || this.isBack || this.live.is_over) this.transport.arrived(null, this.results.length > 0);
    if (this.isBack && frame.move && this.transport.isRunning) speak(`${capitalized(this.nameOf(frame.move.player))}: ${frame.move.words}.`);
  }

  tellProblem(message) {
    [this.isWaiting, this.isUndoing, this.asked] = [false, false, null];
    if (this.disputes?.done < this.disputes?.total) this.disputes = null; // their search may be what has failed
    alertUser(message);
    this.drawAdvicePanel(null);
    this.refresh();
  }

  showAdvice(advice) {
    // It may come when one has decided already, or looks at something else.
    if (advice.step !== this.frame.step || (this.isWaiting && !this.isBack)) return;
    const played = this.frame.decision?.action ?? null;
    this.advice = advice;
    if (this.others?.step !== advice.step) this.others = { step: advice.step, by: new Map() };
    this.others.by.set(advice.agent, advice);
    this.drawAdvicePanel(drawAdvice(advice, played, [...this.others.by.values()]));
    markHints(this.play, advice);
    const best = advice.opinions.find(({ action }) => action === advice.choice);
    speak(`${advice.agent} would ${best.words}.`);
  }

  showDisputes(found) {
    if (found.agent !== this.adviser) return; // another one was chosen meanwhile
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
    if (!this.guide) return false; // what the coach says would move the choices
    const isOwnView = this.frame.scene.observer === this.about.seat && this.frame.step === this.live.steps;
    return this.live.legal.length > 0 && isOwnView && !this.queue.length && !this.isBack && !this.isWaiting && !this.isUndoing && !this.isPausing;
  }

  show(frame) {
    const before = this.frame?.scene;
    const pace = this.about.kind === "play" && !this.isBack ? PACES[this.pace] / PACES.normal : this.transport.pace;
    const places = pace && placesIn(this.parts.board);
    const isStep = this.frame && Math.abs(frame.step - this.frame.step) === 1;
    const isForward = before && frame.step > this.frame.step;
    this.results = isForward && (isStep || (this.live.is_over && frame.step === this.live.steps)) ? newResults(before, frame.scene) : [];
    this.arrived = isForward && before.observer === frame.scene.observer && !this.results.length ? arrivals(before, frame.scene) : new Map();
    this.frame = frame;
    this.pointing = null;
    this.refresh();
    if (pace && isStep && before?.observer === frame.scene.observer) animate(this.parts.board, this.game.style, before, frame.scene, places, pace);
    this.moves.mark(frame.step);
    this.transport.update();
    if (this.live.is_revealed && frame.decision && this.transport.isAsking) this.askAbout(frame.step);
    else if (this.advice?.step !== frame.step) this.drawAdvicePanel(null);
  }

  /** Draw the table as it is shown now. */
  refresh() {
    const { scene } = this.frame;
    if (this.isDeciding && this.live.legal.length === 1 && this.isOn("forced") && this.forced !== this.live.steps) return this.playForced();
    const isNew = this.isDeciding && !this.pointing;
    if (this.isDeciding) this.pointing ??= new Pointing(this.live.legal);
    else this.pointing = null;
    const active = document.activeElement;
    const focused = this.play.contains(active) ? active.dataset.key ?? "" : null;
    const isPerson = this.about.kind === "play" && scene.observer === this.about.seat;
    const listeners = { onpoint: (key, count) => this.point(key, count), onplay: () => this.playComplete() };
    const table = drawTable(scene, this.game.style, { agents: this.about.agents, isPerson, pointing: this.pointing, ...listeners });
    const title = h("div", { class: "title" }, h("h1", { id: "table-title" }, scene.title), drawBadges(this));
    markTouched(table, this.frame, this.arrived);
    if (this.pointing) this.parts.board.replaceChildren(title, table);
    else patch(this.parts.board, [title, table], SIDES);
    this.drawPrompt(scene);
    drawKnown(this.parts.known, this.frame, this.game.style, this.results);
    if (this.advice?.step === this.frame.step) markHints(this.play, this.advice);
    if (isNew) {
      this.scrollToDecision();
      this.tellDecision();
    }
    const isLost = !this.play.contains(document.activeElement) || (isNew && active === this.parts.prompt);
    if (focused !== null && isLost) this.focus(focused, isNew);
  }

  /** Say what the person is to decide, once. */
  tellDecision() {
    if (this.told !== this.live.steps) speak(this.frame.scene.prompt);
    this.told = this.live.steps;
  }

  /** Focus stays where it was, or on what is to be done next. */
  focus(key, isNew) {
    const { board, prompt } = this.parts;
    const same = key && !isNew && this.play.querySelector(`[data-key="${CSS.escape(key)}"]`);
    const next = prompt.querySelector('[data-key="continue"]') ?? (this.pointing ? choicesIn(prompt)[0] ?? board.querySelector("[data-key]") : null);
    (same || next || prompt).focus({ preventScroll: true });
  }

  /** The only legal action plays itself; after an undo it is gone back further. */
  playForced() {
    const { legal, steps, was_undone, can_undo } = this.live;
    this.forced = steps; // once, should it be refused
    if (was_undone && can_undo) {
      this.isWaiting = true;
      this.talk.send({ type: "undo", step: steps });
      this.refresh();
    } else this.act(legal[0].action);
  }

  /** The own hand and, below it, what is to be decided: both are seen, or the hand and the beginning of the other. */
  scrollToDecision() {
    const top = this.parts.board.querySelector(".seat.own").getBoundingClientRect().top;
    const bottom = this.parts.prompt.getBoundingClientRect().bottom;
    if (bottom > innerHeight || top < 0 || isSmall()) scrollBy(0, Math.min(bottom - innerHeight, top) + 4);
  }

  drawPrompt(scene) {
    const { prompt } = this.parts;
    const { move } = this.isPausing ? this.live.frame : this.frame;
    const { results } = this;
    const note = move && !this.isDeciding ? h("p", { class: "last" }, `${capitalized(this.nameOf(move.player))}: ${move.words}`) : null;
    prompt.classList.toggle("yours", this.isDeciding);
    prompt.classList.toggle("numbered", this.isOn("keys"));
    prompt.replaceChildren(...[
      note,
      results?.length ? drawRoundEnd(results, this.isPausing ? this.live.frame : this.frame, this.game.style, this.isPausing ? () => this.goOn() : null) : null,
      ...(this.isPausing ? [] : this.drawDecision(scene)),
    ].filter(Boolean));
  }

  drawDecision(scene) {
    const { decision } = this.frame;
    return [
      scene.prompt ? h("p", { class: "prompt" }, scene.prompt) : null,
      this.isWaiting ? h("p", { class: "note waiting" }, "Waiting for the server … Where a game is used for the first time, this takes up to a minute.") : null,
      this.pointing && this.isOn("coach") ? drawCoach(this) : null,
      decision ? h("p", { class: "decision" }, "Decided here: ", h("b", {}, decision.words)) : null,
      this.pointing ? drawChoices(this.pointing, { onact: (action) => this.act(action), onclear: () => this.clear() }) : null,
      this.queue.length > 2 ? h("button", { type: "button", class: "quiet", onclick: () => this.skip() }, `Skip ${this.queue.length} moves`) : null,
    ];
  }

  drawTools() {
    const { tools } = this.parts;
    const key = tools.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    tools.replaceChildren(drawTools(this));
    if (key) tools.querySelector(`[data-key="${key}"]`)?.focus();
  }

  isOn(name) {
    return isOn(name, this.about);
  }

  /** Turn a switch on or off. */
  change(name, value) {
    set(name, value);
    const box = document.getElementById(`switch-${name}`);
    if (box) box.checked = value; // a key may have done it
    this.refresh();
  }

  drawAdvicePanel(advice = undefined) {
    const { advice: panel } = this.parts;
    if (advice !== undefined) this.adviceShown = advice;
    if (advice === null) this.advice = null;
    const content = [
      this.adviceShown,
      this.disputes ? drawDisputes(this.disputes, (step) => this.transport.go(step)) : null,
    ].filter(Boolean);
    panel.replaceChildren(...(content.length ? [h("h2", {}, this.about.kind === "play" && !this.live.is_over ? "Hint" : "Opinion"), ...content] : []));
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

  /** Play what has been pointed at, if that is one action; whether it was. */
  playComplete() {
    const ready = this.pointing?.settled;
    if (ready) this.act(ready.action);
    return Boolean(ready);
  }

  /** Take back what has been pointed at. */
  clear() {
    if (!this.pointing?.chosen.size) return;
    this.pointing.clear();
    this.refresh();
  }

  undo() {
    if (this.about.kind !== "play" || !this.about.practice) return;
    const latest = this.queue.at(-1) ?? this.live;
    if (!latest.can_undo) return alertUser("There is nothing to undo.");
    this.isPausing = false;
    this.isBack = false;
    this.isUndoing = true; // what others do meanwhile asks nothing of the person
    this.talk.send({ type: "undo", step: latest.steps });
  }

  hint() {
    if (!this.about.practice) return;
    if (!this.isDeciding) return alertUser("Hints are for your own decisions.");
    this.drawAdvicePanel(h("p", { class: "note", role: "status" }, `${this.adviser} is thinking …`));
    this.talk.send({ type: "hint", step: this.live.steps, agent: this.adviser });
  }

  chooseAdviser(label) {
    this.adviser = label;
    this.disputes = null;
    if (this.frame.decision) this.askAbout(this.frame.step);
    else if (this.advice && this.isDeciding) this.hint();
  }

  findDisputes() {
    this.talk.send({ type: "find_disputes", agent: this.adviser });
  }

  askAbout(step) {
    this.talk.send({ type: "analyse", step, agent: this.adviser });
  }

  skip() {
    this.take(this.queue.length);
    if (!this.isPausing) this.next();
  }

  lookAt(step) {
    this.wanted = Math.max(0, Math.min(step, this.live.steps));
    this.isBack = this.wanted < this.live.steps;
    this.results = [];
    if (!this.isBack && this.isPausing) return this.goOn();
    const isShown = !this.isBack && this.eyes === this.about.seat;
    if (isShown) this.show(this.live.frame);
    else this.talk.send({ type: "look", step: this.wanted, eyes: this.eyes });
    const isWatched = this.about.kind === "watch";
    if (!this.isBack && (isShown || isWatched)) this.transport.arrived(isWatched ? this.live : null, false);
  }

  advance(step) {
    if (this.asked === step) return; // and not answered yet
    this.asked = step;
    this.talk.send({ type: "advance", step });
  }

  async again(sameDeal) {
    try {
      await goToTable(ask(`/api/tables/${this.name}/again`, { same_deal: sameDeal }));
    } catch (error) {
      alertUser(error.message);
    }
  }
}
