// Basis functions: the incremental construction of paper C, section 3.2, with widths as you like them.

import { coordinateMatrix, orthonormalize } from "./basis.mjs";
import { evaluate, polynomials } from "./features.mjs";
import { matrix, times, transposeTimes, work } from "./linalg.mjs";
import { Plot, range, tenths } from "./plot.mjs";
import { Points } from "./points.mjs";
import { startSVM } from "./svm.mjs";
import { button, choice, digits, element, figure, follow, frame, legend, numberList, permalink, slider, stage } from "./ui.mjs";

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

/**
 * The SVM on the span of the functions beside the free features, a fit to be advanced.
 *
 * Then, in the frames that follow, the same for the first functions alone, as the construction came
 * by: `steps` are their objectives.  The coordinates x̂ of fewer functions are the first of those of more.
 */
export function begin(points, functions, { C, degree }, last = null) {
  const xs = points.map((p) => p.x);
  const y = Float64Array.from(points, (p) => p.y);
  const features = polynomials(degree, [X[0]], [X[1]]);
  const P = evaluate(features, xs.map((x) => [x]));
  const basis = orthonormalize(functions.map((f) => ({ center: f.x, width: f.y })));
  const Z = coordinateMatrix(basis, xs);
  const ranks = functions.map((_, k) => orthonormalRank(basis, k));
  const solutions = functions.map(() => null);
  const start = (k) => startSVM(products(Z, ranks[k]), P, y, C, last?.warm[k]);
  const top = functions.length - 1;
  let at = top;
  let fit = start(top);
  let now = null;
  const describe = () => now && ({
    ...now, basis, features, w: transposeTimes(Z, now.beta),
    errors: y.filter((v, i) => v * now.values[i] <= 0).length,
    warm: solutions.map((s, k) => s ?? last?.warm[k] ?? null),
    steps: solutions.every(Boolean) ? solutions.map((s) => s.primal) : null,
  });
  return {
    done: false,
    get ready() { return at < top; },
    advance(budget = Infinity) {
      const end = work.done + budget;
      do {
        const result = fit.advance(end - work.done);
        if (at === top) now = result;
        if (!fit.done) break;
        solutions[at--] = result;
        this.done = at < 0;
        if (!this.done) fit = start(at);
      } while (!this.done && work.done < end);
      return describe();
    },
  };
}

export function compute(points, functions, settings, last = null) {
  return begin(points, functions, settings, last).advance();
}

/** How many of the first k + 1 functions are independent. */
function orthonormalRank({ positions }, k) {
  return positions.filter((position) => position <= k).length;
}

