/** What a card, a mark or a counter is: shown beside it on hover, focus, or a touch. */

import { h } from "./dom.js";

const HOVERED = 400; // milliseconds that the pointer rests
const LONG = 450; // milliseconds that a finger rests on something that does something else when tapped

/** Explain whatever has `data-tip` within an element; `explain(target)` gives the words. */
export function letExplain(root, explain) {
  const bubble = h("div", { id: "tip", class: "tip", role: "tooltip", hidden: true });
  root.append(bubble);
  let shown = null;
  let top = 0; // where it was then
  let waiting = 0;
  let isTouched = false; // by a finger, whose tip a mouse left elsewhere on the page must not hide
  const hide = () => {
    clearTimeout(waiting);
    isTouched = false;
    shown?.removeAttribute("aria-describedby");
    shown = null;
    bubble.hidden = true;
  };
  const show = (target, byFinger = false) => {
    hide();
    if (!target?.isConnected) return;
    bubble.textContent = explain(target);
    bubble.hidden = !bubble.textContent;
    if (bubble.hidden) return;
    const [box, size] = [target.getBoundingClientRect(), bubble.getBoundingClientRect()];
    const x = Math.min(Math.max(box.x + box.width / 2 - size.width / 2, 4), document.documentElement.clientWidth - size.width - 4);
    const [above, below] = [box.y - size.height - 6, box.bottom + 6];
    // Above a button stands what is asked.
    const isBelow = above < 4 || (target.dataset.action && below + size.height < innerHeight);
    const y = isBelow ? below : above;
    bubble.style.setProperty("--x", `${x}px`);
    bubble.style.setProperty("--y", `${y}px`);
    target.setAttribute("aria-describedby", "tip");
    [shown, top, isTouched] = [target, box.y, byFinger];
  };
  const onscroll = () => {
    // What was explained may have been drawn anew, and a scroll that was over by then is told late.
    const isThere = (element) => element.getBoundingClientRect().y === top;
    const isSame = (element) => element.dataset.tip === shown.dataset.tip && isThere(element);
    if (shown && !shown.isConnected) {
      shown = [...root.querySelectorAll("[data-tip]")].find(isSame);
      shown?.setAttribute("aria-describedby", "tip");
    }
    if (!shown || !isThere(shown)) hide();
  };
  const tipped = (event) => event.target.closest?.("[data-tip]");
  root.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch" || isTouched || tipped(event) === shown) return;
    hide();
    waiting = setTimeout(() => show(tipped(event)), HOVERED);
  });
  root.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch" && !isTouched) hide(); });
  root.addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) show(tipped(event)); });
  root.addEventListener("focusout", hide);
  root.addEventListener("pointerdown", (event) => {
    const target = tipped(event);
    hide();
    if (event.pointerType !== "touch" || !target) return;
    if (target.closest("button, [role=button]")) waiting = setTimeout(() => show(target, true), LONG);
    else show(target, true);
  });
  root.addEventListener("pointerup", () => { if (bubble.hidden) clearTimeout(waiting); });
  const onkey = (event) => { if (event.key === "Escape") hide(); };
  document.addEventListener("keydown", onkey);
  addEventListener("scroll", onscroll, { passive: true });
  return () => {
    hide();
    bubble.remove();
    document.removeEventListener("keydown", onkey);
    removeEventListener("scroll", onscroll);
  };
}
