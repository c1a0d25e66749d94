// Classification: the SVM with a generalized bias, its free part and its kernel part.

import { contour, drawMachine } from "./contour.mjs";
import { evaluate, polynomials, radial } from "./features.mjs";
import { gaussian, gaussianOnGrid, gram } from "./kernels.mjs";
import { times } from "./linalg.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import { startSVM } from "./svm.mjs";
import {
  button, choice, digits, element, figure, follow, frame, legend, numberList, permalink, randomNumbers, slider, stage,
} from "./ui.mjs";

const X = [-2, 2];
const Y = [-1.5, 1.5];

/** Two classes on both sides of a slanted line, each with an island in the other's half. */
export function start() {
  const random = randomNumbers(20112);
  const round = (v) => Math.round(100 * v) / 100;
  const islands = [{ x: -0.9, y: 0.85, label: 1 }, { x: 0.9, y: -0.85, label: -1 }];
  const points = [];
  while (points.length < 34) {
    const [x, y] = [1.9 * (2 * random() - 1), 1.4 * (2 * random() - 1)];
    const side = y - 0.4 * x;
    const near = islands.some((island) => Math.hypot(island.x - x, island.y - y) < 0.55);
    if (Math.abs(side) > 0.1 && !near) points.push({ x: round(x), y: round(y), label: side > 0 ? -1 : 1 });
  }
  for (const { x, y, label } of islands) {
    for (const [dx, dy] of [[-0.12, 0.04], [0.13, 0.08], [0.02, -0.13]]) {
      points.push({ x: round(x + dx), y: round(y + dy), label });
    }
  }
  return points;
}

export const MAPS = {
  bias: polynomials(0, [-1, -1], [1, 1]),
  linear: polynomials(1, [-1, -1], [1, 1]),
  quadratic: polynomials(2, [-1, -1], [1, 1]),
  radial: radial(),
};

/** The machine on the sample, a fit to be advanced; `last` is the one before, to start from. */
export function begin(points, { features, width, C }, last = null) {
  const inputs = points.map((p) => [p.x, p.y]);
  const y = Float64Array.from(points, (p) => p.label);
  const map = MAPS[features];
  const fit = startSVM(gram(gaussian(width), inputs), evaluate(map, inputs), y, C, last);
  const describe = (solution) => {
    if (!solution) return null;
    const limit = 1e-9 * C;
    const support = solution.done // before that, what it looks like
      ? Array.from(solution.alpha, (a) => (a <= limit ? 0 : a >= C - limit ? 2 : 1))
      : Array.from(solution.place, (p) => (p < 0 ? 0 : p + 1));
    return {
      ...solution, inputs, map, width, support,
      numbers: {
        primal: solution.primal, dual: solution.dual, gap: Math.max(0, solution.gap),
        seminorm: Math.sqrt(solution.seminorm2),
        supportVectors: support.filter((s) => s > 0).length,
        errors: y.filter((v, i) => v * solution.values[i] <= 0).length,
      },
    };
  };
  return {
    get done() { return fit.done; },
    advance: (budget) => describe(fit.advance(budget)),
  };
}

export function compute(points, settings, last = null) {
  return begin(points, settings, last).advance();
}

let grid = {};

/** Free part, kernel part and their sum on a grid. */
export function onGrid({ inputs, map, width, beta, lam }, xs, ys) {
  const kernel = gaussianOnGrid(width, inputs, beta, xs, ys);
  if (grid.map !== map || grid.xs !== xs || grid.ys !== ys) {
    grid = { map, xs, ys, P: evaluate(map, ys.flatMap((y) => xs.map((x) => [x, y]))) };
  }
  const free = times(grid.P, lam);
  return { free, kernel, whole: kernel.map((v, i) => v + free[i]) };
}

