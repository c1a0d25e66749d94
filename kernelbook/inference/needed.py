"""Is a component needed?  Two tests, exact for normal data where kernel and noise ratio are right.

**Features.**  H₀: λ_g = 0 for a group g of q features.  With V the covariance of λ per unit of
scale,

    F = λ_gᵀ V_gg⁻¹ λ_g / (q s),     s = yᵀGy/n,     n = m − rank P,

has the F distribution with q and n degrees of freedom: after whitening it is the F test of ordinary
least squares.

**A summand of the kernel.**  H₀: K_t is absent, and the rest of the model is A₀ = Φ₀ + ρD⁻¹.  If
K_t came with a small weight θ, the derivative of the restricted likelihood in θ at 0 would be an
increasing function of

    T = yᵀG₀K_tG₀y / yᵀG₀y,

so large T speak against H₀: the test is locally most powerful among those that decide alike for y
and ay + Pb, a > 0.
Under H₀, z = L⁻¹Q₂ᵀy with LLᵀ = Q₂ᵀA₀Q₂ has independent normal entries of one variance, and T is
zᵀBz/zᵀz with B = L⁻¹Q₂ᵀK_tQ₂L⁻ᵀ: `quadratic` has its distribution, for every sample size.  That
θ = 0 is on the boundary, which makes the χ² of a likelihood ratio wrong, does not matter here.

Two things are taken as known: the other summands with their weights relative to the noise, and the
width in K_t.  Without other summands ρ cancels, and only the width matters.  A width that was
chosen on the same y tends to make the p-value too small, since under H₀ no width is better than
another and the luckiest is favoured.

Chapter: book/free/effects

References
----------
Lin, *Variance component testing in generalised linear models with random effects*, Biometrika 84
(1997); Crainiceanu & Ruppert, Journal of the Royal Statistical Society B 66 (2004), for the
boundary.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.stats import f as fisher

from kernelbook.inference.quadratic import ratio_tail
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.threads import serial_blas

__all__ = ["ComponentTest", "features_needed", "kernel_needed"]


@dataclass(frozen=True)
class ComponentTest:
    """The answer of a test.

    Attributes
    ----------
    name : the component
    statistic : F, or yᵀG₀K_tG₀y/yᵀG₀y
    pvalue : P(statistic at least as large) if the component is absent, the rest being known
    df : degrees of freedom of F, or None
    """

    name: str
    statistic: float
    pvalue: float
    df: tuple[float, float] | None = None


def features_needed(
    name: str, lam: np.ndarray, V: np.ndarray, scale: float, free: float
) -> ComponentTest:
    """The F test that all of λ_g are zero, from their covariance V per unit of scale."""
    values, vectors = np.linalg.eigh(V)
    known = values > 1e-12 * values.max(initial=0.0)
    q = int(known.sum())
    along = vectors[:, known].T @ lam
    statistic = float(np.sum(along**2 / values[known]) / (q * scale)) if q else np.nan
    return ComponentTest(name, statistic, float(fisher.sf(statistic, q, free)), (q, free))


@serial_blas
def kernel_needed(
    name: str,
    gram: np.ndarray,
    rest: np.ndarray,
    noise: np.ndarray,
    P: np.ndarray,
    y: np.ndarray,
) -> ComponentTest:
    """The exact score test that a summand is absent.

    Parameters
    ----------
    gram : (m, m) array
        K_t on the sample.
    rest : (m, m) array
        Φ₀, the other summands; zero where there is none.
    noise : (m,) array
        ρ/w_i.
    """
    range_of_P = column_space(P).Q
    Q2 = linalg.qr(range_of_P)[0][:, range_of_P.shape[1] :] if P.shape[1] else np.eye(len(y))
    A = Q2.T @ rest @ Q2 + (Q2.T * noise) @ Q2
    L = np.linalg.cholesky(A)
    z = linalg.solve_triangular(L, Q2.T @ y, lower=True)
    half = linalg.solve_triangular(L, Q2.T @ gram @ Q2, lower=True)
    B = linalg.solve_triangular(L, half.T, lower=True)
    B = (B + B.T) / 2
    statistic = float(z @ B @ z / (z @ z))
    return ComponentTest(name, statistic, ratio_tail(np.linalg.eigvalsh(B), statistic))
