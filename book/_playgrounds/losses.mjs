// Two losses, one outlier: the border by least squares and the border by the hinge, from the same samples.
//
// Both minimize (1/m) Σ loss(y_i f(x_i)) + γ|f|² with the same free features: G-RLS on the labels, for
// (y − f)² = (1 − yf)² where y = ±1, and the SVM with C = 1/(2γm).

import { MAPS } from "./classification.mjs";
import { contour } from "./contour.mjs";
import { evaluate } from "./features.mjs";
import { fit } from "./grls.mjs";
import { gaussian, gaussianOnGrid, gram } from "./kernels.mjs";
import { times } from "./linalg.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import { startSVM } from "./svm.mjs";
import {
  button, choice, digits, element, figure, follow, frame, legend, markPath, numberList, permalink, randomNumbers,
  slider, stage,
} from "./ui.mjs";

const X = [-2, 2];
const Y = [-1.5, 1.5];
const MARGINS = [-3, 5];
const LOSS = [0, 8];

/** Two classes above and below a slanted line, with some overlap; the first sample is the one to drag. */
export function start() {
  const random = randomNumbers(1951);
  const round = (v) => Math.round(100 * v) / 100;
  const points = [{ x: -0.3, y: 0.55, label: 1 }];
  while (points.length < 24) {
    const [x, y] = [1.5 * (2 * random() - 1), 1.0 * (2 * random() - 1)];
    const side = y - 0.3 * x;
    if (Math.abs(side) < 0.8) points.push({ x: round(x), y: round(y), label: side + 1.2 * (random() - 0.5) > 0 ? 1 : -1 });
  }
  return points;
}

/** Both machines on the sample, a fit to be advanced; `last` is the one before, to start from. */
export function begin(points, { features, width, reg }, last = null) {
  const inputs = points.map((p) => [p.x, p.y]);
  const y = Float64Array.from(points, (p) => p.label);
  const map = MAPS[features];
  const G = gram(gaussian(width), inputs);
  const P = evaluate(map, inputs);
  const squared = fit(G, P, y, reg);
  const svm = startSVM(G, P, y, 1 / (2 * reg * y.length), last?.hinge);
  return {
    get done() { return svm.done; },
    advance(budget) {
      const hinge = svm.advance(budget);
      if (!hinge) return null;
      const machine = (c, { lam, values }) => {
        const margins = values.map((f, i) => y[i] * f);
        return { c, lam, values, margins, errors: margins.filter((v) => v <= 0).length };
      };
      return {
        inputs, map, width, hinge, gap: hinge.gap, primal: hinge.primal,
        machines: { squared: machine(squared.c, squared), hinge: machine(hinge.beta, hinge) },
      };
    },
  };
}

export function compute(points, settings, last = null) {
  return begin(points, settings, last).advance();
}

/** f of one of the two machines on a grid. */
export function onGrid({ inputs, map, width }, { c, lam }, xs, ys) {
  const free = times(evaluate(map, ys.flatMap((y) => xs.map((x) => [x, y]))), lam);
  return gaussianOnGrid(width, inputs, c, xs, ys).map((v, i) => v + free[i]);
}

const LOSSES = { squared: (r) => (1 - r) ** 2, hinge: (r) => Math.max(0, 1 - r) };

