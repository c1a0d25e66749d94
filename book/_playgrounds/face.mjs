// The SVM-GB dual on a face of its box, and the walk from face to face.
//
// If it is known which α_i are 0 and which are C, the others solve a linear system,
//
//     Φ_FF β_F + Q_F ν = y_F − Φ_FU β_U,      Q_Fᵀβ_F = −Q_Uᵀβ_U,
//
// exact up to rounding.  While a point is dragged the face hardly changes, so the last one is tried
// first, and samples that break their condition change sides (the primal–dual active set method).

import {
  backward, cholesky, forward, forwardColumns, rankOf, select, svd, times, transposeTimes,
} from "./linalg.mjs";
import { chooseMultipliers } from "./multipliers.mjs";

/**
 * From the face of `start` on, until none changes: returns { alpha, nu, place }, or null.
 *
 * Where a face leaves α open, it stays near that of `start`.  Yields after every step.
 */
export function* walk(gram, Q, y, C, start, steps = 25) {
  let at = Int8Array.from(start.place);
  let near = start.alpha;
  for (let step = 0; step < steps; step++) {
    const alpha = onFace(gram, Q, y, C, at, near);
    if (!alpha) return null;
    const h = times(gram, alpha.map((a, i) => a * y[i]));
    const nu = chooseMultipliers(h, Q, y, at);
    const free = times(Q, nu);
    let changed = false;
    const next = at.map((p, i) => {
      const margin = y[i] * (h[i] + free[i]);
      let to = p;
      if (p === 0 && alpha[i] < -1e-12 * C) to = -1;
      else if (p === 0 && alpha[i] > C + 1e-12 * C) to = 1;
      else if (p === -1 && margin < 1 - 1e-9) to = 0;
      else if (p === 1 && margin > 1 + 1e-9) to = 0;
      changed ||= to !== p;
      return to;
    });
    if (!changed) return { alpha: alpha.map((a) => Math.min(C, Math.max(0, a))), nu, place: at };
    at = next;
    near = alpha;
    yield null;
  }
  return null;
}

/** α on the face, or null if the free samples cannot satisfy the equations. */
function onFace(gram, Q, y, C, place, near) {
  const m = y.length;
  const F = [];
  const alpha = new Float64Array(m);
  place.forEach((p, i) => {
    if (p === 0) F.push(i);
    if (p === 1) alpha[i] = C;
  });
  const beta = alpha.map((a, i) => a * y[i]);
  const wanted = transposeTimes(Q, beta).map((v) => -v);
  const tiny = 1e-9 * C;
  if (!F.length) return wanted.every((v) => Math.abs(v) < tiny) ? alpha : null;
  const h = times(gram, beta);
  const A = select(gram, F, F);
  const B = select(Q, F);
  const L = cholesky(A, 1e-11);
  if (!L) return null;
  const { U, s, V } = svd(forwardColumns(L, B));
  const rank = rankOf(s, 1e-9);
  const r = Q.cols;
  const once = (g, d) => {
    // Lᵀβ_F = (I − UUᵀ)L⁻¹g + U s⁻¹ Vᵀd.
    const u = forward(L, g);
    const along = transposeTimes(U, u);
    const turned = transposeTimes(V, d);
    const nu = new Float64Array(r);
    for (let k = 0; k < rank; k++) {
      const change = turned[k] / s[k] - along[k];
      for (let i = 0; i < F.length; i++) u[i] += U.data[i * r + k] * change;
      for (let p = 0; p < r; p++) nu[p] -= (V.data[p * r + k] * change) / s[k];
    }
    return { beta: backward(L, u), nu };
  };
  const sum = Float64Array.from(F, (i) => y[i] * Math.min(C, Math.max(0, near[i])));
  const nu = new Float64Array(r);
  let d;
  for (let pass = 0; ; pass++) { // more than once: the shift of L is refined away
    const f = times(A, sum);
    const free = times(B, nu);
    const g = F.map((i, k) => y[i] - h[i] - f[k] - free[k]);
    const now = transposeTimes(B, sum);
    d = wanted.map((v, p) => v - now[p]);
    if (pass === 4) break;
    const part = once(g, d);
    part.beta.forEach((v, i) => { sum[i] += v; });
    part.nu.forEach((v, p) => { nu[p] += v; });
  }
  if (d.some((v) => Math.abs(v) > tiny)) return null;
  F.forEach((i, k) => { alpha[i] = y[i] * sum[k]; });
  return alpha;
}
