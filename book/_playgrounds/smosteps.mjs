// Pairwise steps (sequential minimal optimization), one at a time.
//
//     minimize q(β) = ½βᵀKβ − yᵀβ,   lo ≤ β ≤ hi,   Σβ_i = 0,      v = y − Kβ = −∇q.
//
// A pair moves by β_i + δ, β_j − δ; along it q falls by sδ − ½ηδ², s = v_i − v_j, η = K_ii + K_jj − 2K_ij.
// Free features beside the constant are equations that no pair keeps.  They go into the objective as
// νᵀQᵀβ + ½ρ‖Qᵀβ‖², which makes K of Φ + ρQQᵀ and y of y − Qν, and ν is updated between rounds.

import { dot, matrix, svd, times, transposeTimes, rankOf } from "./linalg.mjs";

/** β = 0 and all that a step needs; `P` holds the features beside the constant. */
export function begin(gram, P, y, C, rho) {
  const m = y.length;
  const { Q, T, mean } = centredBasis(P);
  const K = matrix(m, m, (i, j) => {
    let sum = gram.data[i * m + j];
    for (let k = 0; k < Q.cols; k++) sum += rho * Q.data[i * Q.cols + k] * Q.data[j * Q.cols + k];
    return sum;
  });
  return {
    gram, K, Q, T, mean, y, C, rho, steps: 0, rounds: 0, beta: new Float64Array(m), nu: new Float64Array(Q.cols),
    v: Float64Array.from(y), lo: y.map((t) => Math.min(0, C * t)), hi: y.map((t) => Math.max(0, C * t)),
  };
}

/** Q = (P − means)T, an orthonormal basis, times √m, of the features less their means. */
function centredBasis(P) {
  const { rows: m, cols: l, data } = P;
  const mean = new Float64Array(l);
  for (let i = 0; i < m * l; i++) mean[i % l] += data[i] / m;
  const { U, s, V } = svd(matrix(m, l, (i, p) => data[i * l + p] - mean[p]));
  const rank = l ? rankOf(s, 1e-10) : 0;
  return {
    mean,
    Q: matrix(m, rank, (i, k) => Math.sqrt(m) * U.data[i * l + k]),
    T: matrix(l, rank, (p, k) => (Math.sqrt(m) * V.data[p * l + k]) / s[k]),
  };
}

/** The pair to move next, or null at a violation of at most `tol`. */
export function pick({ K, beta, v, lo, hi }, second, tol = 1e-10) {
  const m = v.length;
  let [i, last] = [-1, -1];
  for (let k = 0; k < m; k++) {
    if (beta[k] < hi[k] && (i < 0 || v[k] > v[i])) i = k;
    if (beta[k] > lo[k] && (last < 0 || v[k] < v[last])) last = k;
  }
  if (i < 0 || last < 0 || v[i] - v[last] <= tol) return null;
  const curvature = (k) => Math.max(1e-12, K.data[i * m + i] + K.data[k * m + k] - 2 * K.data[i * m + k]);
  let j = last;
  if (second) {
    const gain = (k) => (v[i] - v[k]) ** 2 / curvature(k);
    for (let k = 0; k < m; k++) if (beta[k] > lo[k] && v[k] < v[i] && gain(k) > gain(j)) j = k;
  }
  const s = v[i] - v[j];
  const eta = curvature(j);
  const room = Math.min(hi[i] - beta[i], beta[j] - lo[j]);
  return { i, j, s, eta, room, step: Math.min(s / eta, room), violation: v[i] - v[last] };
}

/** One step, in place; what stops at a bound is put on it. */
export function move(state, { i, j, step }) {
  const { K, beta, v, lo, hi } = state;
  const m = v.length;
  const [roomI, roomJ] = [hi[i] - beta[i], beta[j] - lo[j]];
  beta[i] = step === roomI ? hi[i] : beta[i] + step;
  beta[j] = step === roomJ ? lo[j] : beta[j] - step;
  for (let k = 0; k < m; k++) v[k] -= step * (K.data[k * m + i] - K.data[k * m + j]);
  state.steps++;
}

/** ν + ρQᵀβ in place of ν. */
export function updateMultipliers(state) {
  const r = transposeTimes(state.Q, state.beta);
  state.nu = state.nu.map((v, k) => v + state.rho * r[k]);
  const free = times(state.Q, state.nu);
  const Kb = times(state.K, state.beta);
  state.v = state.y.map((t, i) => t - free[i] - Kb[i]);
  state.rounds++;
}

/** q(β), and by how much β misses the equations of the free features. */
export function measure({ gram, Q, y, beta }) {
  const r = transposeTimes(Q, beta);
  return { q: dot(beta, times(gram, beta)) / 2 - dot(y, beta), residual: Math.max(0, ...r.map(Math.abs)) };
}

/** λ of the constant and the other features, from the multipliers as they would be updated now. */
export function coefficients({ Q, T, mean, nu, rho, v, beta, lo, hi }) {
  let [up, down] = [-Infinity, Infinity];
  v.forEach((w, k) => {
    if (beta[k] < hi[k]) up = Math.max(up, w);
    if (beta[k] > lo[k]) down = Math.min(down, w);
  });
  // The bias: the middle of what the conditions ask for, or their one end.
  const ends = [up, down].filter(Number.isFinite);
  const bias = ends.length ? ends.reduce((a, b) => a + b) / ends.length : 0;
  const r = transposeTimes(Q, beta);
  const lam = times(T, nu.map((n, k) => n + rho * r[k]));
  return Float64Array.from([bias - dot(lam, mean), ...lam]);
}
