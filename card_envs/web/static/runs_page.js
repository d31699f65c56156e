/** Training runs as they come along, and leaderboards. */

import { ask } from "./api.js";
import { alertUser, h, s, signed } from "./dom.js";

const MILLISECONDS = 5000; // between two looks
const COLOURS = ["#0077b8", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3a97d6"];
const STEP = 0.25; // between two lines
const SIZE = { width: 640, height: 260, left: 58, right: 12, top: 12, bottom: 46 };

export class RunsPage {
  constructor(page, games) {
    this.games = games.games;
    this.found = h("div", { class: "found" });
    page.replaceChildren(h("div", { class: "startpage runs" },
      h("h1", {}, "Runs"),
      h("p", { class: "lead" }, "Rank reward of one learner among copies of each agent, with 95% intervals. The page follows the files; TensorBoard shows everything else."),
      this.found));
    this.look();
  }

  leave() {
    clearTimeout(this.timer);
    this.hasLeft = true;
  }

  async look() {
    try {
      const folder = await ask("/api/runs");
      const text = JSON.stringify(folder);
      if (text !== this.text && !this.hasLeft) this.draw(folder);
      this.text = text;
    } catch (error) {
      alertUser(error.message);
    }
    if (!this.hasLeft) this.timer = setTimeout(() => this.look(), MILLISECONDS);
  }

  draw({ runs, leaderboards }) {
    this.found.replaceChildren(
      ...(runs.length || leaderboards.length ? [] : [h("p", {}, "There is nothing in this folder yet.")]),
      ...drawComparison(runs),
      ...runs.map(drawRun),
      ...(leaderboards.length ? [h("h2", {}, "Leaderboards"), ...leaderboards.map((board) => drawLeaderboard(board, this.games.find(({ id }) => id === board.game)?.agents ?? []))] : []));
  }
}

const WORDS = { finished: "finished", training: "in training", stopped: "stopped" };
const count = (number) => Math.round(number).toLocaleString("en");

function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return `${Math.round(seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function drawRun(run) {
  const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h("article", { class: "panel run", data: { run: run.name } },
    h("header", { class: "row" }, h("h2", {}, run.name), h("span", { class: `badge ${run.state}` }, WORDS[run.state]), h("span", { class: "note" }, run.game)),
    h("progress", { max: run.target, value: run.decisions, "aria-label": "Decisions made" }),
    h("dl", { class: "facts" },
      fact("decisions", `${count(run.decisions)} of ${count(run.target)}`),
      fact("time so far", duration(run.seconds)),
      run.rate ? fact("decisions a second", count(run.rate)) : null,
      run.state !== "finished" && run.seconds_left !== null ? fact("left", duration(run.seconds_left)) : null,
      run.truncated ? fact("truncated games", `${(100 * run.truncated).toFixed(1)}%`) : null),
    run.at.length
      ? drawCurves(`Learning curve of ${run.name}`, run.target, run.curves.map((curve) => ({ ...curve, label: `against ${curve.against}`, at: run.at })))
      : h("p", { class: "note" }, "No evaluation yet."),
    run.agent ? h("p", {}, h("a", { class: "button", href: startAgainst(run.game, run.agent) }, "Play against it")) : null);
}

const startAgainst = (game, agent) => `#&game=${encodeURIComponent(game)}&agent=${encodeURIComponent(agent)}`;

/** The curves of several runs of one game against the same agent. */
function drawComparison(runs) {
  const groups = new Map();
  for (const run of runs.filter(({ at }) => at.length)) {
    for (const curve of run.curves) {
      const key = `${run.game} against ${curve.against}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push({ ...curve, label: run.name, at: run.at, target: run.target });
    }
  }
  return [...groups].filter(([, series]) => series.length > 1).map(([name, series]) =>
    h("article", { class: "panel run comparison" }, h("h2", {}, name), drawCurves(`Learning curves of ${series.length} runs, ${name}`, Math.max(...series.map(({ target }) => target)), series)));
}

/**
 * Learning curves in one picture.
 *
 * Args:
 *   title: What it shows, in words.
 *   target: How far the axis goes at least.
 *   series: Curves with `label`, `at`, `mean`, `interval` and `against`.
 */
function drawCurves(title, target, series) {
  const { width, height, left, right, top, bottom } = SIZE;
  const most = Math.max(target, ...series.flatMap(({ at }) => at), 1);
  const x = (decisions) => left + (decisions / most) * (width - left - right);
  const values = series.flatMap(({ mean, interval }) => [...mean, ...interval.filter(Boolean).flat()]);
  const [low, high] = [Math.min(-STEP, Math.floor(Math.min(...values) / STEP) * STEP), Math.max(STEP, Math.ceil(Math.max(...values) / STEP) * STEP)];
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const drawing = s("svg", { class: "curves", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (let value = low; value <= high; value += STEP) {
    drawing.append(
      s("line", { class: value ? "tick" : "tick zero", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, signed(value, 2)));
  }
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    drawing.append(s("text", { x: x(share * most), y: height - 27, "text-anchor": share === 1 ? "end" : "middle" }, `${(share * most / 1e6).toFixed(most < 1e7 ? 1 : 0)}M`));
  }
  drawing.append(s("text", { class: "axis", x: width / 2, y: height - 6, "text-anchor": "middle" }, "decisions of the learner"));
  series.forEach((curve, k) => {
    const { at: points } = curve;
    const colour = COLOURS[k % COLOURS.length];
    const known = points.map((_, j) => j).filter((j) => curve.interval[j]);
    const upper = known.map((j) => `${x(points[j])},${y(curve.interval[j][1])}`);
    const lower = known.map((j) => `${x(points[j])},${y(curve.interval[j][0])}`).reverse();
    drawing.append(
      ...(known.length ? [s("polygon", { points: [...upper, ...lower].join(" "), fill: colour, opacity: 0.2 })] : []),
      s("polyline", { points: points.map((at, j) => `${x(at)},${y(curve.mean[j])}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2 }),
      ...points.map((at, j) => s("circle", { cx: x(at), cy: y(curve.mean[j]), r: 3, fill: colour },
        s("title", {}, `${count(at)} decisions, ${curve.label}: ${signed(curve.mean[j], 3)} (${inWords(curve.interval[j])})`))));
  });
  const legend = h("ul", { class: "curvekeys" }, series.map((curve, k) => {
    return h("li", {}, h("i", { style: { "--player": COLOURS[k % COLOURS.length] } }), `${curve.label}: `, h("b", {}, signed(curve.mean.at(-1), 3)), ` (${inWords(curve.interval.at(-1))})`);
  }));
  return h("figure", {}, drawing, h("figcaption", {}, legend));
}

