// The path in C: scrub C, and see every α run along straight lines from breakpoint to breakpoint.

import { MAPS, onGrid } from "./classification.mjs";
import { drawMachine } from "./contour.mjs";
import { evaluate } from "./features.mjs";
import { gaussian, gram } from "./kernels.mjs";
import { breakpoints, startPath } from "./pathpieces.mjs";
import { Plot, range, tenths } from "./plot.mjs";
import { Points } from "./points.mjs";
import { fitSVM } from "./svm.mjs";
import {
  button, choice, element, frame, legend, numberList, permalink, randomNumbers, SHARE, slider, stage,
} from "./ui.mjs";

const X = [-2, 2];
const Y = [-1.5, 1.5];
export const LIMITS = [0.01, 1000];

/** Two classes that overlap along a slanted line. */
export function start() {
  const random = randomNumbers(2004);
  const round = (v) => Math.round(100 * v) / 100;
  return Array.from({ length: 20 }, () => {
    const [x, y] = [1.7 * (2 * random() - 1), 1.2 * (2 * random() - 1)];
    return { x: round(x), y: round(y), label: y - 0.4 * x + 2 * (random() - 0.5) > 0 ? 1 : -1 };
  });
}

/** The path of these samples, to be advanced, with what is needed to solve at one C. */
export function begin(points, { features, width }) {
  const inputs = points.map((p) => [p.x, p.y]);
  const y = Float64Array.from(points, (p) => p.label);
  const map = MAPS[features];
  const G = gram(gaussian(width), inputs);
  const P = evaluate(map, inputs);
  return {
    inputs, map, width, path: startPath(G, P, y, LIMITS),
    at: (C, last) => ({ inputs, map, width, ...fitSVM(G, P, y, C, last) }),
  };
}

const WORDS = { "-1,0": "reaches its margin", "0,-1": "drops out, α = 0", "1,0": "leaves the bound C", "0,1": "reaches the bound C" };

/** What happens at a breakpoint, in words. */
export function sentence({ C, changes }) {
  const what = changes.map(({ sample, from, to }) =>
    `sample ${sample + 1} ${WORDS[[from, to]] ?? "goes from one bound to the other"}`);
  return `At C = ${C.toPrecision(5)} ${what.join(", ")}.`;
}