/** The inner products of the first M coordinates. */
function products(Z, M) {
  const { rows: m, cols, data } = Z;
  work.done += (m * m * M) / 2;
  const G = matrix(m, m);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let k = 0; k < M; k++) sum += data[i * cols + k] * data[j * cols + k];
      G.data[i * m + j] = G.data[j * m + i] = sum;
    }
  }
  return G;
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
  const fine = grid.filter((_, i) => i % 2 === 0);
  let shown = null;
  let steps = [];
  let drawn = "";
  const fits = follow((last) => begin(points, functions, { C: C.value, degree: Number(degree.value) }, last));
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: [-3, 3], aspect: 0.42, redraw: go });
  const widths = new Plot({ x: X, y: [0, WIDTHS[1]], aspect: 0.3, redraw: go });
  const small = (x, y, label) => new Plot({ x, y, aspect: 0.62, label, redraw: go });
  const orthonormal = small(X, [-2.5, 2.5], "The orthonormal functions; the newest is drawn bold.");
  const progress = small([0, 1], [0, 1], "The objective after each step; it never rises.");
  const C = slider({
    name: "C", label: "weight C of the losses", min: 0.01, max: 1000, step: 0.1, value: 10, log: true,
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
    plot, points, changed: go, say: view.say, noun: "sample",
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
    const target = shown && mostMisclassified(points, functions, shown.values);
    if (target) editor.add({ x: target.x, y: width.value });
    else editor.refuse("Every sample has a function already.");
    limit.textContent = editor.words.textContent;
  };
  const back = () => {
    editor.selected = functions.length - 1;
    editor.remove();
    limit.textContent = editor.words.textContent;
  };
  const restart = () => {
    points.splice(0, points.length, ...start());
    functions.splice(0, functions.length, ...firstFunctions(points, width.value));
    [samples, editor].forEach((e) => e.select(0, false));
    go();
  };
  const limit = element("span", { class: "pg-refusal" });
  root.append(
    stage([samples.node,
      legend([["line-free", "f"], ["line-margin", "margins ±1"], ["mark mark-minus", "class −1"],
        ["mark mark-plus", "class +1"], ["mark mark-anchor", "a basis function: its centre and its width"]]),
      element("p", { class: "pg-caption" }, "The functions: drag one sideways to move its centre, up to widen it."),
      editor.node],
    [element("div", { class: "pg-bar", role: "group", "aria-label": "The construction" },
      button("step", "Add a function at the most misclassified sample", step),
      button("back", "Take the last one back", back), button("reset", "Start again", restart), limit),
    element("div", { class: "pg-controls" }, width.row, C.row, degree.row)]),
    element("div", { class: "pg-pair" },
      figure(orthonormal, "orthonormal functions, the newest bold"), figure(progress, "objective, by number of functions")),
    samples.bar, editor.bar, numbers.list, view.live);
  permalink(root, {
    points: { points, keys: ["x", "y"], place: (p) => ({ ...p, y: p.y > 0 ? 1 : -1 }) },
    functions: { points: functions, keys: ["x", "y"], place: (p) => ({ ...p, y: Math.min(WIDTHS[1], Math.max(WIDTHS[0], p.y)) }) },
  }, go);
  const plots = [plot, widths, orthonormal, progress];
  plots.forEach((p) => p.resize());

  function update(changed) {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    const restart = shown && (shown.values.length !== points.length || shown.warm.length !== functions.length);
    const { shown: now, done } = fits.step(changed, restart);
    shown = now;
    steps = now.steps ?? steps;
    plot.path("margins", "line-margin", [1, -1].map((v) => `M${plot.px(X[0])} ${plot.py(v)}H${plot.px(X[1])}`).join(""));
    plot.path("zero", "line-thin", `M${plot.px(X[0])} ${plot.py(0)}H${plot.px(X[1])}`);
    plot.curve("f", "line-free", grid, onGrid(now, grid).f, true);
    drawOrthonormal(now.basis);
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
    if (!done) return null;
    return `${functions.length} functions, objective ${digits(now.primal, 3)}, ${now.errors} misclassified.`;
  }

  function drawOrthonormal(basis) {
    const { px, py, width: wide } = orthonormal;
    const key = JSON.stringify([wide, basis.kept]);
    if (key === drawn) return;
    drawn = key;
    const Z = coordinateMatrix(basis, fine);
    const column = (k) => fine.map((_, i) => Z.data[i * Z.cols + k]);
    let older = "";
    for (let k = 0; k + 1 < Z.cols; k++) {
      older += column(k).map((v, i) => `${i ? "L" : "M"}${tenths(px(fine[i]))} ${tenths(py(v))}`).join("");
    }
    orthonormal.path("older", "line-thin", older);
    orthonormal.curve("newest", "line-wrong", fine, column(Z.cols - 1));
  }

  function drawProgress() {
    if (!steps.length) return;
    const top = 10 ** Math.ceil(Math.log10(Math.max(...steps, 1e-9)));
    const room = [1, 2, 5, 10].map((k) => (k * top) / 10).find((v) => v >= Math.max(...steps));
    progress.show([0, Math.max(4, steps.length + 1)], [0, room]);
    const { px, py } = progress;
    const counts = steps.map((_, k) => k + 1);
    progress.curve("line", "line-free", counts, steps);
    progress.path("dots", "mark mark-sample", steps.map((v, k) =>
      `M${tenths(px(counts[k])) - 3} ${tenths(py(v))}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`).join(""));
  }
}
