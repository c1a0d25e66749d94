// SMO step by step: which pair moves, how far it may, and what that is worth.

import { MAPS, onGrid, start } from "./classification.mjs";
import { drawMachine } from "./contour.mjs";
import { evaluate } from "./features.mjs";
import { gaussian, gram } from "./kernels.mjs";
import { matrix } from "./linalg.mjs";
import { Plot, range, tenths } from "./plot.mjs";
import { Points } from "./points.mjs";
import { begin, coefficients, measure, move, pick, updateMultipliers } from "./smosteps.mjs";
import { fitSVM } from "./svm.mjs";
import { button, choice, element, figure, frame, legend, numberList, permalink, slider, stage } from "./ui.mjs";

const X = [-2, 2];
const Y = [-1.5, 1.5];
const MANY = 2000; // pairwise steps that "to the end" may take

/** The solver at β = 0, and the optimum that it is after. */
export function prepare(points, { features, width, C, rho }) {
  const inputs = points.map((p) => [p.x, p.y]);
  const y = Float64Array.from(points, (p) => p.label);
  const map = MAPS[features];
  const G = gram(gaussian(width), inputs);
  const P = evaluate(map, inputs);
  const best = fitSVM(G, P, y, C);
  const others = matrix(P.rows, P.cols - 1, (i, p) => P.data[i * P.cols + p + 1]);
  return { inputs, map, width, best: -best.dual, ...begin(G, others, y, C, rho) };
}

/** Every other sample of the first page's. */
export const few = () => start().filter((_, i) => i % 2 === 0 || i > 34);

