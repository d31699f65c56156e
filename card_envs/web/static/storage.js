/** What the browser keeps; if it keeps nothing (site data may be blocked, or full), the page does until it is left. */

function guarded(area) {
  const unkept = new Map();
  return {
    get(key) {
      if (unkept.has(key)) return unkept.get(key);
      try {
        return area().getItem(key);
      } catch {
        return null;
      }
    },
    set(key, value) {
      try {
        area().setItem(key, value);
        unkept.delete(key);
      } catch {
        unkept.set(key, value);
      }
    },
  };
}

// Where site data is blocked, even to name an area throws.
export const lasting = guarded(() => localStorage);
export const ofThisTab = guarded(() => sessionStorage);