export function path(root) {
  const points = start();
  const [xs, ys] = [range(X[0], X[1], 49), range(Y[0], Y[1], 37)];
  const logs = LIMITS.map(Math.log10);
  let problem = null;
  let solution = null;
  let exact = null; // the C of a breakpoint, which no position of the slider meets
  let drawn = null;
  const view = frame(root, update);
  const go = () => view.schedule();
  const anew = () => {
    problem = null;
    exact = null;
    go();
  };
  const plot = new Plot({ x: X, y: Y, aspect: 0.68, redraw: go });
  const lines = new Plot({ x: logs, y: [-0.08, 1.08], aspect: 0.34, redraw: () => { drawn = null; go(); },
    label: "α / C of every sample over log₁₀ C; it is 1 at the bound and 0 for samples that are no support vectors." });
  const C = slider({
    name: "C", label: "weight C of the losses", min: LIMITS[0], max: LIMITS[1], step: 0.01, value: 1, log: true,
    show: (v) => v.toPrecision(3), change: () => { exact = null; go(); },
  });
  const features = choice({
    name: "features", label: "free features", value: "linear", change: anew,
    options: [["bias", "bias only: 1"], ["linear", "linear: 1, x, y"], ["quadratic", "quadratic: all of degree 2"]],
  });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.1, max: 3, step: 0.02, value: 0.5, log: true,
    show: (v) => v.toPrecision(3), change: anew,
  });
  const numbers = numberList([
    ["C", "C"], ["breakpoints", "breakpoints between 0.01 and 1000"], ["free", "support vectors on their margin"],
    ["bound", "support vectors at the bound C"], ["seminorm", "|f|, the kernel part's norm"], ["gap", "duality gap at this C"],
  ]);
  const note = element("p", { class: "pg-note", role: "status" });
  const current = () => exact ?? C.value;
  const step = (direction) => {
    const list = problem ? breakpoints(problem.path.pieces).map((b) => b.C) : [];
    const next = direction > 0
      ? list.find((c) => c > current() * (1 + 1e-6)) : list.findLast((c) => c < current() * (1 - 1e-6));
    if (next === undefined) {
      note.textContent = direction > 0 ? "No breakpoint at a larger C." : "No breakpoint at a smaller C.";
      return;
    }
    exact = next;
    C.input.value = Math.log10(next);
    C.input.dispatchEvent(new Event("restored"));
    go();
  };
  const editor = new Points({
    plot, points, changed: anew, say: view.say, noun: "sample", most: 40, least: 2,
    added: (p) => ({ ...p, label: p.y > 0.4 * p.x ? 1 : -1 }),
    extra: (p) => `, class ${p.label > 0 ? "+1" : "−1"}`,
    extraKey: (key) => key === "s" && (switchClass(), true),
    look: (p, i) => ({
      shape: p.label > 0 ? "square" : "circle",
      kind: `mark ${p.label > 0 ? "mark-plus" : "mark-minus"} ${["", "mark-support", "mark-bound"][(solution?.place[i] ?? -1) + 1]}`,
    }),
  });
  const switchClass = () => {
    points[editor.selected].label *= -1;
    anew();
  };
  editor.bar.append(button("switch", "Switch class", switchClass), button("reset", "Start again", () => {
    points.splice(0, points.length, ...start());
    editor.select(0, false);
    anew();
  }));
  root.append(
    stage([editor.node,
      element("p", { class: "pg-caption" }, "α / C of every sample over log₁₀ C; ticks below: breakpoints. Bold: the selected sample."),
      lines.node,
      legend([["line-border", "f = 0"], ["line-margin", "f = ±1, and the present C"], ["mark mark-minus mark-support", "support vector"],
        ["mark mark-minus mark-bound", "support vector at the bound C"]])],
    [element("div", { class: "pg-controls" }, C.row),
      element("div", { class: "pg-bar", role: "group", "aria-label": "Breakpoints" },
        button("earlier", "‹ breakpoint", () => step(-1)), button("later", "breakpoint ›", () => step(1))),
      note, element("div", { class: "pg-controls" }, width.row, features.row)]),
    editor.bar, numbers.list, view.live);
  permalink(root, { points: { points, keys: ["x", "y", "label"] } }, anew);
  const plots = [plot, lines];
  plots.forEach((p) => p.resize());

  function update() {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    if (!problem) {
      problem = begin(points, { features: features.value, width: width.value });
      solution = null;
      drawn = null;
    }
    solution = problem.at(current(), solution);
    problem.path.advance(SHARE);
    const f = onGrid(solution, xs, ys);
    drawMachine(plot, f.whole, xs, ys);
    editor.draw();
    drawPath();
    const count = (place) => String(solution.place.filter((p) => p === place).length);
    const found = breakpoints(problem.path.pieces);
    numbers.show("C", current());
    numbers.show("breakpoints", problem.path.done ? String(found.length) : "…");
    numbers.show("free", count(0));
    numbers.show("bound", count(1));
    numbers.show("seminorm", Math.sqrt(solution.seminorm2));
    numbers.show("gap", Math.max(0, solution.gap).toExponential(1));
    const here = exact && found.find((b) => Math.abs(b.C / exact - 1) < 1e-6);
    note.textContent = here ? sentence(here)
      : solution.place.every((p) => p < 0) ? "The features separate the samples: α = 0 for every C."
        : problem.path.unclear ? "Where α is not unique, as for equal samples, single solutions are drawn." : "";
    if (!problem.path.done) return null;
    return `${found.length} breakpoints; at C ${current().toPrecision(3)} ${count(0)} support vectors on their margin, ${count(1)} at the bound. ${note.textContent}`;
  }

  function drawPath() {
    const { px, py } = lines;
    const { pieces, done } = problem.path;
    const key = `${pieces.length} ${done} ${editor.selected}`;
    if (key !== drawn) {
      drawn = key;
      const trace = (i) => pieces.map((p, k) => {
        const n = Math.max(2, Math.ceil(12 * Math.log10(p.to / p.from)) + 1);
        return range(Math.log10(p.from), Math.log10(p.to), n).map((u, j) => {
          const share = p.at[i] / 10 ** u + p.slope[i];
          return `${j || (k && pieces[k - 1].to === p.from) ? "L" : "M"}${tenths(px(u))} ${tenths(py(share))}`;
        }).join("");
      }).join("");
      const of = (label) => points.map((p, i) => (p.label === label ? trace(i) : "")).join("");
      lines.path("minus", "line-minus", of(-1));
      lines.path("plus", "line-plus", of(1));
      lines.path("chosen", "line-border", trace(editor.selected));
      lines.path("breaks", "line-thin", breakpoints(pieces).map((b) => `M${tenths(px(Math.log10(b.C)))} ${lines.box.bottom}v-9`).join(""));
    }
    lines.path("now", "line-margin", `M${tenths(px(Math.log10(current())))} ${lines.box.top}V${lines.box.bottom}`);
  }
}