export function smo(root) {
  const points = few();
  const [xs, ys] = [range(X[0], X[1], 41), range(Y[0], Y[1], 31)];
  let state = null;
  const view = frame(root, update);
  const go = () => view.schedule();
  const anew = () => {
    state = null;
    go();
  };
  const plot = new Plot({ x: X, y: Y, aspect: 0.7, redraw: go });
  const bars = new Plot({ x: [0.2, 24.8], y: [-1.1, 1.1], aspect: 0.24, redraw: go,
    label: "β / C of every sample, upwards for class +1; the pair that moves next is drawn in purple." });
  const line = new Plot({ x: [0, 1], y: [0, 1], aspect: 0.5, left: 50, redraw: go,
    label: "The objective along the pair, a parabola, and how far the box lets it go." });
  const features = choice({
    name: "features", label: "free features", value: "bias", change: anew,
    options: [["bias", "bias only: one equation"], ["linear", "1, x, y: three equations"]],
  });
  const rule = choice({
    name: "rule", label: "pair", value: "first", change: go,
    options: [["first", "the most violating"], ["second", "the most gain"]],
  });
  const C = slider({
    name: "C", label: "weight C of the losses", min: 0.01, max: 1000, step: 0.1, value: 1, log: true,
    show: (v) => v.toPrecision(3), change: anew,
  });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.1, max: 3, step: 0.02, value: 0.5, log: true,
    show: (v) => v.toPrecision(3), change: anew,
  });
  const rho = slider({
    name: "rho", label: "penalty ρ on the equations", min: 1e-3, max: 100, step: 0.1, value: 1, log: true,
    show: (v) => v.toExponential(0), change: anew,
  });
  const numbers = numberList([
    ["steps", "pairwise steps"], ["violation", "violation"], ["minimum", "the minimum of q"], ["excess", "q(β) − the minimum"],
    ["bound", "its bound, ½ violation · mC"], ["residual", "equations missed by"], ["rounds", "updates of the multipliers"],
  ]);
  const note = element("p", { class: "pg-note", role: "status" });
  const next = () => pick(state, rule.value === "second");
  const steps = (n) => () => {
    for (let k = 0; k < n; k++) {
      const pair = next();
      if (!pair) break;
      move(state, pair);
    }
    go();
  };
  const renew = button("multipliers", "Update the multipliers", () => {
    updateMultipliers(state);
    go();
  });
  const editor = new Points({
    plot, points, changed: anew, say: view.say, noun: "sample", most: 60, least: 2,
    added: (p) => ({ ...p, label: p.y > 0.4 * p.x ? -1 : 1 }),
    extra: (p) => `, class ${p.label > 0 ? "+1" : "−1"}`,
    look: (p, i) => ({
      shape: p.label > 0 ? "square" : "circle",
      kind: `mark ${p.label > 0 ? "mark-plus" : "mark-minus"} ${place(i)}`,
    }),
  });
  const place = (i) => {
    const b = state ? Math.abs(state.beta[i]) : 0;
    return b === 0 ? "" : b === state.C ? "mark-bound" : "mark-support";
  };
  editor.bar.append(button("reset", "Start again", () => {
    points.splice(0, points.length, ...few());
    editor.select(0, false);
    anew();
  }));
  root.append(
    stage([editor.node,
      element("p", { class: "pg-caption" }, "β / C of every sample; purple: the next pair"),
      bars.node,
      legend([["line-wrong", "the pair that moves next"], ["line-border", "f = 0"], ["mark mark-minus mark-support", "support vector"],
        ["mark mark-minus mark-bound", "support vector at the bound C"]])],
    [element("div", { class: "pg-bar", role: "group", "aria-label": "Steps" },
      button("step", "Step", steps(1)), button("ten", "10 steps", steps(10)), button("all", "To the end", steps(MANY)),
      renew, button("zero", "Back to β = 0", anew)),
    element("div", { class: "pg-beside" }, note,
      figure(line, "q along the pair, over the step δ; dashed: the end of the box")),
    element("div", { class: "pg-controls" }, rule.row, features.row, C.row, rho.row, width.row)]),
    editor.bar, numbers.list, view.live);
  permalink(root, { points: { points, keys: ["x", "y", "label"] } }, anew);
  const plots = [plot, bars, line];
  plots.forEach((p) => p.resize());

  function update() {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    state ??= prepare(points, { features: features.value, width: width.value, C: C.value, rho: rho.value });
    rho.row.hidden = renew.hidden = !state.Q.cols;
    const pair = next();
    drawMachine(plot, onGrid({ ...state, lam: coefficients(state) }, xs, ys).whole, xs, ys);
    editor.draw();
    drawBars(pair);
    drawParabola(pair);
    const { q, residual } = measure(state);
    const violation = Math.max(0, pair?.violation ?? 0);
    numbers.show("steps", String(state.steps));
    numbers.show("violation", violation);
    numbers.show("minimum", state.best);
    numbers.show("excess", q - state.best);
    numbers.show("bound", (violation * state.y.length * state.C) / 2);
    numbers.show("residual", residual);
    numbers.show("rounds", String(state.rounds));
    const words = pair ? `Next: samples ${pair.i + 1} and ${pair.j + 1}, ${pair.step === pair.room ? "up to the end of the box" : "down to the bottom of the parabola"}.`
      : state.Q.cols && residual > 1e-6 * state.C ? "No pair violates any more, but the equations are missed: update the multipliers."
        : "No pair violates any more: β is optimal.";
    note.textContent = words;
    return `${state.steps} steps, violation ${violation.toPrecision(2)}. ${words}`;
  }

  function drawBars(pair) {
    const m = points.length;
    bars.show([0.2, m + 0.8], bars.y);
    const at = (i) => bars.px(i + 1);
    const bar = (i) => `M${tenths(at(i))} ${tenths(bars.py(0))}V${tenths(bars.py(state.beta[i] / state.C))}`;
    const of = (label) => points.map((p, i) => (p.label === label ? bar(i) : "")).join("");
    bars.path("zero", "line-thin", `M${bars.box.left} ${bars.py(0)}H${bars.box.right}`);
    bars.path("minus", "line-minus", of(-1));
    bars.path("plus", "line-plus", of(1));
    bars.path("pair", "line-wrong", pair ? [pair.i, pair.j].map((i) => {
      const to = (state.beta[i] + (i === pair.i ? 1 : -1) * pair.step) / state.C;
      return `M${tenths(at(i))} ${tenths(bars.py(0))}V${tenths(bars.py(to))}m-3 0h6`;
    }).join("") : "");
    const [a, b] = pair ? [points[pair.i], points[pair.j]] : [];
    plot.path("pair", "line-wrong", pair ? `M${plot.px(a.x)} ${plot.py(a.y)}L${plot.px(b.x)} ${plot.py(b.y)}` : "");
  }

  function drawParabola(pair) {
    if (!pair) return ["parabola", "end", "now", "then"].forEach((name) => line.path(name, "line-thin", ""));
    const { s, eta, room, step } = pair;
    const far = 1.15 * Math.max(step, Math.min(room, (2 * s) / eta));
    const q = (d) => -s * d + (eta * d * d) / 2;
    const low = q(Math.min(s / eta, far));
    const high = Math.max(q(far), -0.15 * low);
    line.show([0, far], [low + 0.08 * low, high]);
    const ds = range(0, far, 61);
    line.curve("parabola", "line-free", ds, ds.map(q));
    line.path("end", "line-ridge", room < far ? `M${tenths(line.px(room))} ${line.box.top}V${line.box.bottom}` : "");
    line.path("now", "mark mark-sample", dot(0, 0));
    line.path("then", "mark mark-anchor", dot(step, q(step)));
    return undefined;
  }

  function dot(x, y) {
    return `M${tenths(line.px(x)) - 4} ${tenths(line.py(y))}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`;
  }
}
