/** The list of decisions that have been made. */

import { h } from "./dom.js";
import { playerDot } from "./scene.js";

export class MoveList {
  /** `onjump(step)` is called for a decision that is chosen, once the list may be used for that. */
  constructor(onjump) {
    this.onjump = onjump;
    this.list = h("ol", { class: "moves", tabindex: "0" });
    this.element = h("section", { class: "panel moves-panel", "aria-label": "Moves" }, h("h2", {}, "Moves"), this.list);
    this.moves = [];
  }

  set(moves, canJump) {
    this.moves = moves;
    this.list.replaceChildren(...moves.map((move, step) => this.row(move, step, canJump)));
    this.scroll();
  }

  add(move, step, canJump) {
    this.moves.length = step;
    while (this.list.childNodes.length > step) this.list.lastChild.remove();
    this.moves.push(move);
    this.list.append(this.row(move, step, canJump));
    this.scroll();
  }

  cut(steps) {
    this.moves.length = steps;
    while (this.list.childNodes.length > steps) this.list.lastChild.remove();
  }

  row(move, step, canJump) {
    const content = [playerDot(move.player), h("span", {}, h("span", { class: "unseen" }, `Player ${move.player}: `), move.words)];
    return h("li", {}, canJump ? h("button", { type: "button", class: "quiet", onclick: () => this.onjump(step) }, content) : content);
  }

  /** Mark the decision that led to what is shown. */
  mark(step) {
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const row = this.list.childNodes[step - 1];
    row?.setAttribute("aria-current", "step");
    if (row) this.list.scrollTop = row.offsetTop - this.list.clientHeight / 2;
  }

  scroll() {
    this.list.scrollTop = this.list.scrollHeight;
  }
}
