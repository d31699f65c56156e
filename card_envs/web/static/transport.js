/** Play, pause, step forward and back, speed, and whose eyes. */

import { h, s } from "./dom.js";
import { set, setting } from "./settings.js";

// What is drawn on the buttons, in a square of 16.
const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  forward: "M5 3v10l7-5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};
const SPEEDS = { "½×": 2000, "1×": 1000, "2×": 500, "5×": 200, "30 a second": 1000 / 30 };
const READING = 4000; // milliseconds for the results of a round
const MOST_LATE = 100; // milliseconds that are made up for

export class Transport {
  constructor(page) {
    this.page = page;
    this.speed = setting("speed") in SPEEDS ? setting("speed") : "1×";
    this.isRunning = false;
    this.isAsking = page.about.kind === "replay";
    this.element = h("div", { class: "transport", role: "group", "aria-label": "Go through the game" });
    this.drawn = "";
  }

  stop() {
    this.isRunning = false;
    clearTimeout(this.timer);
  }

  /** How long a card flies, in shares of its time at an ordinary pace; 0: too short to be seen. */
  get pace() {
    const share = Math.min(SPEEDS[this.speed] / 1000, 1);
    return share < 0.1 ? 0 : share;
  }

  update() {
    const { about, live, frame } = this.page;
    this.element.hidden = about.kind === "play" && !live.is_over && !this.page.isBack;
    const kind = `${live.is_revealed} ${this.page.rounds.length}`;
    if (this.drawn !== kind) this.draw();
    this.drawn = kind;
    const { step } = this;
    this.slider.max = live.steps;
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `decision ${step} of ${live.steps}`);
    this.number.textContent = `${step} / ${live.steps}`;
    this.run.textContent = this.isRunning ? "Pause" : "Play";
    this.run.disabled = !this.canForward;
    this.forward.disabled = !this.canForward;
    this.first.disabled = this.back.disabled = step === 0;
    this.last.disabled = step === live.steps;
  }

  /** Whether there is a later decision, or agents that can make one. */
  get canForward() {
    const { about, live, frame, isBack } = this.page;
    return isBack || frame.step < live.steps || (about.kind === "watch" && !live.is_over);
  }

  draw() {
    const { about, live, frame, eyes } = this.page;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.name : "";
    const button = (icon, label, onclick) => h("button", { type: "button", name: icon, "aria-label": label, title: label, onclick },
      s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: ICONS[icon], fill: "currentColor" })));
    this.first = button("first", "To the beginning", () => this.go(0));
    this.back = button("back", "One decision back", () => this.go(this.step - 1));
    this.run = h("button", { type: "button", name: "run", class: "run", onclick: () => this.toggle() }, "Play");
    this.forward = button("forward", "One decision forward", () => { this.stop(); this.onward(); });
    this.last = button("last", "To the latest decision", () => this.go(this.page.live.steps));
    this.slider = h("input", { type: "range", name: "decision", min: 0, max: live.steps, value: frame.step, "aria-label": "Decision", oninput: () => this.go(Number(this.slider.value)) });
    this.number = h("output", {});
    const speeds = h("select", { name: "speed", "aria-label": "Speed", onchange: (event) => { this.speed = event.target.value; set("speed", this.speed); } },
      Object.keys(SPEEDS).map((speed) => h("option", { value: speed, selected: speed === this.speed }, speed)));
    const players = frame.scene.seats.map(({ player }) => player).sort((a, b) => a - b);
    const choices = [["all", "all cards"], ["mover", "the player to move"], ...players.map((player) => [`${player}`, `player ${player}`])];
    const chooser = h("select", { name: "eyes", "aria-label": "Whose eyes", onchange: (event) => this.look(event.target.value) },
      choices.map(([value, words]) => h("option", { value, selected: value === `${eyes}` }, words)));
    const { rounds } = this.page;
    const jump = rounds.length ? h("select", { name: "jump", "aria-label": "Jump to", onchange: (event) => this.go(Number(event.target.value)) },
      h("option", { value: "", disabled: true, selected: true }, "a round …"), [{ step: 0, title: "the beginning" }, ...rounds].map(({ step, title }) => h("option", { value: step }, title.replace(`${this.page.game.title}, `, "")))) : null;
    const asking = h("input", { type: "checkbox", name: "asking", onchange: (event) => { this.isAsking = event.target.checked; this.page.lookAt(this.step); } });
    asking.checked = this.isAsking;
    this.element.replaceChildren(
      h("div", { class: "row" }, this.first, this.back, this.run, this.forward, this.last, this.slider, this.number),
      h("div", { class: "row" },
        h("label", {}, "Speed ", speeds),
        jump ? h("label", {}, "Jump to ", jump) : null,
        live.is_revealed ? h("label", {}, "Eyes ", chooser) : null,
        live.is_revealed ? h("label", {}, asking, " Ask the adviser about each decision") : null,
        about.kind === "play" && !live.is_over ? h("button", { type: "button", class: "quiet", onclick: () => this.go(this.page.live.steps) }, "Back to the game") : null));
    if (focused) this.element.querySelector(`[name="${focused}"]`)?.focus({ preventScroll: true });
  }

  get step() {
    return this.page.isBack ? this.page.wanted : this.page.frame.step;
  }

  go(step) {
    this.stop();
    this.page.lookAt(step);
    this.update();
  }

  look(value) {
    this.page.eyes = /^\d+$/.test(value) ? Number(value) : value;
    this.page.lookAt(this.step);
  }

  toggle() {
    if (this.isRunning) this.stop();
    else if (this.canForward) {
      this.isRunning = true;
      this.due = performance.now();
      this.onward();
    }
    this.update();
  }

  /**
   * A decision that was asked for has come: the next one is due an interval after this one was, whatever drawing takes.
   *
   * `live` is the state that an agent's decision has led to; null: what has come is of the past.
   */
  arrived(live, isRoundEnd) {
    if (!this.isRunning) return;
    clearTimeout(this.timer);
    const now = performance.now();
    const gap = isRoundEnd && this.page.isOn("pause") ? READING : SPEEDS[this.speed];
    this.due = Math.max(this.due, now - MOST_LATE) + gap;
    const onward = () => {
      if (live && !live.is_over) this.page.advance(live.steps);
      else if (!live && this.canForward) this.onward();
      else this.stop();
      if (!this.isRunning) this.update();
    };
    if (this.due > now) this.timer = setTimeout(onward, this.due - now);
    else onward();
  }

  onward() {
    const { live } = this.page;
    if (this.step < live.steps) this.page.lookAt(this.step + 1);
    else if (this.canForward) this.page.advance(live.steps);
  }
}
