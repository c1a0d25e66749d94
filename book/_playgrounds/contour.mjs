// Level lines by marching squares.

/**
 * The level lines f = level of values on a grid, as the `d` of an SVG path.
 *
 * `values` row by row of ys; `px`, `py` turn grid coordinates into pixels.
 */
export function contour(values, xs, ys, level, px, py) {
  const n = xs.length;
  const parts = [];
  for (let r = 0; r + 1 < ys.length; r++) {
    for (let j = 0; j + 1 < n; j++) {
      const corners = [
        values[r * n + j] - level, values[r * n + j + 1] - level,
        values[(r + 1) * n + j + 1] - level, values[(r + 1) * n + j] - level,
      ];
      const side = corners[0] > 0;
      if (corners[1] > 0 === side && corners[2] > 0 === side && corners[3] > 0 === side) continue;
      for (const [from, to] of segments(corners)) {
        const a = crossing(from, corners, xs, ys, j, r);
        const b = crossing(to, corners, xs, ys, j, r);
        parts.push(`M${px(a[0]).toFixed(1)} ${py(a[1]).toFixed(1)}L${px(b[0]).toFixed(1)} ${py(b[1]).toFixed(1)}`);
      }
    }
  }
  return parts.join("");
}

/** f over the plane: its tint, the border f = 0 and the margins f = ±1. */
export function drawMachine(plot, values, xs, ys) {
  const line = (name, kind, level) => plot.path(name, kind, contour(values, xs, ys, level, plot.px, plot.py));
  plot.tint(values, xs.length, ys.length);
  line("border", "line-border", 0);
  line("plus", "line-margin", 1);
  line("minus", "line-margin", -1);
}

/** Pairs of edges of a cell (0 to 3, anticlockwise from the first row's) that a level line joins. */
export function segments([a, b, c, d]) {
  const cut = [a > 0 !== b > 0, b > 0 !== c > 0, c > 0 !== d > 0, d > 0 !== a > 0];
  const edges = [0, 1, 2, 3].filter((k) => cut[k]);
  if (edges.length < 4) return edges.length ? [edges] : [];
  // A saddle: the value in the middle says which corners belong together.
  return a > 0 === a + b + c + d > 0 ? [[0, 1], [2, 3]] : [[3, 0], [1, 2]];
}

function crossing(edge, corners, xs, ys, j, r) {
  const [from, to] = [corners[edge], corners[(edge + 1) % 4]];
  const t = from / (from - to);
  const at = [[xs[j], ys[r]], [xs[j + 1], ys[r]], [xs[j + 1], ys[r + 1]], [xs[j], ys[r + 1]]];
  const [p, q] = [at[edge], at[(edge + 1) % 4]];
  return [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
}
