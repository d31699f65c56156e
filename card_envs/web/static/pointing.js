/**
 * Which places of the table have been pointed at, and which actions are still meant.
 *
 * No game is known here: the server says with each legal action what it needs, as keys of places (card_envs/web/pointing.py).
 * Whatever needs nothing can still be chosen from the list of actions.
 */

/** All zones of a scene: their keys, zones, and owners (null: nobody). */
export function zonesOf(scene) {
  return [
    ...scene.zones.map((zone) => ({ key: `-/${zone.name}`, zone, seat: null })),
    ...scene.seats.flatMap((seat) =>
      seat.zones.map((zone) => ({ key: `${seat.player}/${zone.name}`, zone, seat }))),
  ];
}

/** What has been pointed at so far, and which actions are still meant. */
export class Pointing {
  constructor(legal) {
    this.actions = legal.map((entry) => ({ ...entry, needs: new Map(Object.entries(entry.needs)) }));
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

  /** The action that is complete, or the only one that is still meant; null: more has to be pointed at. */
  get settled() {
    const { meant } = this;
    return this.complete ?? (this.chosen.size && meant.length === 1 ? meant[0] : null);
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
