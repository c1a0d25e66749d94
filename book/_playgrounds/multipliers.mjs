// Which λ, where the optimal one is not unique: the one with the least ‖Pλ‖ on the sample.
//
// With P = QT⁻¹, Q orthonormal, λ = Tν, the optimal ν form a polyhedron: y_i f_i ≥ 1 where α_i = 0,
// = 1 where α_i is free, ≤ 1 where α_i = C.  The equations are solved first; on their null space the
// rest is Lawson and Hanson's least distance programming: with u ≥ 0 minimizing ‖Gᵀu‖² + (1 − gᵀu)²,
// the z of least norm with Gz ≥ g is Gᵀu / (1 − gᵀu).

import { dot, fromRows, leastNorm, matrix, select, times } from "./linalg.mjs";

/** ν of least norm; `place` is −1 where α_i = 0, 1 where α_i = C and 0 where it is free. */
export function chooseMultipliers(h, Q, y, place) {
  const r = Q.cols;
  const rest = y.map((v, i) => v - h[i]);
  const free = indices(place, (p) => p === 0);
  const { x, N } = leastNorm(select(Q, free), free.map((i) => rest[i]));
  if (N.cols === 0) return x;
  const bound = indices(place, (p) => p !== 0);
  const QN = matrix(bound.length, N.cols, (i, j) => {
    let sum = 0;
    for (let k = 0; k < r; k++) sum += Q.data[bound[i] * r + k] * N.data[k * N.cols + j];
    return sum;
  });
  const Qx = times(Q, x);
  const sign = bound.map((i) => (place[i] < 0 ? y[i] : -y[i]));
  const G = bound.map((_, k) =>
    Float64Array.from({ length: N.cols }, (_, j) => sign[k] * QN.data[k * N.cols + j]));
  const g = bound.map((i, k) => sign[k] * (rest[i] - Qx[i]));
  const z = leastDistance(G, g);
  return z ? x.map((v, k) => v + dot(N.data.subarray(k * N.cols, (k + 1) * N.cols), z)) : x;
}

/** z of least norm with Gz ≥ g (G a list of rows), or null if there is none. */
export function leastDistance(G, g) {
  if (g.every((v) => v <= 0)) return new Float64Array(G[0].length);
  const first = scaledDistance(G, g, 1);
  return first && scaledDistance(G, g, Math.sqrt(dot(first, first)));
}

function scaledDistance(G, g, unit) {
  // Rows of length one, z in units of its own length: the division below is then harmless.
  const size = G.map((row, i) => Math.hypot(Math.sqrt(dot(row, row)), g[i] / unit) || 1);
  const rows = G.map((row, i) => Float64Array.from([...row, g[i] / unit], (v) => v / size[i]));
  const n = G[0].length;
  const target = new Float64Array(n + 1);
  target[n] = 1;
  const u = nonnegativeLeastSquares(rows, target);
  let left = 1;
  for (let i = 0; i < rows.length; i++) left -= rows[i][n] * u[i];
  if (left < 1e-12) return null;
  // The rows with u > 0 hold with equality and determine z.
  const active = indices(u, (v) => v > 0);
  if (!active.length) return new Float64Array(n);
  const { x } = leastNorm(fromRows(active.map((i) => rows[i].subarray(0, n)), n),
    active.map((i) => rows[i][n]));
  return x.map((v) => v * unit);
}

/** u ≥ 0 with the least ‖Σ u_i a_i − b‖, the a_i given as rows (Lawson & Hanson, chapter 23). */
export function nonnegativeLeastSquares(rows, b) {
  const u = new Float64Array(rows.length);
  let passive = [];
  const residual = () => {
    const r = Float64Array.from(b);
    for (const i of passive) for (let k = 0; k < r.length; k++) r[k] -= u[i] * rows[i][k];
    return r;
  };
  for (let step = 0; step < 3 * rows.length + 30; step++) {
    const r = residual();
    let best = -1;
    let steepest = 1e-13;
    for (let i = 0; i < rows.length; i++) {
      if (passive.includes(i)) continue;
      const slope = dot(rows[i], r);
      if (slope > steepest) [steepest, best] = [slope, i];
    }
    if (best < 0) break;
    passive.push(best);
    while (passive.length) {
      const A = matrix(b.length, passive.length, (k, j) => rows[passive[j]][k]);
      const wanted = leastNorm(A, b, 1e-13).x;
      if (wanted.every((v) => v > 0)) {
        passive.forEach((i, j) => { u[i] = wanted[j]; });
        break;
      }
      let t = 1;
      passive.forEach((i, j) => {
        if (wanted[j] <= 0) t = Math.min(t, u[i] / (u[i] - wanted[j] || 1));
      });
      passive.forEach((i, j) => { u[i] += t * (wanted[j] - u[i]); });
      const kept = passive.filter((i, j) => wanted[j] > 0 || u[i] > 1e-15);
      if (kept.length === passive.length) kept.splice(wanted.findIndex((v) => v <= 0), 1);
      passive.filter((i) => !kept.includes(i)).forEach((i) => { u[i] = 0; });
      passive = kept;
    }
  }
  return u;
}

function indices(list, wanted) {
  const out = [];
  for (let i = 0; i < list.length; i++) if (wanted(list[i])) out.push(i);
  return out;
}
