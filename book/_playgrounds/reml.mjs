// How likely a width and a γ are: the restricted likelihood of G-RLS, and its leave-one-out error.
//
// In the model y = Pλ + g + ε with covariance s(Φ + mγI) the contrasts z = Qᵀy, the columns of Q an
// orthonormal basis of ker Pᵀ, do not contain λ.  With the s that makes them most likely, ŝ = yᵀc / (m − r),
//
//     −2 log p(z) = (m − r)(log 2πŝ + 1) + log det Qᵀ(Φ + mγI)Q,
//     det QᵀAQ = det A det PᵀA⁻¹P / det PᵀP,     A = Φ + mγI = LLᵀ.

import { evaluate, polynomials } from "./features.mjs";
import { factor, fit } from "./grls.mjs";
import { cross, gaussian, gram } from "./kernels.mjs";
import { dot, forwardColumns, rankOf, svd, times, work } from "./linalg.mjs";

const logs = (s, n) => {
  let sum = 0;
  for (let k = 0; k < n; k++) sum += Math.log(s[k]);
  return sum;
};

/** The sample with its features, as far as they do not depend on σ and γ. */
export function sample(points, degree, domain) {
  const inputs = points.map((p) => [p.x]);
  const distinct = new Set(points.map((p) => p.x)).size;
  const features = polynomials(Math.min(degree, distinct - 1), [domain[0]], [domain[1]]);
  const P = evaluate(features, inputs);
  const { s } = svd(P);
  const rank = P.cols ? rankOf(s, 1e-12) : 0;
  return { inputs, features, P, rank, logP: 2 * logs(s, rank), y: Float64Array.from(points, (p) => p.y) };
}

/** −2 log likelihood and mean squared leave-one-out error at one width and one γ, with the fit. */
export function judge({ inputs, P, rank, logP, y }, width, reg) {
  const m = y.length;
  const G = gram(gaussian(width), inputs);
  const factors = factor(G, reg);
  const solution = fit(G, P, y, reg, factors);
  const { L } = factors;
  let logA = 0;
  for (let i = 0; i < m; i++) logA += 2 * Math.log(L.data[i * m + i]);
  const { s } = svd(forwardColumns(L, P));
  const free = m - rank;
  const scale = dot(y, solution.c) / free;
  const deviance = free * (Math.log(2 * Math.PI * scale) + 1) + logA + 2 * logs(s, rank) - logP;
  return { ...solution, deviance, scale, error: solution.loo.reduce((sum, e) => sum + e * e, 0) / m };
}

/** f and its free part on a grid. */
export function curves({ inputs, features }, { c, lam }, width, grid) {
  const where = grid.map((x) => [x]);
  const trend = lam.length ? times(evaluate(features, where), lam) : new Float64Array(grid.length);
  return { trend, whole: times(cross(gaussian(width), where, inputs), c).map((v, i) => v + trend[i]) };
}

/** Both criteria on a grid of log₁₀ σ and log₁₀ γ, to be advanced; row by row of γ. */
export function startLandscape(data, widths, regs) {
  const n = widths.length * regs.length;
  const deviance = new Float64Array(n).fill(NaN);
  const error = new Float64Array(n).fill(NaN);
  let at = 0;
  return {
    deviance, error, widths, regs,
    get done() { return at === n; },
    advance(budget = Infinity) {
      const end = work.done + budget;
      while (at < n && work.done < end) {
        const found = judge(data, 10 ** widths[at % widths.length], 10 ** regs[Math.floor(at / widths.length)]);
        deviance[at] = found.deviance;
        error[at++] = found.error;
      }
      return this;
    },
  };
}

/** The best place of a criterion on the grid, { x, y, value } in logarithms. */
export function best({ widths, regs }, values) {
  let k = 0;
  values.forEach((v, i) => { if (v < values[k]) k = i; });
  return { x: widths[k % widths.length], y: regs[Math.floor(k / widths.length)], value: values[k] };
}
