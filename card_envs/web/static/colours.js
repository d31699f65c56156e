/** Colours that can be read on one another: the rules of card_envs/render/colours.py. */

export const INK = "#1d2326";
export const PAPER = "#fdfaf2";
const [WHITE, BLACK] = ["#ffffff", "#000000"];
const READABLE = 4.5; // contrast of text, by WCAG 2
const LIT = 0.18; // white where a table is lightest: in the middle, where something has just happened

const rgb = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));

/** A colour with a share of another one. */
export function mixed(colour, other, share) {
  const [from, to] = [rgb(colour), rgb(other)];
  return `#${from.map((a, k) => Math.round(a + (to[k] - a) * share).toString(16).padStart(2, "0")).join("")}`;
}

function luminance(colour) {
  const [red, green, blue] = rgb(colour).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours by WCAG 2, from 1 to 21. */
function contrast(colour, other) {
  const [low, high] = [luminance(colour), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Black or white, whichever is easier to read on the ground. */
export function on(ground) {
  return contrast(BLACK, ground) >= contrast(WHITE, ground) ? BLACK : WHITE;
}

/** The colour, darkened or lightened until it can be read on the ground. */
export function readable(colour, ground) {
  let share = 0;
  while (contrast(mixed(colour, on(ground), share), ground) < READABLE && share < 1) share += 0.05;
  return mixed(colour, on(ground), Math.min(share, 1));
}

/** The colour of a game's table, darkened until white can be read on it even where it is lit. */
export function feltOf({ table }) {
  let felt = table;
  while (on(mixed(felt, WHITE, LIT)) !== WHITE) felt = mixed(felt, BLACK, 0.05);
  return felt;
}
