/** The tables that this browser has sat at and whose games are not over. */

import { lasting } from "./storage.js";

const KEY = "unfinished";
const MOST = 8;

export function unfinished() {
  try {
    return JSON.parse(lasting.get(KEY)) ?? [];
  } catch {
    return [];
  }
}

/** Keep how a game stands; `about` is null when it is over or gone. */
export function remember(table, about) {
  const others = unfinished().filter((entry) => entry.table !== table);
  lasting.set(KEY, JSON.stringify((about ? [{ table, ...about }, ...others] : others).slice(0, MOST)));
}
