// G-RLS: minimize (1/m) Σ (y_i − f(x_i))² + γ|f|² over f = Σ λ_p φ_p + Σ c_i Φ(x_i, ·).
//
// The minimum solves (Φ + mγI)c + Pλ = y, Pᵀc = 0.  With Φ + mγI = LLᵀ and an orthonormal basis U
// of the range of L⁻¹P,
//
//     c = Gy,    G = L⁻ᵀ(I − UUᵀ)L⁻¹,
//
// and the leave-one-out residuals are c_i / G_ii.

import {
  backward, cholesky, dot, forward, forwardColumns, lowerInverse, matrix, rankOf, select, solve, svd,
  times, transposeTimes,
} from "./linalg.mjs";

/** L and L⁻¹; two fits with the same kernel matrix and γ can share them. */
export function factor(gram, reg) {
  const L = cholesky(gram, gram.rows * reg);
  if (!L) throw new RangeError("the kernel matrix is not positive definite; raise reg");
  return { L, inverse: lowerInverse(L) };
}

export function fit(gram, P, y, reg, { L, inverse } = factor(gram, reg)) {
  const m = y.length;
  const { U, s, V } = svd(forwardColumns(L, P));
  const rank = rankOf(s, 1e-12);
  const u = forward(L, y);
  const along = transposeTimes(U, u);
  const lam = new Float64Array(P.cols);
  for (let k = 0; k < rank; k++) {
    for (let p = 0; p < P.cols; p++) lam[p] += (V.data[p * P.cols + k] * along[k]) / s[k];
    for (let i = 0; i < m; i++) u[i] -= U.data[i * P.cols + k] * along[k];
  }
  const c = backward(L, u);
  return { c, lam, rank, ...report(gram, P, y, reg, c, lam), loo: leaveOneOut(inverse.data, U, rank, c) };
}

function report(gram, P, y, reg, c, lam) {
  const kernelPart = times(gram, c);
  const values = times(P, lam).map((v, i) => v + kernelPart[i]);
  const seminorm2 = dot(c, kernelPart);
  const error = values.reduce((sum, v, i) => sum + (y[i] - v) ** 2, 0) / y.length;
  return { values, error, seminorm2, objective: error + reg * seminorm2 };
}

/** y_i − f₋ᵢ(x_i) for the f₋ᵢ that never saw sample i; NaN where the features need sample i. */
function leaveOneOut(inverse, U, rank, c) {
  const m = c.length;
  const out = new Float64Array(m);
  for (let i = 0; i < m; i++) {
    // G_ii = ‖L⁻¹e_i‖² − ‖UᵀL⁻¹e_i‖², and L⁻¹e_i is zero above its i-th entry.
    let whole = 0;
    const parts = new Float64Array(rank);
    for (let k = i; k < m; k++) {
      const entry = inverse[k * m + i];
      whole += entry * entry;
      for (let p = 0; p < rank; p++) parts[p] += entry * U.data[k * U.cols + p];
    }
    const G = whole - dot(parts, parts);
    out[i] = G > 1e-12 * whole ? c[i] / G : NaN;
  }
  return out;
}

/**
 * B's printed (26) and (27): λ̃ = y₁ and (H + γmI)c̃ = y₂ − Eᵀλ̃, the first ℓ samples as anchors.
 *
 * It makes f exact at the first ℓ samples and is not the minimum.  Returned in the form of `fit`, so
 * that both are drawn by the same code; null if the first ℓ samples are not unisolvent.
 */
export function printed26(gram, P, y, reg) {
  const m = y.length;
  const l = P.cols;
  const first = Array.from({ length: l }, (_, i) => i);
  const others = Array.from({ length: m - l }, (_, i) => l + i);
  const P1 = select(P, first);
  // E_ip = φ'_p(x_i) for the others: rows of P₂ P₁⁻¹.
  const Et = solve(matrix(l, l, (i, j) => P1.data[j * l + i]),
    matrix(l, m - l, (p, i) => P.data[others[i] * l + p]));
  if (!Et) return null;
  const E = matrix(m - l, l, (i, p) => Et.data[p * (m - l) + i]);
  const H = conditionalGram(gram, E, l);
  const L = cholesky(H, m * reg);
  if (!L) return null;
  const y1 = y.slice(0, l);
  const Ey = times(E, y1);
  const c2 = backward(L, forward(L, others.map((i, k) => y[i] - Ey[k])));
  // Σ c̃_i H(x_i, ·) = Σ c_i Φ(x_i, ·) + a function of H₀, which f(x_p) = y_p at the anchors fixes.
  const c = Float64Array.from([...transposeTimes(E, c2).map((v) => -v), ...c2]);
  const kernelPart = times(gram, c);
  const lam = solve(P1, matrix(l, 1, (i) => y1[i] - kernelPart[i])).data;
  return { c, lam, ...report(gram, P, y, reg, c, lam) };
}

/** H between the samples after the first l, E their cardinal features. */
function conditionalGram(gram, E, l) {
  const k = E.rows;
  const m = gram.rows;
  const at = (i, j) => gram.data[i * m + j];
  // S = Φ₂₁ − ½EΦ₁₁, so that H = Φ₂₂ − ESᵀ − SEᵀ.
  const S = matrix(k, l, (i, p) => {
    let sum = at(l + i, p);
    for (let q = 0; q < l; q++) sum -= 0.5 * E.data[i * l + q] * at(q, p);
    return sum;
  });
  return matrix(k, k, (i, j) => {
    let sum = at(l + i, l + j);
    for (let p = 0; p < l; p++) {
      sum -= E.data[i * l + p] * S.data[j * l + p] + S.data[i * l + p] * E.data[j * l + p];
    }
    return sum;
  });
}
