/** A game explained: its guide, read from Markdown, and the sentences that matter for something. */

import { h } from "./dom.js";

const ASIDE = /move by move|by number/i; // sections that say nothing of what is allowed
const known = new Map();

/** The guide of a game; it is asked for once. */
export function guideOf(game) {
  if (!known.has(game.id)) {
    known.set(game.id, fetch(`/api/games/${game.id}/guide`).then(async (answer) => new Guide(answer.ok ? await answer.text() : "")));
  }
  return known.get(game.id);
}

class Guide {
  constructor(markdown) {
    this.blocks = blocksOf(markdown);
    this.sentences = this.blocks
      .filter(({ kind, section }) => (kind === "p" || kind === "li") && section && !ASIDE.test(section))
      .flatMap(({ text }) => sentencesOf(text).map((sentence) => ({ text: sentence, stems: new Set(stems(sentence)) })));
    this.rarity = new Map();
    for (const sentence of this.sentences) {
      for (const stem of sentence.stems) this.rarity.set(stem, (this.rarity.get(stem) ?? 0) + 1);
    }
  }

  /** The sentences that share most with these words, the best first. */
  about(words, most = 1, least = 1) {
    const wanted = new Map();
    for (const stem of stems(words)) wanted.set(stem, Math.min((wanted.get(stem) ?? 0) + 1, 2));
    const scored = this.sentences.map((sentence) => {
      let score = 0;
      for (const [stem, weight] of wanted) if (sentence.stems.has(stem)) score += weight * Math.log(this.sentences.length / this.rarity.get(stem));
      return { sentence, score: score / (6 + sentence.stems.size) ** 0.5 };
    });
    return scored.filter(({ score }) => score > least).sort((a, b) => b.score - a.score).slice(0, most).map(({ sentence }) => sentence.text);
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
          h("thead", {}, h("tr", {}, head.map((cell) => (cell ? h("th", { scope: "col" }, inline(cell)) : h("td"))))),
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

/** Sentences; one in bold that heads a paragraph belongs to the next. */
function sentencesOf(text) {
  const found = [];
  for (const sentence of text.split(/(?<=[.!?]|[.!?]\*\*)\s+(?=[A-Z*`])/)) {
    if (/^\*\*[^*]+\*\*$/.test(found.at(-1) ?? "")) found.push(`${found.pop()} ${sentence}`);
    else found.push(sentence);
  }
  return found;
}

const stems = (text) => (plain(text).toLowerCase().match(/[a-z]+/g) ?? []).filter((word) => word.length > 2).map((word) => word.replace(/(ing|es|ed|s|e)$/, ""));
const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "").trim();

function blocksOf(markdown) {
  const blocks = [];
  let section = "";
  let open = null;
  let fence = null;
  for (const line of markdown.split("\n")) {
    const heading = /^(#+) (.*)/.exec(line);
    const item = /^ *(?:[-*]|\d+\.) (.*)/.exec(line);
    if (line.startsWith("```")) {
      if (fence) blocks.push(fence);
      fence = fence ? null : { kind: "code", text: "", section };
      open = null;
    } else if (fence) fence.text += `${line}\n`;
    else if (!line.trim() || line.startsWith("<!--")) open = null;
    else if (heading) {
      if (heading[1].length > 1) section = heading[2];
      blocks.push({ kind: "h", level: heading[1].length, text: heading[2], section });
      open = null;
    } else if (line.startsWith("|")) {
      if (open?.kind !== "table") blocks.push(open = { kind: "table", rows: [], section });
      if (!/^[|\s:-]+$/.test(line)) open.rows.push(line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim()));
      else if (!open.rows.length) open.rows.push(line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim()));
    } else if (item) blocks.push(open = { kind: "li", text: item[1], section });
    else if (open && open.kind !== "table") open.text += ` ${line.trim()}`;
    else blocks.push(open = { kind: "p", text: line.trim(), section });
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
