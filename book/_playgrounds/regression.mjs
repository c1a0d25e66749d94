// Regression: G-RLS beside kernel ridge regression, and beside the formula that paper B prints.

import { evaluate, polynomials } from "./features.mjs";
import { factor, fit, printed26 } from "./grls.mjs";
import { cross, gaussian, gram } from "./kernels.mjs";
import { times } from "./linalg.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import {
  button, checkbox, digits, element, frame, legend, numberField, numberList, permalink, randomNumbers, slider, stage,
} from "./ui.mjs";

const X = [0, 10];
const Y = [-2, 6];

/** Noisy values of |5 − x|, in no particular order: paper B, section 4. */
export function start() {
  const random = randomNumbers(20071);
  return Array.from({ length: 24 }, (_, i) => {
    const x = (10 / 24) * (((7 * i + 3) % 24) + random());
    const noise = random() + random() + random() - 1.5;
    return { x: round(x), y: round(Math.abs(5 - x) + 0.8 * noise) };
  });
}

const round = (v) => Math.round(100 * v) / 100;

/** Everything that is shown, from the points and the settings; `degree` −1 is no feature at all. */
export function compute(points, { width, reg, degree, at, printed }, grid) {
  const inputs = points.map((p) => [p.x]);
  const y = Float64Array.from(points, (p) => p.y);
  const distinct = new Set(points.map((p) => p.x)).size;
  const used = Math.min(degree, distinct - 1);
  const features = polynomials(used, [X[0]], [X[1]]);
  const kernel = gaussian(width);
  const G = gram(kernel, inputs);
  const P = evaluate(features, inputs);
  const none = evaluate([], inputs);
  const factors = factor(G, reg);
  const free = fit(G, P, y, reg, factors);
  const ridge = fit(G, none, y, reg, factors);
  const wrong = printed && used >= 0 && points.length > features.length ? printed26(G, P, y, reg) : null;
  const where = [...grid, at].map((x) => [x]);
  const F = cross(kernel, where, inputs);
  const Pw = evaluate(features, where);
  const draw = ({ c, lam }) => {
    const trend = lam.length ? times(Pw, lam) : new Float64Array(where.length);
    return { trend, whole: times(F, c).map((v, i) => v + trend[i]) };
  };
  const loo = ({ loo: left }) => left.reduce((sum, e) => sum + e * e, 0) / left.length;
  const curves = { free: draw(free), ridge: draw(ridge), wrong: wrong && draw(wrong) };
  const last = grid.length;
  return {
    used, features: features.length, curves,
    numbers: {
      objective: free.objective, loo: loo(free), looRidge: loo(ridge),
      at: curves.free.whole[last], atRidge: curves.ridge.whole[last],
      objectiveWrong: wrong ? wrong.objective : NaN, atWrong: wrong ? curves.wrong.whole[last] : NaN,
    },
  };
}

export function regression(root) {
  const points = start();
  const [coarse, fine] = [range(X[0], X[1], 121), range(X[0], X[1], 241)];
  let at = 5;
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: Y, aspect: 0.56, redraw: go });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.1, max: 10, step: 0.05, value: 10 ** -0.3, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const reg = slider({
    name: "reg", label: "regularization γ", min: 1e-6, max: 10, step: 0.1, value: 1e-2, log: true,
    show: (v) => v.toExponential(1), change: go,
  });
  const degree = slider({
    name: "degree", label: "free polynomials up to degree", min: -1, max: 4, step: 1, value: 2,
    show: (v) => (v < 0 ? "none" : String(v)), change: go,
  });
  const printed = checkbox({ name: "printed", label: "show formula (26) of paper B as printed", value: false, change: go });
  const ridge = checkbox({ name: "ridge", label: "show ridge regression", value: true, change: go });
  const trend = checkbox({ name: "trend", label: "show the free part alone", value: false, change: go });
  const probe = numberField({
    name: "at", label: "read the curves at x =", min: X[0], max: X[1], value: at,
    change: (v) => { at = v; go(); },
  });
  const numbers = numberList([
    ["loo", "G-RLS: leave-one-out error"], ["looRidge", "ridge: leave-one-out error"],
    ["objective", "G-RLS: objective"], ["objectiveWrong", "(26) as printed: objective"],
    ["at", "G-RLS at that x"], ["atRidge", "ridge at that x"], ["atWrong", "(26) as printed at that x"],
  ]);
  const note = element("p", { class: "pg-note" });
  let features = 0;
  const editor = new Points({
    plot, points, changed: go, say: view.say, noun: "sample",
    added: (p) => p,
    look: (p, i) => (i < features
      ? { shape: "diamond", kind: "mark mark-anchor" } : { shape: "circle", kind: "mark mark-sample" }),
  });
  const reset = button("reset", "Start again", () => {
    points.splice(0, points.length, ...start());
    editor.select(0, false);
    go();
  });
  editor.bar.append(reset);
  const key = legend([["line-free", "G-RLS: polynomials free"], ["line-ridge", "ridge regression: nothing free"],
    ["line-wrong", "(26) as printed"], ["line-trend", "free part"], ["mark mark-sample", "samples"],
    ["mark mark-anchor", "first samples, the anchors of (26)"]]);
  root.append(
    stage([editor.node, key], [element("div", { class: "pg-controls" },
      width.row, reg.row, degree.row, ridge.row, printed.row, trend.row), note]),
    editor.bar, element("p", {}, probe.row), numbers.list, view.live);
  permalink(root, { points: { points, keys: ["x", "y"] } }, go);
  plot.resize();

  function update() {
    if (!plot.width && !plot.resize()) return "";
    const grid = editor.dragging ? coarse : fine;
    const result = compute(points, {
      width: width.value, reg: reg.value, degree: degree.value, at, printed: printed.value,
    }, grid);
    features = result.curves.wrong ? result.features : 0;
    const { curves } = result;
    const hidden = [];
    plot.curve("trend", "line-trend", trend.value ? grid : hidden, curves.free.trend);
    plot.curve("ridge", "line-ridge", ridge.value ? grid : hidden, curves.ridge.whole, true);
    plot.curve("wrong", "line-wrong", curves.wrong ? grid : hidden, curves.wrong ? curves.wrong.whole : hidden, true);
    plot.curve("free", "line-free", grid, curves.free.whole, true);
    key.only(["line-free", "mark mark-sample", ...(ridge.value ? ["line-ridge"] : []),
      ...(curves.wrong ? ["line-wrong", "mark mark-anchor"] : []), ...(trend.value ? ["line-trend"] : [])]);
    editor.draw();
    for (const [name, value] of Object.entries(result.numbers)) numbers.show(name, value);
    note.textContent = result.used < degree.value
      ? `Degree ${degree.value} needs ${degree.value + 1} distinct places; with these samples degree ${result.used} is free.`
      : printed.value && !curves.wrong
        ? "Formula (26) needs free features, and first samples at distinct places." : "";
    return `Leave-one-out error ${digits(result.numbers.loo, 3)} for G-RLS, ${digits(result.numbers.looRidge, 3)} for ridge.`;
  }
}