export function losses(root) {
  const points = start();
  const lattice = (n) => ({ xs: range(X[0], X[1], 4 * n + 1), ys: range(Y[0], Y[1], 3 * n + 1) });
  const [coarse, fine] = [lattice(8), lattice(14)];
  const curve = range(MARGINS[0], MARGINS[1], 161);
  let count = 0;
  const fits = follow((last) => begin(points, { features: features.value, width: width.value, reg: reg.value }, last));
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: Y, aspect: 0.6, redraw: go });
  const part = (label) => new Plot({ x: MARGINS, y: LOSS, aspect: 0.62, label, redraw: go });
  const parts = {
    squared: part("The squared loss of every sample over its margin y f."),
    hinge: part("The hinge loss of every sample over its margin y f."),
  };
  const features = choice({
    name: "features", label: "free features", value: "linear", change: go,
    options: [["bias", "bias only: 1"], ["linear", "linear: 1, x, y"], ["quadratic", "quadratic: all of degree 2"]],
  });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.1, max: 3, step: 0.02, value: 1, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const reg = slider({
    name: "reg", label: "regularization γ", min: 1e-3, max: 10, step: 0.1, value: 1, log: true,
    show: (v) => v.toExponential(1), change: go,
  });
  const numbers = numberList([
    ["marginSquared", "margin y f, least squares"], ["marginHinge", "margin y f, hinge"],
    ["cSquared", "coefficient, least squares"], ["cHinge", "coefficient, hinge"],
    ["errorsSquared", "misclassified, least squares"], ["errorsHinge", "misclassified, hinge"],
  ]);
  const editor = new Points({
    plot, points, changed: go, say: view.say, noun: "sample", most: 60,
    added: (p) => ({ ...p, label: p.y > 0.3 * p.x ? 1 : -1 }),
    extra: (p) => `, class ${p.label > 0 ? "+1" : "−1"}`,
    look: (p) => (p.label > 0
      ? { shape: "square", kind: "mark mark-plus" } : { shape: "circle", kind: "mark mark-minus" }),
  });
  const switchClass = () => {
    points[editor.selected].label *= -1;
    go();
  };
  editor.extraKey = (key) => key === "s" && (switchClass(), true);
  editor.bar.append(button("switch", "Switch class", switchClass), button("reset", "Start again", () => {
    points.splice(0, points.length, ...start());
    editor.select(0, false);
    go();
  }));
  root.append(
    stage([editor.node, element("div", { class: "pg-pair" },
      figure(parts.squared, "squared loss, over y f"), figure(parts.hinge, "hinge, over y f")), legend([["line-ridge", "f = 0 by least squares"], ["line-free", "f = 0 by the hinge"],
      ["mark mark-minus", "class −1"], ["mark mark-plus", "class +1"], ["mark mark-anchor", "the selected sample, in the two losses"]])],
    [element("div", { class: "pg-controls" }, features.row, width.row, reg.row), numbers.list]),
    editor.bar, view.live);
  permalink(root, { points: { points, keys: ["x", "y", "label"] } }, go);
  const plots = [plot, parts.squared, parts.hinge];
  plots.forEach((p) => p.resize());

  function update(changed) {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    const { shown, done } = fits.step(changed, count !== points.length);
    count = points.length;
    const { xs, ys } = editor.dragging ? coarse : fine;
    for (const [name, kind] of [["squared", "line-ridge"], ["hinge", "line-free"]]) {
      const machine = shown.machines[name];
      plot.path(name, kind, contour(onGrid(shown, machine, xs, ys), xs, ys, 0, plot.px, plot.py));
      drawLoss(parts[name], kind, LOSSES[name], machine.margins);
      const title = name[0].toUpperCase() + name.slice(1);
      numbers.show(`margin${title}`, machine.margins[editor.selected] ?? NaN);
      numbers.show(`c${title}`, machine.c[editor.selected] ?? NaN);
      numbers.show(`errors${title}`, String(machine.errors));
    }
    editor.draw();
    if (!done) return null;
    const [a, b] = [shown.machines.squared, shown.machines.hinge].map((m) => digits(m.margins[editor.selected], 3));
    return `Margin of the selected sample ${a} by least squares, ${b} by the hinge.`;
  }

  /** The loss as a curve, a dot on it for every sample; what leaves the plot stays at its edge. */
  function drawLoss(at, kind, loss, margins) {
    at.curve("loss", kind, curve, curve.map(loss));
    const dot = (r, shape, size) => markPath(shape,
      at.px(Math.min(MARGINS[1], Math.max(MARGINS[0], r))), at.py(Math.min(LOSS[1], loss(r))), size);
    at.path("dots", "mark mark-sample", Array.from(margins, (r) => dot(r, "circle", 3)).join(""));
    at.path("chosen", "mark mark-anchor", dot(margins[editor.selected], "diamond", 4.5));
  }
}
