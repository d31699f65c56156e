/** Requests, and the talk with a table. */

/** Ask the server; what it refuses is an Error with its reason. */
export async function ask(path, body = undefined) {
  const options = body === undefined
    ? {}
    : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.problem ?? response.statusText);
  return answer;
}

/** Go to the table that an answer names, at a moment of its game, unless the person has gone to another page meanwhile. */
export async function goToTable(answer, moment = []) {
  const from = location.hash;
  const { table } = await answer;
  if (location.hash === from) location.hash = [`table=${table}`, ...moment].join("&");
}

/**
 * The talk with a table, which is taken up again after an interruption.
 *
 * `handlers` maps the types of messages to functions; "lost" tells of an interruption, "gone" of a
 * table that is no longer there, "full" of one that cannot be joined at present.
 */
export class Talk {
  constructor(table, handlers) {
    this.table = table;
    this.handlers = handlers;
    this.pause = 500;
    this.open();
  }

  open() {
    const address = new URL(`/tables/${this.table}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.onmessage = (event) => {
      this.pause = 500;
      const message = JSON.parse(event.data);
      this.handlers[message.type]?.(message);
    };
    this.socket.onclose = (event) => this.closed(event);
  }

  closed(event) {
    if (this.ended) return;
    const refused = { 4404: "gone", 4503: "full" }[event.code];
    if (refused) {
      this.handlers[refused](event.reason);
      return;
    }
    this.handlers.lost();
    setTimeout(() => { if (!this.ended) this.open(); }, this.pause);
    this.pause = Math.min(2 * this.pause, 8000);
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  end() {
    this.ended = true;
    this.socket.close();
  }
}

/** A replay as the end of a link: it stays in the browser, since servers get no fragments. */
export function toFragment(replay) {
  const bytes = new TextEncoder().encode(replay.trim());
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromFragment(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}
