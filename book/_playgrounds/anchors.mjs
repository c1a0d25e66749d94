// Anchors: H, K and the cardinal features follow them, the fitted function does not.

import { conditionalSpace } from "./conditional.mjs";
import { evaluate, polynomials } from "./features.mjs";
import { fit } from "./grls.mjs";
import { cross, gaussian, gram } from "./kernels.mjs";
import { dot, times } from "./linalg.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import { start as samples } from "./regression.mjs";
import { button, choice, digits, element, figure, frame, legend, markPath, numberList, permalink, slider, stage } from "./ui.mjs";

const X = [0, 10];
const FLOOR = -2;
const CLOSEST = 0.02; // nearer anchors would leave no digits of the fit

export function startAnchors(count) {
  return [[5], [2, 8], [1, 5, 9]][count - 1].map((x) => ({ x, y: FLOOR }));
}

/** The fit through H and φ' of these anchors, and the fit that knows of none; null if they coincide. */
export function compute(points, anchors, { width, reg, degree }, grid) {
  const inputs = points.map((p) => [p.x]);
  const where = grid.map((x) => [x]);
  const y = Float64Array.from(points, (p) => p.y);
  const kernel = gaussian(width);
  const features = polynomials(degree, [X[0]], [X[1]]);
  const direct = fit(gram(kernel, inputs), evaluate(features, inputs), y, reg);
  const trend = times(evaluate(features, where), direct.lam);
  const reference = times(cross(kernel, where, inputs), direct.c).map((v, i) => v + trend[i]);
  const space = conditionalSpace(kernel, features, anchors.map((a) => [a.x]));
  if (!space) return { reference, space };
  const H = space.H(inputs);
  const { c, lam, objective, seminorm2 } = fit(H, space.cardinal(inputs), y, reg);
  const E = space.cardinal(where);
  const free = times(E, lam);
  const f = times(space.H(where, inputs), c).map((v, i) => v + free[i]);
  return {
    reference, space, f, free, E, lam,
    numbers: {
      objective, seminorm: Math.sqrt(seminorm2), norm: Math.sqrt(seminorm2 + dot(lam, lam)),
      moved: Math.max(...f.map((v, i) => Math.abs(v - reference[i]))),
    },
  };
}

export function anchors(root) {
  const points = samples();
  const grid = range(X[0], X[1], 201);
  const coarse = range(X[0], X[1], 56);
  const list = startAnchors(3);
  const view = frame(root, update);
  const go = () => view.schedule();
  const plot = new Plot({ x: X, y: [-2.4, 6], aspect: 0.46, redraw: go });
  const cardinal = new Plot({ x: X, y: [-1.6, 2.2], aspect: 0.3, redraw: go });
  const part = (label) => new Plot({ x: X, y: X, aspect: 1, small: true, label, redraw: go });
  const plotH = part("The conditional kernel H as a function of two points; it vanishes on the lines through the anchors.");
  const plotK = part("The reproducing kernel K as a function of two points.");
  const degree = choice({
    name: "degree", label: "free features", value: "2",
    options: [["0", "1 (one anchor)"], ["1", "1, x (two anchors)"], ["2", "1, x, x² (three anchors)"]],
    change: () => {
      list.splice(0, list.length, ...startAnchors(Number(degree.value) + 1));
      editor.select(0, false);
      go();
    },
  });
  const width = slider({
    name: "width", label: "width σ of the kernel", min: 0.3, max: 10, step: 0.02, value: 2, log: true,
    show: (v) => v.toPrecision(3), change: go,
  });
  const reg = slider({
    name: "reg", label: "regularization γ", min: 1e-4, max: 10, step: 0.1, value: 1e-2, log: true,
    show: (v) => v.toExponential(1), change: go,
  });
  const numbers = numberList([
    ["objective", "objective"], ["seminorm", "|f|, the seminorm"], ["norm", "‖f‖ in the space of these anchors"],
    ["moved", "distance from the fit without anchors"], ["lam", "values at the anchors"],
  ]);
  const note = element("p", { class: "pg-note" });
  const editor = new Points({
    plot, points: list, changed: go, say: view.say, noun: "anchor", flat: true,
    place: (p) => ({ ...p, y: FLOOR }),
    forbidden: (p, i) => (list.some((other, k) => k !== i && Math.abs(other.x - p.x) < CLOSEST)
      ? `Another anchor stands at ${Number(p.x.toFixed(2))}: no feature can be 1 at one of the two and 0 at the other.` : null),
    look: () => ({ shape: "diamond", kind: "mark mark-anchor" }),
  });
  editor.bar.append(button("reset", "Start again", () => {
    list.splice(0, list.length, ...startAnchors(list.length));
    editor.select(0, false);
    go();
  }));
  root.append(
    stage([editor.node,
      legend([["line-free", "the fit"], ["line-trend", "its part in the span of the features"],
        ["mark mark-sample", "samples"], ["mark mark-anchor", "anchors: drag them along the axis"]]),
      element("p", { class: "pg-caption" }, "The cardinal features: each is 1 at one anchor and 0 at the others."),
      cardinal.node],
    [element("div", { class: "pg-controls" }, degree.row, width.row, reg.row),
      element("div", { class: "pg-pair" },
        figure(plotH, "kernel H"), figure(plotK, "kernel K")), note]),
    editor.bar, numbers.list, view.live);
  permalink(root, { anchors: { points: list, keys: ["x"], place: (p) => ({ ...p, y: FLOOR }) } }, go);
  const plots = [plot, cardinal, plotH, plotK];
  plots.forEach((p) => p.resize());

  function update() {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    const settings = { width: width.value, reg: reg.value, degree: Number(degree.value) };
    const result = compute(points, list, settings, grid);
    plot.path("samples", "mark mark-sample", points.map((p) => markPath("circle", plot.px(p.x), plot.py(p.y), 3)).join(""));
    plot.curve("f", "line-free", grid, result.f ?? result.reference);
    plot.curve("free", "line-trend", result.space ? grid : [], result.free ?? []);
    editor.draw();
    note.textContent = result.space ? "" : "Two anchors coincide: no feature can be 1 at one of them and 0 at the other.";
    if (!result.space) return note.textContent;
    const l = list.length;
    const kinds = ["line-free", "line-ridge", "line-wrong"];
    for (let p = 0; p < kinds.length; p++) {
      cardinal.curve(`c${p}`, kinds[p], p < l ? grid : [], grid.map((_, i) => result.E.data[i * l + p]));
    }
    cardinal.path("anchors", "mark mark-anchor", list.map((a) => markPath("diamond", cardinal.px(a.x), cardinal.py(0), 4)).join(""));
    const where = coarse.map((x) => [x]);
    plotH.tint(result.space.H(where).data, coarse.length, coarse.length, 1);
    plotK.tint(result.space.K(where).data, coarse.length, coarse.length, 1.5);
    const cross2 = list.map((a) => `M${plotH.px(a.x)} ${plotH.box.top}V${plotH.box.bottom}M${plotH.box.left} ${plotH.py(a.x)}H${plotH.box.right}`).join("");
    plotH.path("anchors", "line-thin", cross2);
    plotK.path("anchors", "line-thin", cross2);
    for (const [name, value] of Object.entries(result.numbers)) numbers.show(name, value);
    numbers.show("moved", result.numbers.moved.toExponential(1));
    numbers.show("lam", Array.from(result.lam, (v) => digits(v, 4)).join(", "));
    return `The fit is ${result.numbers.moved.toExponential(0)} away from the one without anchors; its norm is ${digits(result.numbers.norm, 3)}.`;
  }
}