export function classification(root) {
  const points = start();
  const lattice = (n) => ({ xs: range(X[0], X[1], 4 * n + 1), ys: range(Y[0], Y[1], 3 * n + 1) });
  const [coarse, fine] = [lattice(10), lattice(15)];
  const fits = follow((last) => begin(
    points, { features: features.value, width: width.value, C: C.value }, last));
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: Y, aspect: 0.72, redraw: go });
  const part = (label) => new Plot({ x: X, y: Y, aspect: 0.75, small: true, label, redraw: go });
  const freePlot = part("The free part of f, with its zero line.");
  const kernelPlot = part("The kernel part of f, with its zero line.");
  const features = choice({
    name: "features", label: "free features", value: "linear", change: go,
    options: [["bias", "bias only: 1"], ["linear", "linear: 1, x, y"],
      ["quadratic", "quadratic: all of degree 2"], ["radial", "radial: 1, x² + y²"]],
  });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.1, max: 3, step: 0.02, value: 0.5, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const C = slider({
    name: "C", label: "weight C of the losses", min: 0.01, max: 1000, step: 0.1, value: 10, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const next = choice({
    name: "class", label: "class of a new sample", value: "1", change: () => {},
    options: [["1", "square (+1)"], ["-1", "circle (−1)"]],
  });
  const numbers = numberList([
    ["gap", "duality gap"], ["primal", "objective"], ["dual", "proved lower bound"],
    ["supportVectors", "support vectors"], ["errors", "misclassified samples"], ["seminorm", "|f|, the kernel part's norm"],
    ["value", "f at the selected sample"],
  ]);
  const note = element("p", { class: "pg-note" });
  let support = [];
  const switchClass = () => {
    points[editor.selected].label *= -1;
    go();
  };
  const editor = new Points({
    plot, points, changed: go, say: view.say, noun: "sample",
    added: (p) => ({ ...p, label: Number(next.value) }),
    extra: (p) => `, class ${p.label > 0 ? "+1" : "−1"}`,
    extraKey: (key) => key === "s" && (switchClass(), true),
    look: (p, i) => ({
      shape: p.label > 0 ? "square" : "circle",
      kind: `mark ${p.label > 0 ? "mark-plus" : "mark-minus"} ${["", "mark-support", "mark-bound"][support[i] ?? 0]}`,
    }),
  });
  editor.bar.append(button("switch", "Switch class", switchClass), button("reset", "Start again", () => {
    points.splice(0, points.length, ...start());
    editor.select(0, false);
    go();
  }));
  const key = legend([["line-border", "f = 0"], ["line-margin", "f = ±1, the margins"], ["mark mark-minus", "class −1"],
    ["mark mark-plus", "class +1"], ["mark mark-minus mark-support", "support vector"],
    ["mark mark-minus mark-bound", "support vector at the bound C"]]);
  const pair = element("div", { class: "pg-pair" },
    figure(freePlot, "the free part"), figure(kernelPlot, "the kernel part"));
  const controls = element("div", { class: "pg-controls" }, features.row, width.row, C.row, next.row);
  if ("compact" in root.dataset) { // the picture of a first page: a plot, three controls and the two parts
    next.row.hidden = true;
    const words = legend([["line-border", "the border"], ["line-margin", "the margins"],
      ["mark mark-minus mark-support", "support vector"]]);
    root.append(stage([editor.node, words], [controls, pair, note]), view.live);
  } else {
    root.append(stage([editor.node, key], [controls, pair, note]), editor.bar, numbers.list, view.live);
    permalink(root, { points: { points, keys: ["x", "y", "label"] } }, go);
  }
  [plot, freePlot, kernelPlot].forEach((p) => p.resize());

  function update(changed) {
    if ([plot, freePlot, kernelPlot].some((p) => !p.width && !p.resize())) return "";
    const { shown, done } = fits.step(changed, support.length !== points.length);
    support = shown.support;
    const { xs, ys } = editor.dragging ? coarse : fine;
    const f = onGrid(shown, xs, ys);
    const line = (on, name, kind, values, level) =>
      on.path(name, kind, contour(values, xs, ys, level, on.px, on.py));
    drawMachine(plot, f.whole, xs, ys);
    freePlot.tint(f.free, xs.length, ys.length);
    line(freePlot, "zero", "line-border", f.free, 0);
    kernelPlot.tint(f.kernel, xs.length, ys.length);
    line(kernelPlot, "zero", "line-border", shown.seminorm2 > 1e-18 ? f.kernel : f.kernel.fill(1), 0);
    editor.draw();
    for (const [name, value] of Object.entries(shown.numbers)) {
      numbers.show(name, ["supportVectors", "errors"].includes(name) ? String(value) : value);
    }
    numbers.show("gap", shown.numbers.gap.toExponential(1));
    numbers.show("value", shown.values[editor.selected] ?? NaN);
    note.textContent = shown.numbers.supportVectors ? ""
      : "The features separate the samples alone: the kernel part is zero, for every kernel and every C.";
    if (!done) return null;
    return `${shown.numbers.supportVectors} support vectors, ${shown.numbers.errors} misclassified, objective ` +
      `${digits(shown.primal, 3)}, duality gap ${shown.numbers.gap.toExponential(0)}.`;
  }
}
