// The space of a choice of anchors: cardinal features φ', conditional kernel H, reproducing kernel K.
//
//     φ'(x) = M⁻¹φ(x),  M_pq = φ_p(a_q)
//     H(x,z) = Φ(x,z) − Σ φ'_p(x)Φ(a_p,z) − Σ φ'_q(z)Φ(x,a_q) + ΣΣ φ'_p(x)φ'_q(z)Φ(a_p,a_q)
//     K(x,z) = H(x,z) + Σ φ'_p(x)φ'_p(z)

import { evaluate } from "./features.mjs";
import { cross, gram } from "./kernels.mjs";
import { matrix, solve } from "./linalg.mjs";

/** null if the anchors are not unisolvent. */
export function conditionalSpace(kernel, features, anchors) {
  const l = anchors.length;
  const M = evaluate(features, anchors);
  const inverse = solve(M, matrix(l, l, (i, j) => (i === j ? 1 : 0)));
  if (!inverse) return null;
  const atAnchors = gram(kernel, anchors).data;

  /** E, E_ip = φ'_p(x_i): P M⁻¹, where a row of M is φ(a_q)ᵀ. */
  const cardinal = (X) => {
    const P = evaluate(features, X);
    return matrix(X.length, l, (i, p) => {
      let sum = 0;
      for (let q = 0; q < l; q++) sum += P.data[i * l + q] * inverse.data[q * l + p];
      return sum;
    });
  };
  /** E and S = Φ(X, anchors) − ½EΦ(anchors), with which H = Φ − ESᵀ − SEᵀ. */
  const factors = (X) => {
    const E = cardinal(X);
    const F = cross(kernel, X, anchors);
    const S = matrix(X.length, l, (i, p) => {
      let sum = F.data[i * l + p];
      for (let q = 0; q < l; q++) sum -= 0.5 * E.data[i * l + q] * atAnchors[q * l + p];
      return sum;
    });
    return { E: E.data, S: S.data };
  };
  const kernelMatrix = (X, Z, weight) => {
    const left = factors(X);
    const right = X === Z ? left : factors(Z);
    return matrix(X.length, Z.length, (i, j) => {
      let sum = kernel(X[i], Z[j]);
      for (let p = 0; p < l; p++) {
        const e = left.E[i * l + p];
        const d = right.E[j * l + p];
        sum += weight * e * d - e * right.S[j * l + p] - left.S[i * l + p] * d;
      }
      return sum;
    });
  };
  return {
    cardinal,
    H: (X, Z = X) => kernelMatrix(X, Z, 0),
    K: (X, Z = X) => kernelMatrix(X, Z, 1),
  };
}
