/** The tables that this browser has sat at and whose games are not over. */

const KEY = "unfinished";
const MOST = 8;

export function unfinished() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

/** Keep how a game stands; `about` is null when it is over or gone. */
export function remember(table, about) {
  const others = unfinished().filter((entry) => entry.table !== table);
  localStorage.setItem(KEY, JSON.stringify((about ? [{ table, ...about }, ...others] : others).slice(0, MOST)));
}
