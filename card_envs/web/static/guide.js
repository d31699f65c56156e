/** A game explained: its guide, read from Markdown, and the paragraphs that matter for something. */

import { h } from "./dom.js";

const FOR = /\s*<!-- for: (.*?) -->/; // at the end of a paragraph: the beginnings of what it explains
const known = new Map();

/** The guide of a game, asked for until it has come once; where it does not come it is empty. */
export function guideOf(game) {
  if (!known.has(game.id)) {
    known.set(game.id, askFor(game).catch(() => {
      known.delete(game.id);
      return new Guide("");
    }));
  }
  return known.get(game.id);
}

async function askFor(game) {
  const answer = await fetch(`/api/games/${game.id}/guide`);
  if (!answer.ok) throw new Error(answer.statusText);
  return new Guide(await answer.text());
}

class Guide {
  constructor(markdown) {
    this.blocks = blocksOf(markdown);
  }

  /**
   * The paragraphs that explain a decision, an action or a counter, in the order of what they explain.
   *
   * A paragraph does if a clause begins with a phrase of its comment, such as `<!-- for: draw; peek at -->`.
   */
  rulesFor(...words) {
    const clauses = words.flatMap((each) => each.toLowerCase().split(/[:;,.]/)).map((clause) => ` ${clause.trim().replace(/^or /, "")} `);
    const place = ({ phrases = [] }) => clauses.findIndex((clause) => phrases.some((phrase) => clause.startsWith(` ${phrase} `)));
    return this.blocks.filter((block) => place(block) >= 0).sort((a, b) => place(a) - place(b));
  }

  /** What a table says of a card. */
  ofCard(name) {
    for (const { kind, rows } of this.blocks) {
      if (kind !== "table") continue;
      const [head, ...body] = rows;
      const row = body.find(([first]) => isMeant(plain(first), name));
      if (row) return row.slice(1).map((cell, k) => (cell ? `${plain(head[k + 1])}: ${plain(cell)}` : "")).filter(Boolean).join("; ");
    }
    return "";
  }

  /** The whole guide as elements. */
  draw() {
    return this.blocks.slice(this.blocks[0]?.level === 1 ? 1 : 0).map((block) => {
      if (block.kind === "h") return h(`h${Math.min(block.level + 1, 6)}`, {}, inline(block.text));
      if (block.kind === "p") return h("p", {}, inline(block.text));
      if (block.kind === "li") return h("p", { class: "item" }, inline(block.text));
      if (block.kind === "code") return h("pre", { tabindex: "0" }, block.text);
      const [head, ...body] = block.rows;
      return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": plain(head.join(", ")) || "Table" },
        h("table", { class: "grid" },
          h("thead", {}, h("tr", {}, head.map((cell) => (cell ? h("th", { scope: "col", class: "words" }, inline(cell)) : h("td"))))),
          h("tbody", {}, body.map(([first, ...cells]) => h("tr", {}, h("th", { scope: "row" }, inline(first)), cells.map((cell) => h("td", { class: "words" }, inline(cell))))))));
    });
  }
}

/** Whether a row of a table is about the card: by name, by one of its words, or within a range. */
function isMeant(label, name) {
  const range = /^(\d+) to (\d+)$/.exec(label);
  if (range) return /^\d+$/.test(name) && Number(name) >= Number(range[1]) && Number(name) <= Number(range[2]);
  return label === name || name.split(" ").includes(label);
}

/** The beginning of a paragraph: two sentences, besides one in bold that heads it. */
export function beginningOf({ text }) {
  const sentences = text.split(/(?<=[.!?]|[.!?]\*\*)\s+(?=[A-Z*`])/);
  return sentences.slice(0, sentences[0].endsWith("**") ? 3 : 2).join(" ");
}

export const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "").trim();

function blocksOf(markdown) {
  const blocks = [];
  let open = null;
  let fence = null;
  for (const line of markdown.split("\n")) {
    const heading = /^(#+) (.*)/.exec(line);
    const item = /^ *(?:[-*]|\d+\.) (.*)/.exec(line);
    if (line.startsWith("```")) {
      if (fence) blocks.push(fence);
      fence = fence ? null : { kind: "code", text: "" };
      open = null;
    } else if (fence) fence.text += `${line}\n`;
    else if (!line.trim() || (line.startsWith("<!--") && !FOR.test(line))) open = null;
    else if (heading) {
      blocks.push({ kind: "h", level: heading[1].length, text: heading[2] });
      open = null;
    } else if (line.startsWith("|")) {
      if (open?.kind !== "table") blocks.push(open = { kind: "table", rows: [] });
      if (!/^[|\s:-]+$/.test(line)) open.rows.push(line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim()));
      else if (!open.rows.length) open.rows.push(line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim()));
    } else if (item) blocks.push(open = { kind: "li", text: item[1] });
    else if (open && open.kind !== "table") open.text += ` ${line.trim()}`;
    else blocks.push(open = { kind: "p", text: line.trim() });
  }
  for (const block of blocks) {
    const found = FOR.exec(block.text ?? "");
    if (found) [block.text, block.phrases] = [block.text.replace(FOR, ""), found[1].split("; ")];
  }
  return blocks;
}

/** Bold, emphasis and code as elements; a link shows its words. */
export function inline(text) {
  const words = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return words.split(/(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)/).map((each) => {
    if (each.startsWith("**")) return h("b", {}, each.slice(2, -2));
    if (/^\*.+\*$/.test(each)) return h("em", {}, each.slice(1, -1));
    if (each.startsWith("`")) return h("code", {}, each.slice(1, -1));
    return each;
  });
}