/** An interval of rank rewards; there is none where there were too few deals. */
function inWords(interval) {
  return interval ? interval.map((end) => signed(end, 3)).join(" to ") : "– fewer than 5 deals";
}

/**
 * The ends of an axis for values with intervals.
 *
 * A value whose interval is open says little: it gets an arrow at the edge if it lies far from all
 * closed ends, which would leave the others no room.
 */
function axisOf(measured) {
  const closed = measured.flatMap(({ interval }) => interval).filter((end) => end !== null);
  const ends = closed.length ? closed : measured.map(({ value }) => value);
  return [Math.min(...ends), Math.max(...ends)];
}

/** How strong agents are; those that are `offered` can be played against. */
function drawLeaderboard(board, offered) {
  const hasRatings = board.agents.some(({ rating }) => rating !== null);
  const value = (agent) => (hasRatings ? agent.rating : agent.rank);
  const interval = (agent) => (hasRatings ? agent.rating_ci95 : agent.rank_ci95);
  const [low, high] = axisOf(board.agents.map((agent) => ({ value: value(agent), interval: interval(agent) ?? [value(agent), value(agent)] })));
  const at = (number) => `${Math.min(Math.max((100 * (number - low)) / (high - low || 1), 0), 100)}%`;
  const digits = hasRatings ? 0 : 3;
  const drawWhisker = (mean, ends) => h("span", {
    class: `whisker${mean < low ? " below" : mean > high ? " above" : ""}`,
    style: { "--low": at(ends[0] ?? mean), "--high": at(ends[1] ?? mean), "--mean": at(mean) },
    "aria-hidden": "true",
  }, h("i"), h("b"));
  const drawInterval = (mean, ends) => [drawWhisker(mean, ends), h("small", {}, ends.map((end) => (end === null ? "open" : signed(end, digits))).join(" to "))];
  return h("article", { class: "panel" },
    h("header", { class: "row" }, h("h3", {}, board.name), h("span", { class: "note" }, `${board.game}, ${board.num_players ? `${board.num_players} players` : "tables of several sizes"}, ${count(board.deals)} deals`)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": board.name },
      h("table", { class: "grid board" },
        h("thead", {}, h("tr", {}, ["agent", hasRatings ? "rating" : "rank reward", "95% interval", hasRatings ? "rank reward" : null, "win share"].filter(Boolean).map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, board.agents.map((agent) => h("tr", {},
          h("th", { scope: "row" }, offered.includes(agent.name) ? h("a", { href: startAgainst(board.game, agent.name), title: "Play against it" }, agent.name) : agent.name),
          h("td", {}, h("b", {}, signed(value(agent), digits))),
          h("td", {}, interval(agent) ? drawInterval(value(agent), interval(agent)) : "– fewer than 5 deals"),
          hasRatings ? h("td", {}, signed(agent.rank, 3)) : null,
          h("td", {}, agent.win === null ? "" : agent.win.toFixed(3))))))));
}
