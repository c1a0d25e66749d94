// SVM-GB: minimize ½|f|² + C Σ (1 − y_i f(x_i))₊ over f = Σ λ_p φ_p + Σ β_i Φ(x_i, ·), and prove it.
//
// With α = y∘β in [0, C] and Pᵀβ = 0 the difference between the objective and its dual is
//
//     gap = Σ (C − α_i)(1 − y_i f_i)₊ + α_i(y_i f_i − 1)₊ ≥ 0,
//
// a bound on the distance from the minimum, whoever computed α.

import { interior, placesOf } from "./interior.mjs";
import { dot, matrix, rankOf, solve, svd, times, transposeTimes } from "./linalg.mjs";
import { walk } from "./face.mjs";
import { chooseMultipliers } from "./multipliers.mjs";

/** `last` is an earlier solution of a similar problem; its face is tried first. */
export function fitSVM(gram, P, y, C, last = null) {
  const range = featureRange(P);
  const Q = range.Q;
  let found = null;
  if (last && last.place.length === y.length) {
    const walked = walk(gram, Q, y, C, last, 12);
    if (walked) found = finish(gram, P, range, y, C, walked);
    if (found && !(found.gap <= 1e-9 * (found.primal + C))) found = null;
  }
  if (!found) {
    const inner = interior(gram, Q, y, C);
    const place = placesOf(inner, C);
    const candidates = [finish(gram, P, range, y, C, { ...inner, place })];
    const walked = walk(gram, Q, y, C, { ...inner, place });
    if (walked) candidates.push(finish(gram, P, range, y, C, walked));
    candidates.sort((a, b) => a.gap - b.gap);
    found = candidates[0];
  }
  return found;
}

function finish(gram, P, range, y, C, { alpha, nu, place }) {
  const beta = repair(range.Q, alpha, y, C);
  const h = times(gram, beta);
  const options = [nu, chooseMultipliers(h, range.Q, y, place)];
  const results = options.map((v) => certify(h, range.Q, y, C, beta, v));
  // The rule decides among equally good multipliers; it must not cost a digit.
  const pick = results[1].gap <= 10 * results[0].gap + 1e-10 * (C + results[0].primal) ? 1 : 0;
  const lam = times(range.T, options[pick]);
  return { alpha: beta.map((b, i) => b * y[i]), beta, lam, h, place, ...results[pick] };
}

/** PT = Q with orthonormal columns that span the range of P. */
function featureRange(P) {
  const { rows: m, cols: l, data } = P;
  const size = new Float64Array(l);
  for (let i = 0; i < m * l; i++) size[i % l] = Math.max(size[i % l], Math.abs(data[i]));
  const { U, s, V } = svd(matrix(m, l, (i, p) => data[i * l + p] / (size[p] || 1)));
  const rank = rankOf(s, Math.max(m, l) * 2.3e-16);
  return {
    Q: matrix(m, rank, (i, k) => U.data[i * l + k]),
    T: matrix(l, rank, (p, k) => V.data[p * l + k] / s[k] / (size[p] || 1)),
  };
}

/** β' = β − D²Q(QᵀD²Q)⁻¹Qᵀβ, d_i = min(α_i, C − α_i): feasible, and it stays in the box. */
function repair(Q, alpha, y, C) {
  const beta = alpha.map((a, i) => a * y[i]);
  const r = transposeTimes(Q, beta);
  if (Math.max(0, ...r.map(Math.abs)) <= 1e-15 * C) return beta;
  const d2 = alpha.map((a) => (Math.min(a, C - a) / C) ** 2);
  const S = matrix(Q.cols, Q.cols, (p, q) => {
    let sum = 0;
    for (let i = 0; i < Q.rows; i++) sum += d2[i] * Q.data[i * Q.cols + p] * Q.data[i * Q.cols + q];
    return sum;
  });
  const x = solve(S, matrix(Q.cols, 1, (p) => r[p]));
  if (!x) return beta;
  const move = times(Q, x.data);
  const moved = beta.map((b, i) => b - d2[i] * move[i]);
  return moved.every((b, i) => b * y[i] >= 0 && b * y[i] <= C) ? moved : beta;
}

function certify(h, Q, y, C, beta, nu) {
  const free = times(Q, nu);
  const values = h.map((v, i) => v + free[i]);
  const seminorm2 = Math.max(0, dot(beta, h));
  let gap = 0;
  let loss = 0;
  values.forEach((f, i) => {
    const short = Math.max(0, 1 - y[i] * f);
    loss += short;
    gap += (C - beta[i] * y[i]) * short + beta[i] * y[i] * Math.max(0, y[i] * f - 1);
  });
  // What is left of Qᵀβ = 0 would make the gap prove nothing; its price is added.
  gap += Math.abs(dot(transposeTimes(Q, beta), nu));
  const primal = seminorm2 / 2 + C * loss;
  return { values, seminorm2, primal, dual: primal - gap, gap };
}
