"""Standard errors of λ when the parameters of the model were estimated on the same sample.

Let A = Φ_θ + ρD⁻¹ depend on parameters θ (logarithms of widths, weights, ρ), A_i = ∂A/∂θ_i,
V = (PᵀA⁻¹P)⁻¹, L = VPᵀA⁻¹ (so λ = Ly), and let W be the covariance of the estimate of θ, the
inverse curvature of the restricted likelihood.  Since ∂L = −L A_i G and LAG = 0,

    ∂λ/∂θ_i = −L A_i c,        ∂V/∂θ_i = L A_i Lᵀ.

1. λ moves with θ.  To first order its covariance grows (Kackar & Harville 1984) by

       s·Λ,    Λ = Σ_ij W_ij L A_i G A_j Lᵀ,

   and V at the estimate is on average too small by about as much again (Kenward & Roger 1997;
   terms in ∂²A, which vanish if A is linear in the parameters, as in weights and ρ and not in
   widths, are left out).  So the standard errors are those of s(V + 2Λ).
2. V moves with θ, too: a variance that is itself uncertain has fewer degrees of freedom.  With
   v = sV_kk and its variance τ by the delta method in (log s, θ), Satterthwaite's are 2v²/τ.  For
   known θ this is n = m − rank P, exactly.

Both become negligible as the sample comes to determine θ.  They are not enough where the feature
can hardly be told from the kernel and the curve is weak: there the log-likelihood of θ is far from
a parabola, and often largest on its border.

Chapter: book/free/effects

References
----------
Kackar & Harville, J. Amer. Statist. Assoc. 79 (1984); Kenward & Roger, Biometrics 53 (1997);
Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.threads import serial_blas

__all__ = ["Corrected", "corrected"]


@dataclass(frozen=True)
class Corrected:
    """Standard errors and degrees of freedom for each coefficient.

    Attributes
    ----------
    covariance : (ℓ, ℓ) array
        s(V + 2Λ).
    df : (ℓ,) array
        At most n, at least 1.
    """

    covariance: np.ndarray
    df: np.ndarray


@serial_blas
def corrected(
    A: np.ndarray,
    slopes: Sequence[np.ndarray],
    log_cov: np.ndarray,
    P: np.ndarray,
    c: np.ndarray,
    scale: float,
    free: float,
) -> Corrected:
    """The covariance of λ, and its degrees of freedom.

    Parameters
    ----------
    A : (m, m) array
        Φ + ρD⁻¹, positive definite.
    slopes : p arrays (m, m)
        ∂A/∂θ_i.
    log_cov : (p, p) array
        W.
    P : (m, ℓ) array
        Of full rank, or with coefficients that are not unique.
    c : (m,) array
        Gy.
    scale, free : float
        s = yᵀGy/n, and n.
    """
    T = column_space(P).T
    factor = linalg.cho_factor(A, lower=True)
    solved = linalg.cho_solve(factor, P @ T)
    V = np.linalg.inv((P @ T).T @ solved)
    L = V @ solved.T
    moved = [L @ slope for slope in slopes]  # L A_i
    inner = [linalg.cho_solve(factor, rows.T) - L.T @ (solved.T @ rows.T) for rows in moved]
    p = len(slopes)
    growth = np.zeros_like(V)
    for i in range(p):
        for j in range(p):
            growth += log_cov[i, j] * moved[i] @ inner[j]  # L A_i G A_j Lᵀ
    growth = (growth + growth.T) / 2
    V, growth = T @ V @ T.T, T @ growth @ T.T
    derivative = [T @ rows @ L.T @ T.T for rows in moved]  # ∂V/∂θ_i
    # The scale: d log s/dθ_i at the best s, with the opposite sign.
    shift = np.array([c @ slope @ c for slope in slopes]) / (free * scale)
    with_scale = -log_cov @ shift
    of_scale = 2 / free + shift @ log_cov @ shift
    v = np.diag(V)
    g = np.array([np.diag(d) for d in derivative]).reshape(p, len(v))
    tau = v**2 * of_scale + 2 * v * (with_scale @ g) + np.einsum("ik,ij,jk->k", g, log_cov, g)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(v > 0, 2 * v**2 / tau, free)
    return Corrected(scale * (V + 2 * growth), np.clip(df, 1.0, free))
