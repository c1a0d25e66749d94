// The path of the support vector machine in C: α is continuous and piecewise affine, and the breakpoints are exact.
//
// While no sample changes its place (α_i = 0, free, α_i = C), the free ones solve
//
//     Φ_FF β_F + Q_F ν = y_F − C Φ_FU y_U,      Q_Fᵀβ_F = −C Q_Uᵀy_U,
//
// whose right side is affine in C.  So one solution, found and certified by `svm.mjs` at any C, gives a
// whole piece: the interval of all C for which its places stay right.  The path is covered by pieces:
// solve in the middle of what is not covered yet, until nothing is left.

import { matrix, select, solve, times, work } from "./linalg.mjs";
import { featureRange, startSVM } from "./svm.mjs";

const SLIVER = 1e-7; // relative width in C below which what is left between two pieces is rounding

/** The piece { from, to, at, slope, place } around a solution, α_i = at_i + C slope_i, or null if it is degenerate. */
export function pieceAround(gram, Q, y, { place, alpha, C }) {
  const m = y.length;
  const r = Q.cols;
  const F = [];
  place.forEach((p, i) => { if (p === 0) F.push(i); });
  const up = Float64Array.from(place, (p, i) => (p > 0 ? y[i] : 0)); // β_U / C
  if (place.every((p) => p < 0)) { // the features separate
    return { from: 0, to: Infinity, at: new Float64Array(m), slope: new Float64Array(m), place };
  }
  const n = F.length;
  const Kup = times(gram, up);
  const A = matrix(n + r, n + r, (a, b) => {
    if (a < n && b < n) return gram.data[F[a] * m + F[b]];
    if (a >= n && b >= n) return 0;
    return a < n ? Q.data[F[a] * r + b - n] : Q.data[F[b] * r + a - n];
  });
  const right = matrix(n + r, 2, (a, k) => {
    if (a < n) return k ? -Kup[F[a]] : y[F[a]];
    let sum = 0;
    if (k) for (let i = 0; i < m; i++) sum -= Q.data[i * r + a - n] * up[i];
    return sum;
  });
  if (!n && r === 1) return withoutFree(Kup, up, Q, y, { place, C });
  const X = solve(A, right);
  if (!X) return null;
  const parts = [0, 1].map((k) => {
    const beta = k ? Float64Array.from(up) : new Float64Array(m);
    F.forEach((i, a) => { beta[i] = X.data[2 * a + k]; });
    const nu = Float64Array.from({ length: r }, (_, p) => X.data[2 * (n + p) + k]);
    const free = times(Q, nu);
    return { beta, f: times(gram, beta).map((v, i) => v + free[i]) };
  });
  const [at, slope] = parts.map(({ beta }) => beta.map((b, i) => b * y[i]));
  const conditions = [];
  place.forEach((p, i) => {
    if (p === 0) conditions.push([at[i], slope[i]], [-at[i], 1 - slope[i]]);
    else conditions.push([p * (1 - y[i] * parts[0].f[i]), -p * y[i] * parts[1].f[i]]);
  });
  const { from, to } = interval(conditions);
  const fits = alpha.every((a, i) => Math.abs(a - at[i] - C * slope[i]) <= 1e-5 * C);
  return fits && from <= C * (1 + 1e-9) && to >= C * (1 - 1e-9) ? { from, to, at, slope, place } : null;
}

/** The C ≥ 0 with a + bC ≥ 0 for all conditions [a, b]. */
function interval(conditions) {
  let [from, to] = [0, Infinity];
  for (const [a, b] of conditions) {
    if (b > 0) from = Math.max(from, -a / b);
    if (b < 0) to = Math.min(to, a / -b);
  }
  return { from, to };
}

/**
 * The piece where a bias is the only feature and no sample is free: any bias between two bounds is optimal.
 *
 * Sample i asks for p(1 − y(f_i + qt)) ≥ 0, with q t the bias: a lower bound of t or an upper one, affine in
 * C.  Some t satisfies all of them if and only if every lower bound is below every upper one.
 */
function withoutFree(Kup, up, Q, y, { place, C }) {
  const lower = [];
  const upper = [];
  place.forEach((p, i) => {
    const d = -p * y[i] * Q.data[i];
    (d > 0 ? lower : upper).push([p / Math.abs(d), (-p * y[i] * Kup[i]) / Math.abs(d)]);
  });
  const { from, to } = interval(lower.flatMap(([a, b]) => upper.map(([c, d]) => [a + c, b + d])));
  if (!(from <= C * (1 + 1e-9) && to >= C * (1 - 1e-9))) return null;
  return { from, to, at: new Float64Array(y.length), slope: up.map((u, i) => u * y[i]), place };
}

/**
 * The path between two values of C, to be advanced: `pieces` in order of C, `unclear` how many intervals
 * have a solution that is degenerate (equal samples, λ not unique) and are shown by single solutions.
 */
export function startPath(gram, P, y, [low, high]) {
  const { Q } = featureRange(P);
  const open = [[low, high]];
  const pieces = [];
  let unclear = 0;
  let fit = null;
  let at = 0;
  let last = null;
  return {
    pieces,
    get unclear() { return unclear; },
    get done() { return !open.length; },
    advance(budget = Infinity) {
      const end = work.done + budget;
      while (open.length && work.done < end) {
        const [from, to] = open[open.length - 1];
        if (!fit) {
          at = Math.sqrt(from * to);
          fit = startSVM(gram, P, y, at, last);
        }
        const solution = fit.advance(end - work.done);
        if (!fit.done) break;
        fit = null;
        last = solution;
        open.pop();
        let piece = pieceAround(gram, Q, y, solution);
        if (!piece) {
          unclear++;
          const slope = solution.alpha.map((a) => a / at);
          piece = { from: at * 0.99, to: at * 1.01, at: new Float64Array(y.length), slope, place: solution.place, unclear: true };
        }
        pieces.push({ ...piece, from: Math.max(from, piece.from), to: Math.min(to, piece.to) });
        if (piece.to < to * (1 - SLIVER)) open.push([piece.to, to]);
        if (piece.from > from * (1 + SLIVER)) open.push([from, piece.from]);
      }
      pieces.sort((a, b) => a.from - b.from);
      return this;
    },
  };
}

/** The values of C at which a sample changes its place, each with what happens there as C grows. */
export function breakpoints(pieces) {
  const out = [];
  for (let k = 1; k < pieces.length; k++) {
    const [a, b] = [pieces[k - 1], pieces[k]];
    const changes = [];
    a.place.forEach((p, i) => { if (p !== b.place[i]) changes.push({ sample: i, from: p, to: b.place[i] }); });
    if (changes.length) out.push({ C: b.from, changes });
  }
  return out;
}
