// A primal–dual interior-point method for the SVM-GB dual, one Newton step at a time.
//
//     minimize ½βᵀΦβ − yᵀβ,    Qᵀβ = 0,    0 ≤ y_iβ_i ≤ C.
//
// Unknowns: β, the multipliers ν of the equations, and z, w ≥ 0 of the two bounds, so that
// Φβ + Qν − y = y∘(z − w).  A Newton step for α∘z = (C−α)∘w = μ, α = y∘β, costs one Cholesky factor
// of Φ + diag(z/α + w/(C−α)); it is taken twice, to predict and to correct (Mehrotra).

import { backward, cholesky, forward, forwardColumns, matrix, solve, times, transposeTimes }
  from "./linalg.mjs";

/** Yields { alpha, nu, z, w } after every step, from the middle of the box or from `start`. */
export function* interior(gram, Q, y, C, start = middle(y, Q, C), tol = 1e-14) {
  const m = y.length;
  let { alpha, nu, z, w } = start;
  for (let step = 0; step < 80; step++) {
    const beta = alpha.map((a, i) => a * y[i]);
    const f = times(gram, beta);
    const free = times(Q, nu);
    const dual = alpha.map((_, i) => y[i] * (f[i] + free[i]) - 1 - z[i] + w[i]);
    const primal = transposeTimes(Q, beta);
    let mu = 0;
    for (let i = 0; i < m; i++) mu += alpha[i] * z[i] + (C - alpha[i]) * w[i];
    mu /= 2 * m;
    const off = Math.max(0, ...dual.map(Math.abs), ...primal.map((v) => Math.abs(v) / C));
    if (mu < tol * C && off < 1e-9) break;
    const D = alpha.map((a, i) => z[i] / a + w[i] / (C - a));
    const newton = newtonSolver(gram, Q, y, D);
    if (!newton) break;

    const direction = (target, second) => {
      const lower = alpha.map((a, i) => target - a * z[i] - (second ? second.a[i] * second.z[i] : 0));
      const upper = alpha.map((a, i) =>
        target - (C - a) * w[i] + (second ? second.a[i] * second.w[i] : 0));
      const right = alpha.map((a, i) => -dual[i] + lower[i] / a - upper[i] / (C - a));
      const { step: a, nu: dnu } = newton(right, primal);
      return {
        a,
        nu: dnu,
        z: a.map((d, i) => (lower[i] - z[i] * d) / alpha[i]),
        w: a.map((d, i) => (upper[i] + w[i] * d) / (C - alpha[i])),
      };
    };
    const guess = direction(0, null);
    const [tp, td] = longest(alpha, C, z, w, guess);
    let after = 0;
    for (let i = 0; i < m; i++) {
      const a = alpha[i] + tp * guess.a[i];
      after += a * (z[i] + td * guess.z[i]) + (C - a) * (w[i] + td * guess.w[i]);
    }
    const sigma = (after / (2 * m) / mu) ** 3;
    const d = direction(sigma * mu, guess);
    const t = Math.min(1, 0.995 * Math.min(...longest(alpha, C, z, w, d, Infinity)));
    alpha = alpha.map((a, i) => a + t * d.a[i]);
    nu = nu.map((v, k) => v + t * d.nu[k]);
    z = z.map((v, i) => v + t * d.z[i]);
    w = w.map((v, i) => v + t * d.w[i]);
    yield { alpha, nu, z, w };
  }
  return { alpha, nu, z, w };
}

function middle(y, Q, C) {
  const all = (value) => new Float64Array(y.length).fill(value);
  return { alpha: all(C / 2), nu: new Float64Array(Q.cols), z: all(1), w: all(1) };
}

/** A start near the solution of a similar problem: off the bounds, Φβ + Qν − y = y∘(z − w) kept. */
export function near(gram, Q, y, C, alpha, nu, off = 0.01) {
  const inside = alpha.map((a) => Math.min((1 - off) * C, Math.max(off * C, a)));
  const f = times(gram, inside.map((a, i) => a * y[i]));
  const free = times(Q, nu);
  const slack = f.map((v, i) => y[i] * (v + free[i]) - 1);
  const z = slack.map((s) => (s + Math.hypot(s, 2 * off)) / 2);
  return { alpha: inside, nu, z, w: z.map((v, i) => v - slack[i]) };
}

/** Solves (YΦY + D)a + YQν = right, QᵀYa = −primal. */
function newtonSolver(gram, Q, y, D) {
  const L = cholesky(gram, D);
  if (!L) return null;
  const V = forwardColumns(L, Q);
  const S = matrix(Q.cols, Q.cols, (p, q) => {
    let sum = 0;
    for (let i = 0; i < V.rows; i++) sum += V.data[i * V.cols + p] * V.data[i * V.cols + q];
    return sum;
  });
  return (right, primal) => {
    const u = forward(L, right.map((v, i) => v * y[i]));
    const along = transposeTimes(V, u);
    const answer = Q.cols && solve(S, matrix(Q.cols, 1, (p) => along[p] + primal[p]));
    const nu = answer ? answer.data : new Float64Array(Q.cols);
    const back = times(V, nu);
    return { step: backward(L, u.map((v, i) => v - back[i])).map((v, i) => v * y[i]), nu };
  };
}

/** The longest steps, at most `limit`, that keep α and z, w inside. */
function longest(alpha, C, z, w, d, limit = 1) {
  let primal = limit;
  let dual = limit;
  for (let i = 0; i < alpha.length; i++) {
    if (d.a[i] < 0) primal = Math.min(primal, -alpha[i] / d.a[i]);
    if (d.a[i] > 0) primal = Math.min(primal, (C - alpha[i]) / d.a[i]);
    if (d.z[i] < 0) dual = Math.min(dual, -z[i] / d.z[i]);
    if (d.w[i] < 0) dual = Math.min(dual, -w[i] / d.w[i]);
  }
  return [primal, dual];
}

/** Where the method ended: −1 for α_i = 0, 1 for α_i = C, 0 for free. */
export function placesOf({ alpha, z, w }, C) {
  return Int8Array.from(alpha, (a, i) => (a < C * z[i] ? -1 : C - a < C * w[i] ? 1 : 0));
}

