// Basis functions: the incremental construction of paper C, section 3.2, with widths as you like them.

import { coordinateMatrix, orthonormalize } from "./basis.mjs";
import { evaluate, polynomials } from "./features.mjs";
import { matrix, times, transposeTimes } from "./linalg.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import { fitSVM } from "./svm.mjs";
import { button, choice, digits, element, frame, legend, numberList, slider } from "./ui.mjs";

const X = [0, 10];
const WIDTHS = [0.1, 4];

/** Narrow stripes on the left, wide ones on the right. */
export function start() {
  const stripes = [[0.3, 1], [0.6, 1], [0.9, -1], [1.2, -1], [1.5, 1], [1.8, 1], [2.2, -1], [2.5, -1],
    [3.2, 1], [3.8, 1], [4.4, 1], [5.1, -1], [5.7, -1], [6.3, -1], [6.9, 1], [7.6, 1], [8.3, 1],
    [9.0, -1], [9.6, -1], [5.4, 1]];
  return stripes.map(([x, y]) => ({ x, y }));
}

/** The first two functions: at the first samples of either class. */
export function firstFunctions(points, width) {
  const chosen = [1, -1].map((label) => points.find((p) => p.y === label)).filter(Boolean);
  return chosen.map((p) => ({ x: p.x, y: width }));
}

/** The SVM on the span of the functions beside the free features. */
export function compute(points, functions, { C, degree }, last = null) {
  const xs = points.map((p) => p.x);
  const basis = orthonormalize(functions.map((f) => ({ center: f.x, width: f.y })));
  const Z = coordinateMatrix(basis, xs);
  const M = Z.cols;
  const G = matrix(xs.length, xs.length, (i, j) => {
    let sum = 0;
    for (let k = 0; k < M; k++) sum += Z.data[i * M + k] * Z.data[j * M + k];
    return sum;
  });
  const features = polynomials(degree, [X[0]], [X[1]]);
  const y = Float64Array.from(points, (p) => p.y);
  const solution = fitSVM(G, evaluate(features, xs.map((x) => [x])), y, C, last);
  const w = transposeTimes(Z, solution.beta);
  return {
    ...solution, basis, features, w,
    errors: points.filter((p, i) => p.y * solution.values[i] <= 0).length,
  };
}

/** f and the orthonormal functions on a grid. */
export function onGrid({ basis, features, w, lam }, grid) {
  const Z = coordinateMatrix(basis, grid);
  const free = times(evaluate(features, grid.map((x) => [x])), lam);
  return { Z, f: times(Z, w).map((v, i) => v + free[i]) };
}

/** The sample with the smallest y f(x) among those at which no function is centred. */
export function mostMisclassified(points, functions, values) {
  let best = null;
  let worst = Infinity;
  points.forEach((p, i) => {
    if (p.y * values[i] < worst && !functions.some((f) => f.x === p.x)) [worst, best] = [p.y * values[i], p];
  });
  return best;
}

