/**
 * Which things on the table an action's words are about.
 *
 * No game is known here. An action names zones ("row 2"), slots ("slot 1 of the player 2 to the
 * left") and cards ("2 bears, 1 mole"), and the scene holds zones and cards by the same names.
 * Whatever an action does not name can still be chosen from the list of actions.
 */

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** All zones of a scene: their keys, zones, and owners (null: nobody). */
export function zonesOf(scene) {
  return [
    ...scene.zones.map((zone) => ({ key: `-/${zone.name}`, zone, seat: null })),
    ...scene.seats.flatMap((seat) =>
      seat.zones.map((zone) => ({ key: `${seat.player}/${zone.name}`, zone, seat }))),
  ];
}

/** The needs of each legal action: keys of places, and how many cards of which name and zone. */
export function needsOf(scene, legal) {
  const zones = zonesOf(scene);
  const patterns = placePatterns(zones);
  const cards = cardIndex(zones);
  return legal.map(({ action, words }) => ({ action, words, needs: needs(words, patterns, cards) }));
}

function needs(words, patterns, cards) {
  const found = new Map();
  let rest = words;
  for (const { pattern, key } of patterns) {
    const shorter = rest.replace(pattern, " ");
    if (shorter !== rest) {
      found.set(key, 1);
      // A number that named a place names no further one.
      rest = shorter;
    }
  }
  for (const match of rest.matchAll(cards.pattern)) {
    const key = cards.keys.get(match[2]);
    found.set(key, (found.get(key) ?? 0) + Number(match[1] ?? 1));
  }
  return found;
}

function placePatterns(zones) {
  const others = zones.filter(({ seat }) => seat && seat.label !== "you");
  const patterns = [];
  const add = (text, key) => patterns.push({ pattern: new RegExp(`\\b${text}\\b`), key, length: text.length });
  for (const { key, zone, seat } of zones) {
    const name = escaped(zone.name);
    if (zone.layout === "slots") {
      const left = !seat || seat.label === "you" ? "" : ` of the player ${parseInt(seat.place, 10)} to the left`;
      zone.cards.forEach((_, k) => add(`${name} ${k}${left}`, `${key}/${k}`));
    } else if (!seat) {
      add(name, key);
      const short = name.replace(/ pile$/, "");
      if (short !== name) add(short, key);
    } else if (seat.label === "you") {
      add(name, key);
      // The only one of its kind may be numbered all the same.
      if (!/\d$/.test(name)) add(`${name} 1`, key);
    } else {
      const alike = others.filter((other) => other.zone.name.replace(/ \d+$/, "") === zone.name.replace(/ \d+$/, ""));
      const number = alike.findIndex((other) => other.key === key) + 1;
      add(`${name.replace(/ \d+$/, "")} ${number} to the left`, key);
    }
  }
  return patterns.sort((a, b) => b.length - a.length);
}

/** Where a card that is named lies: with the observer, under decision, or anywhere. */
function cardIndex(zones) {
  const keys = new Map();
  const ranks = new Map();
  for (const { key, zone, seat } of zones) {
    if (zone.layout === "slots") continue;
    for (const card of zone.cards.filter((entry) => entry.name)) {
      const rank = (seat?.label === "you" ? 2 : 0) + (zone.highlight || card.highlight ? 1 : 0);
      for (const name of [card.name, card.plural || `${card.name}s`]) {
        if (!(ranks.get(name) >= rank)) {
          ranks.set(name, rank);
          keys.set(name, `${key}/${card.name}`);
        }
      }
    }
  }
  const names = [...keys.keys()].sort((a, b) => b.length - a.length).map(escaped);
  const pattern = new RegExp(`(?:\\b(\\d+) )?\\b(${names.join("|") || "(?!)"})\\b`, "g");
  return { keys, pattern };
}

/** What has been pointed at so far, and which actions are still meant. */
export class Pointing {
  constructor(scene, legal) {
    this.actions = needsOf(scene, legal);
    this.chosen = new Map();
  }

  /** Actions that need everything that was pointed at; those that need least besides come first. */
  get meant() {
    const fitting = this.actions.filter(({ needs }) => this.fits(needs, this.chosen));
    return this.chosen.size ? fitting.sort((a, b) => missing(a.needs, this.chosen) - missing(b.needs, this.chosen)) : fitting;
  }

  /** The one action of which everything has been pointed at; null: there is none. */
  get complete() {
    const ready = this.meant.filter(({ needs }) => missing(needs, this.chosen) === 0);
    return this.chosen.size && ready.length === 1 ? ready[0] : null;
  }

  /** Whether pointing at this, once more than now, leaves any action. */
  canAdd(key) {
    const more = new Map(this.chosen).set(key, (this.chosen.get(key) ?? 0) + 1);
    return this.actions.some(({ needs }) => this.fits(needs, more));
  }

  count(key) {
    return this.chosen.get(key) ?? 0;
  }

  set(key, count) {
    if (count > 0) this.chosen.set(key, count);
    else this.chosen.delete(key);
  }

  clear() {
    this.chosen.clear();
  }

  fits(needs, chosen) {
    for (const [key, count] of chosen) if ((needs.get(key) ?? 0) < count) return false;
    return true;
  }
}

function missing(needs, chosen) {
  let count = 0;
  for (const [key, needed] of needs) count += needed - (chosen.get(key) ?? 0);
  return count;
}
