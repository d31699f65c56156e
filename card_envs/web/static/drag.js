/** Cards that are dragged with a mouse or a pen: the same as pointing at both places. */

import { h } from "./dom.js";

const FAR = 8; // pixels that make a drag

/**
 * Let what can be pointed at be dragged.
 *
 * Args:
 *   root: The table.
 *   ondrop(from, to): Keys of both places.
 */
export function letDrag(root, ondrop) {
  root.addEventListener("pointerdown", (event) => {
    const source = event.target.closest?.(".place[data-key]");
    if (!source || event.button !== 0 || event.pointerType === "touch") return;
    const start = [event.clientX, event.clientY];
    let flying = null;
    const move = (moved) => {
      const far = Math.hypot(moved.clientX - start[0], moved.clientY - start[1]);
      if (!flying && far > FAR) {
        flying = h("div", { class: "air dragged", "aria-hidden": "true" }, source.querySelector(".card").cloneNode(true));
        document.body.append(flying);
        root.classList.add("dragging");
      }
      flying?.style.setProperty("--x", `${moved.clientX}px`);
      flying?.style.setProperty("--y", `${moved.clientY}px`);
    };
    const end = (dropped) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      root.classList.remove("dragging");
      if (!flying) return;
      flying.remove();
      // The click that follows belongs to the drag.
      const swallow = (click) => click.stopPropagation();
      addEventListener("click", swallow, { capture: true });
      setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
      const below = document.elementFromPoint(dropped.clientX, dropped.clientY);
      const target = below?.closest("[data-key]:not(.zone)") ?? below?.closest("[data-drop], .zone[data-key]");
      const key = target?.dataset.key ?? target?.dataset.drop;
      if (dropped.type === "pointerup" && key && target !== source) ondrop(source.dataset.key, key);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  });
  root.addEventListener("dragstart", (event) => event.preventDefault());
}