export function basisFunctions(root) {
  const points = start();
  const functions = firstFunctions(points, 1);
  const grid = range(X[0], X[1], 321);
  let solutions = [];
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: [-3, 3], aspect: 0.42, redraw: go });
  const widths = new Plot({ x: X, y: [0, WIDTHS[1]], aspect: 0.3, redraw: go });
  const small = (x, y, label) => new Plot({ x, y, aspect: 0.62, label, small: true, redraw: go });
  const orthonormal = small(X, [-2.5, 2.5], "The orthonormal functions; the newest is drawn bold.");
  const progress = small([0, 1], [0, 1], "The objective after each step; it never rises.");
  const C = slider({
    name: "C", label: "price C of a unit of loss", min: 0.01, max: 1000, step: 0.1, value: 10, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const degree = choice({
    name: "degree", label: "free features", value: "0", change: go,
    options: [["0", "bias only: 1"], ["1", "linear: 1, x"], ["2", "quadratic: 1, x, x²"]],
  });
  const width = slider({
    name: "width", label: "width σ of the next function", min: WIDTHS[0], max: WIDTHS[1], step: 0.02, value: 1,
    log: true, show: (v) => v.toPrecision(3), change: () => {},
  });
  const numbers = numberList([
    ["count", "functions"], ["objective", "objective"], ["gap", "duality gap"], ["errors", "misclassified samples"],
    ["value", "f at the selected sample"], ["next", "most misclassified, no function there"],
  ]);
  const samples = new Points({
    plot, points, changed: go, say: view.say, noun: "sample", most: 60,
    added: (p) => p,
    place: (p) => ({ ...p, y: p.y > 0 ? 1 : -1 }),
    look: (p) => (p.y > 0 ? { shape: "square", kind: "mark mark-plus" } : { shape: "circle", kind: "mark mark-minus" }),
  });
  const editor = new Points({
    plot: widths, points: functions, changed: go, say: view.say, noun: "function", most: 40,
    added: (p) => p,
    place: (p) => ({ ...p, y: Math.max(WIDTHS[0], p.y) }),
    look: () => ({ shape: "diamond", kind: "mark mark-anchor" }),
  });
  editor.fields.y.row.firstChild.textContent = "width";
  editor.fields.y.input.setAttribute("min", WIDTHS[0]);
  const step = () => {
    const last = solutions[functions.length - 1];
    const target = last && mostMisclassified(points, functions, last.values);
    if (target) editor.add({ x: target.x, y: width.value });
    else view.say("Every sample has a function.");
  };
  const back = () => {
    editor.selected = functions.length - 1;
    editor.remove();
  };
  const restart = () => {
    points.splice(0, points.length, ...start());
    functions.splice(0, functions.length, ...firstFunctions(points, width.value));
    [samples, editor].forEach((e) => e.select(0, false));
    go();
  };
  const figure = (part, text) => element("figure", {}, part.node, element("figcaption", {}, text));
  root.append(
    legend([["line-free", "f"], ["line-margin", "margins ±1"], ["mark mark-minus", "class −1"],
      ["mark mark-plus", "class +1"], ["mark mark-anchor", "a basis function: its centre and its width"]]),
    samples.node, samples.bar,
    element("div", { class: "pg-bar", role: "group", "aria-label": "The construction" },
      button("step", "Add a function at the most misclassified sample", step),
      button("back", "Take the last one back", back), button("reset", "Start again", restart)),
    element("p", { class: "pg-caption" }, "The functions: drag one sideways to move its centre, up to widen it."),
    editor.node, editor.bar,
    element("div", { class: "pg-pair" },
      figure(orthonormal, "orthonormal functions, the newest bold"), figure(progress, "objective, step by step")),
    element("div", { class: "pg-controls" }, width.row, C.row, degree.row), numbers.list, view.live);
  const plots = [plot, widths, orthonormal, progress];
  plots.forEach((p) => p.resize());

  function update() {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    const settings = { C: C.value, degree: Number(degree.value) };
    solutions = functions.map((_, k) => compute(points, functions.slice(0, k + 1), settings, solutions[k]));
    const now = solutions[solutions.length - 1];
    const { Z, f } = onGrid(now, grid);
    plot.path("margins", "line-margin", [1, -1].map((v) => `M${plot.px(X[0])} ${plot.py(v)}H${plot.px(X[1])}`).join(""));
    plot.path("zero", "line-thin", `M${plot.px(X[0])} ${plot.py(0)}H${plot.px(X[1])}`);
    plot.curve("f", "line-free", grid, f);
    drawOrthonormal(Z);
    drawProgress();
    samples.draw();
    editor.draw();
    const next = mostMisclassified(points, functions, now.values);
    numbers.show("count", `${functions.length}, ${now.basis.kept.length} independent`);
    numbers.show("objective", now.primal);
    numbers.show("gap", Math.max(0, now.gap).toExponential(1));
    numbers.show("errors", String(now.errors));
    numbers.show("value", now.values[samples.selected] ?? NaN);
    numbers.show("next", next ? `x = ${next.x.toFixed(2)}` : "none");
    return `${functions.length} functions, objective ${digits(now.primal, 3)}, ${now.errors} misclassified.`;
  }

  function drawOrthonormal(Z) {
    const column = (k) => grid.map((_, i) => Z.data[i * Z.cols + k]);
    let older = "";
    const { px, py } = orthonormal;
    for (let k = 0; k + 1 < Z.cols; k++) {
      older += column(k).map((v, i) => `${i ? "L" : "M"}${px(grid[i]).toFixed(1)} ${py(v).toFixed(1)}`).join("");
    }
    orthonormal.path("older", "line-thin", older);
    orthonormal.curve("newest", "line-wrong", grid, column(Z.cols - 1));
  }

  function drawProgress() {
    const top = Math.max(...solutions.map((s) => s.primal), 1e-9);
    const d = solutions.map((s, k) => [(k + 0.5) / solutions.length, (0.9 * s.primal) / top + 0.05]);
    progress.curve("line", "line-free", d.map((p) => p[0]), d.map((p) => p[1]));
    const { px, py } = progress;
    progress.path("dots", "mark mark-sample", d.map(([x, y]) => `M${px(x) - 3} ${py(y)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`).join(""));
  }
}
