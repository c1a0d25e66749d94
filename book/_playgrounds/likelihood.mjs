// Width and likelihood: a landscape over σ and γ, and the fit at the place that is chosen in it.

import { contour } from "./contour.mjs";
import { Plot, range } from "./plot.mjs";
import { Points } from "./points.mjs";
import { best, curves, judge, sample, startLandscape } from "./reml.mjs";
import {
  button, choice, digits, element, frame, legend, markPath, numberList, permalink, randomNumbers, SHARE, stage,
} from "./ui.mjs";

const X = [0, 10];
const Y = [-3, 7];
export const LOG_WIDTHS = [-1, 1.2];
export const LOG_REGS = [-5, 1];
export const WIDTHS = range(...LOG_WIDTHS, 34);
export const REGS = range(...LOG_REGS, 37);
const LEVELS = [2, 6, 15, 40, 100]; // above the minimum

/** A wave on a rising line, with noise. */
export function start() {
  const random = randomNumbers(1971);
  const round = (v) => Math.round(100 * v) / 100;
  return Array.from({ length: 22 }, (_, i) => {
    const x = (10 / 22) * (i + random());
    const noise = random() + random() + random() - 1.5;
    return { x: round(x), y: round(0.5 * x - 0.8 + 1.2 * Math.sin(1.4 * x) + 0.6 * noise) };
  });
}

export function likelihood(root) {
  const points = start();
  const place = [{ x: 0.8, y: -1 }];
  const grid = range(X[0], X[1], 201);
  let landscape = null;
  let data = null;
  const view = frame(root, update);
  const go = () => view.schedule();
  const anew = () => {
    landscape = null;
    go();
  };
  const plot = new Plot({ x: X, y: Y, aspect: 0.44, redraw: go });
  const map = new Plot({ x: LOG_WIDTHS, y: LOG_REGS, aspect: 0.44, redraw: go });
  const degree = choice({
    name: "degree", label: "free features", value: "1", change: anew,
    options: [["-1", "none"], ["0", "constant: 1"], ["1", "linear: 1, x"], ["2", "quadratic: 1, x, x²"]],
  });
  const criterion = choice({
    name: "criterion", label: "landscape", value: "deviance", change: go,
    options: [["deviance", "restricted likelihood"], ["error", "leave-one-out error"]],
  });
  const numbers = numberList([
    ["width", "width σ"], ["reg", "regularization γ"], ["deviance", "−2 log restricted likelihood"],
    ["best", "its minimum on the grid"], ["error", "leave-one-out error"], ["bestError", "its minimum on the grid"],
  ]);
  const editor = new Points({
    plot, points, changed: anew, say: view.say, noun: "sample", most: 60, least: 6, added: (p) => p,
    look: () => ({ shape: "circle", kind: "mark mark-sample" }),
  });
  const chosen = new Points({
    plot: map, points: place, changed: go, say: view.say, noun: "pair of σ and γ",
    look: () => ({ shape: "diamond", kind: "mark mark-anchor" }),
  });
  chosen.fields.x.row.firstChild.textContent = "log₁₀ σ";
  chosen.fields.y.row.firstChild.textContent = "log₁₀ γ";
  const jump = (name) => () => {
    if (!landscape?.done) return;
    const { x, y } = best(landscape, landscape[name]);
    Object.assign(place[0], { x, y });
    go();
  };
  const restart = () => {
    points.splice(0, points.length, ...start());
    place[0] = { x: 0.8, y: -1 };
    editor.select(0, false);
    anew();
  };
  root.append(
    stage([editor.node,
      element("p", { class: "pg-caption" }, "The landscape: log₁₀ σ to the right, log₁₀ γ upwards. The bluer, the better; drag the diamond."),
      chosen.node,
      legend([["line-free", "the fit"], ["line-trend", "its free part"], ["line-thin", "2, 6, 15, 40, 100 above the minimum"],
        ["mark mark-plus", "the minimum"], ["mark mark-anchor", "the chosen σ and γ"]])],
    [element("div", { class: "pg-controls" }, degree.row, criterion.row),
      element("div", { class: "pg-bar", role: "group", "aria-label": "Go to a minimum" },
        button("likeliest", "Go to the likeliest σ and γ", jump("deviance")),
        button("least", "Go to the least leave-one-out error", jump("error")),
        button("reset", "Start again", restart))]),
    editor.bar, chosen.bar, numbers.list, view.live);
  permalink(root, {
    place: { points: place, keys: ["x", "y"] }, points: { points, keys: ["x", "y"] },
  }, anew);
  const plots = [plot, map];
  plots.forEach((p) => p.resize());

  function update() {
    if (plots.some((p) => !p.width && !p.resize())) return "";
    if (!landscape) {
      data = sample(points, Number(degree.value), X);
      landscape = startLandscape(data, WIDTHS, REGS);
    }
    const width = 10 ** place[0].x;
    const reg = 10 ** place[0].y;
    const here = judge(data, width, reg);
    const { trend, whole } = curves(data, here, width, grid);
    plot.curve("trend", "line-trend", data.features.length ? grid : [], trend);
    plot.curve("free", "line-free", grid, whole, true);
    landscape.advance(SHARE / 2);
    if (landscape.done) drawMap();
    editor.draw();
    chosen.draw();
    numbers.show("width", width);
    numbers.show("reg", reg);
    numbers.show("deviance", here.deviance);
    numbers.show("error", here.error);
    if (!landscape.done) return null;
    numbers.show("best", best(landscape, landscape.deviance).value);
    numbers.show("bestError", best(landscape, landscape.error).value);
    return `Width ${digits(width, 3)}, γ ${digits(reg, 2)}: −2 log likelihood ${digits(here.deviance, 4)}, leave-one-out error ${digits(here.error, 3)}.`;
  }

  /** Tinted by the height above the minimum, on a logarithmic scale. */
  function drawMap() {
    const values = landscape[criterion.value];
    const low = best(landscape, values);
    // An error is compared by its logarithm, m log, which has the unit of the likelihood.
    const height = values.map((v) => (criterion.value === "error" ? data.y.length * Math.log(v / low.value) : v - low.value));
    map.tint(height.map((v) => -1 / (1 + v / 12)), WIDTHS.length, REGS.length, 1);
    map.path("levels", "line-thin", LEVELS.map((level) => contour(height, WIDTHS, REGS, level, map.px, map.py)).join(""));
    map.path("best", "mark mark-plus", markPath("square", map.px(low.x), map.py(low.y), 4.5));
  }
}
