// SVM-GB: minimize ½|f|² + C Σ (1 − y_i f(x_i))₊ over f = Σ λ_p φ_p + Σ β_i Φ(x_i, ·), and prove it.
//
// With α = y∘β in [0, C] and Pᵀβ = 0 the difference between the objective and its dual is
//
//     gap = Σ (C − α_i)(1 − y_i f_i)₊ + α_i(y_i f_i − 1)₊ ≥ 0,
//
// a bound on the distance from the minimum, whoever computed α.

//
// A fit goes in steps, so that it can be spread over frames: while a sample is dragged each frame
// takes as many as its share allows and shows what they reached, with the gap that is left.

import { interior, near, placesOf } from "./interior.mjs";
import { dot, matrix, rankOf, solve, svd, times, transposeTimes, work } from "./linalg.mjs";
import { walk } from "./face.mjs";
import { chooseMultipliers } from "./multipliers.mjs";

const WALK = 2e6; // multiplications that the walk from the last face may cost

/**
 * A fit to be advanced by and by; `last` is an earlier solution of a similar problem.
 *
 * `advance(budget)` works until about `budget` multiplications are done, one step at least, and
 * returns the certified solution it has then, or null; `done` says whether it is final.
 */
export function startSVM(gram, P, y, C, last = null) {
  const steps = solveInSteps(gram, P, y, C, last);
  return {
    done: false,
    advance(budget = Infinity) {
      const end = work.done + budget;
      let next;
      do next = steps.next();
      while (!next.done && work.done < end);
      this.done = next.done;
      return next.done || !next.value ? next.value : next.value();
    },
  };
}

export function fitSVM(gram, P, y, C, last = null) {
  return startSVM(gram, P, y, C, last).advance();
}

/** Yields null, or a function that returns what is known so far; returns the solution. */
function* solveInSteps(gram, P, y, C, last) {
  const range = featureRange(P);
  const { Q } = range;
  const similar = last && last.place.length === y.length && last.lam.length === P.cols;
  if (similar && last.done) {
    const end = work.done + WALK;
    const steps = walk(gram, Q, y, C, last, 12);
    let next = steps.next();
    for (; !next.done && work.done < end; next = steps.next()) yield null;
    const found = next.done && next.value && finish(gram, P, range, y, C, next.value);
    if (found && found.gap <= 1e-9 * (found.primal + C)) return found;
  }
  const start = similar
    ? near(gram, Q, y, C, last.alpha.map((a) => a * (C / last.C)), transposeTimes(Q, times(P, last.lam)))
    : undefined;
  const inner = interior(gram, Q, y, C, start);
  let next = inner.next();
  for (; !next.done; next = inner.next()) {
    const { value } = next;
    yield () => rough(gram, range, y, C, value);
  }
  const place = placesOf(next.value, C);
  const candidates = [finish(gram, P, range, y, C, { ...next.value, place })];
  const polish = walk(gram, Q, y, C, { ...next.value, place });
  let walked = polish.next();
  for (; !walked.done; walked = polish.next()) yield () => ({ ...candidates[0], done: false });
  if (walked.value) candidates.push(finish(gram, P, range, y, C, walked.value));
  candidates.sort((a, b) => a.gap - b.gap);
  return candidates[0];
}

/** What an unfinished fit can show and prove. */
function rough(gram, range, y, C, { alpha, nu, z, w }) {
  const beta = repair(range.Q, alpha, y, C);
  const h = times(gram, beta);
  const found = certify(h, range.Q, y, C, beta, nu);
  if (transposeTimes(range.Q, beta).some((v) => Math.abs(v) > 1e-9 * C)) {
    // Not feasible, so β proves nothing; zero is always feasible and proves that no loss is negative.
    Object.assign(found, { gap: found.primal, dual: 0 });
  }
  const place = placesOf({ alpha, z, w }, C);
  return { alpha: beta.map((b, i) => b * y[i]), beta, lam: times(range.T, nu), h, place, C, done: false, ...found };
}

function finish(gram, P, range, y, C, { alpha, nu, place }) {
  const beta = repair(range.Q, alpha, y, C);
  const h = times(gram, beta);
  const options = [nu, chooseMultipliers(h, range.Q, y, place)];
  const results = options.map((v) => certify(h, range.Q, y, C, beta, v));
  // The rule decides among equally good multipliers; it must not cost a digit.
  const pick = results[1].gap <= 10 * results[0].gap + 1e-10 * (C + results[0].primal) ? 1 : 0;
  const lam = times(range.T, options[pick]);
  return { alpha: beta.map((b, i) => b * y[i]), beta, lam, h, place, C, done: true, ...results[pick] };
}

/** PT = Q with orthonormal columns that span the range of P. */
export function featureRange(P) {
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
