/** Elements, and what all pages do with the page around them. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Properties that begin with "on" are listeners, "data" and "style" are objects (the
 * latter of custom properties), the others are attributes; null and false are left out.
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for an element of an SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") {
      for (const [key, entry] of Object.entries(value)) element.style.setProperty(key, entry);
    } else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Words that a screen reader says. */
export function speak(words) {
  const spoken = document.getElementById("spoken");
  // A region that only ever grows would be read from the start by some readers.
  while (spoken.childNodes.length > 4) spoken.firstChild.remove();
  spoken.append(h("p", {}, words));
}

let hiding = 0;

/** Tell what went wrong, for a while. */
export function alertUser(words) {
  const box = document.getElementById("alert");
  box.textContent = words;
  clearTimeout(hiding);
  if (words) hiding = setTimeout(() => { box.textContent = ""; }, 8000);
}

export function capitalized(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

export const prefersCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A dialog with a heading; Esc closes it, and focus returns to where it was. */
export function showDialog(title, ...content) {
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "dialog-title", onclose: () => dialog.remove() },
    h("header", { class: "row" }, h("h2", { id: "dialog-title" }, title), h("button", { type: "button", class: "quiet close", onclick: () => dialog.close() }, "Close")),
    content);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.querySelector("dialog")?.remove();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
