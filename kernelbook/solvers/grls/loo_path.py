"""G-RLS for a whole grid of γ from one eigendecomposition, with leave-one-out, GCV and df.

In the scaled coordinates of `grls` (identity noise, orthonormal features Q, ρ = mγ) let
MΦM = VΛVᵀ on ker Qᵀ, VᵀV = I, QᵀV = 0.  Then for *every* ρ > 0

    u = G y,     G = V (Λ + ρ)⁻¹ Vᵀ,     y − f = ρu,     df = tr(I − ρG) = r + Σ_k Λ_k/(Λ_k + ρ).

To keep V apart from Q where Λ has zeros, what is decomposed is MΦM + τQQᵀ with τ above every
eigenvalue of MΦM: its last r eigenvectors span range Q.

**Leave-one-out.**  The fitted value f_i depends on y_i with the weight H_ii = 1 − ρG_ii.  Replace
y_i by f⁽⁻ⁱ⁾(x_i), the value predicted without sample i: then sample i has residual zero at f⁽⁻ⁱ⁾
and changes nothing: the fit is f⁽⁻ⁱ⁾.  So f_i − f⁽⁻ⁱ⁾(x_i) = H_ii (y_i − f⁽⁻ⁱ⁾(x_i)), or

    y_i − f⁽⁻ⁱ⁾(x_i) = (y_i − f_i) / (1 − H_ii) = u_i / G_ii.

All other samples keep their noise, that is, mγ is held: the refit has reg·m/(m − 1).  It is
undefined, and NaN here, iff e_i ∈ range P: a feature (or a combination) that only sample i sees.

**Weights count observations.**  A row of weight w stands for w equal rows, and one *observation*
is left out, not the row: the share s = min(1, 1/w) of its weight (all of it when w ≤ 1).  Since
H_ii is linear in the weight that y_i carries,

    y_i − f⁽⁻ⁱ⁾(x_i) = (y_i − f_i) / (1 − s_i H_ii),

and for whole numbers w this is exactly what the duplicated sample gives.  In the same spirit
GCV = W Σ w_i (y_i − f_i)² / (W − df)², which is m‖c‖²/(tr G)² for unit weights.

**Rounding.**  An error E in MΦM changes G by −GEG, and (GEG)_ii ≤ ‖E‖ G_ii/(Λ_min + ρ).  E is some
ε‖Φ‖: where Λ_min + ρ comes near that, the residuals above are noise.

Chapter: book/computing/choosing

References
----------
Golub, Heath & Wahba, Technometrics 21 (1979); Wahba, *Spline Models for Observational Data* (1990);
Dubrule, *Cross validation of kriging in a unique neighborhood*, Math. Geology 15 (1983).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kernelbook.numeric.linalg import project_out
from kernelbook.solvers.grls.problem import Scaled, ScaledGram
from kernelbook.solvers.grls.saddle_factor import PackedSymmetric

__all__ = ["Path", "Spectrum"]

_EPS = np.finfo(float).eps
_ROW_BLOCK = 512


@dataclass
class Path:
    """What one decomposition says about every γ of a grid (R values, m samples, k outputs).

    Attributes
    ----------
    reg : (R,) array
    residuals : (R, m, k) array
        Leave-one-out residuals y_i − f⁽⁻ⁱ⁾(x_i); NaN where undefined.
    gcv : (R,) array
        Generalized cross-validation, the mean over the outputs; NaN where W ≤ df.
    df : (R,) array
        Effective degrees of freedom, tr ∂f/∂y.
    noise : (R,) array
        A bound, but for a small factor, of the relative error that rounding causes in G_ii.
    """

    reg: np.ndarray
    residuals: np.ndarray
    gcv: np.ndarray
    df: np.ndarray
    noise: np.ndarray


class Spectrum:
    """The eigendecomposition of the kernel matrix on the null space of the features.

    Parameters
    ----------
    gram : (m, m) array
        Φ, symmetric; C-contiguous float64.  Its memory is taken over and overwritten; LAPACK
        needs room for two more such arrays.
    P : (m, ℓ) array
    weights : (m,) array of positive numbers, optional
    rounding : float, optional
        As for `grls.System`.
    """

    def __init__(self, gram, P, weights=None, rounding=None):
        m = len(gram)
        self.weights = np.ones(m) if weights is None else weights
        self.problem = Scaled(P, weights)
        self.gram = ScaledGram(gram, self.problem)
        Q, r, norm = self.problem.Q, self.problem.rank, self.gram.norm
        store = PackedSymmetric(self.gram.matrix)
        tau = 2 * norm or 1.0
        if r:
            V = store.times(Q)
            store.downdate(Q, V - 0.5 * Q @ (Q.T @ V + tau * np.eye(r)))
        values, vectors, info = lapack.dsyevd(store.square, lower=1, overwrite_a=1)
        if info:
            raise ArithmeticError("LAPACK's dsyevd did not converge.")
        self.values, self.vectors = values[: m - r], vectors[:, : m - r]
        slack = 1e-8 * tau
        if rounding is not None:
            slack = 1e-8 * np.linalg.norm(self.values) + rounding * norm
        if np.any(self.values < -slack):
            raise ValueError(
                "the kernel matrix is not positive semidefinite on the null space of the features: "
                "it is no kernel, or it is a conditionally positive definite one whose "
                "polynomials are not among the features."
            )
        # A matrix that comes in single precision shows it: by eigenvalues below zero.
        below = -self.values.min(initial=0.0)
        self.rounding_level = max(_EPS * norm, below if below > 16 * _EPS * norm else 0.0)
        np.maximum(self.values, 0.0, out=self.values)

    @property
    def rank(self):
        """The rank of P on the sample."""
        return self.problem.rank

    def default_grid(self, count=50):
        """γ from 10 to 10⁻¹⁰ times the largest eigenvalue over m, but above rounding."""
        top = self.values.max(initial=0.0)
        noise = 1e3 * self.rounding_level
        low = max(1e-10 * top, noise)
        if top <= noise:  # the kernel adds nothing to the features: every γ gives the same f
            top = self.gram.norm or 1.0
            low = 1e-6 * top
        return np.geomspace(10 * top, low, count) * (self.gram.unit / len(self.weights))

    def path(self, Y, reg) -> Path:
        """Leave-one-out residuals, GCV and df for every γ of the array `reg`, all > 0.

        Squares of Y must neither overflow nor vanish: scale it.
        """
        m, k = Y.shape
        root, w, W = self.problem.sqrt_weights, self.weights, self.weights.sum()
        reg = np.asarray(reg, dtype=np.float64)
        rho = m * (reg / self.gram.unit)
        rest = project_out(self.problem.Q, root * Y)

        shrink = rho / (self.values[:, None] + rho)
        spectral = self.vectors.T @ rest
        scaled = self.vectors @ (shrink[:, :, None] * spectral[:, None, :]).reshape(
            -1, rho.size * k
        )
        scaled = scaled.reshape(m, rho.size, k)

        rest_influence, outside = self._rows(shrink)
        share = (np.minimum(w, 1.0) / w)[:, None]
        denominator = (1.0 - share) + share * rest_influence  # 1 − sH_ii, without cancellation
        # A row of V whose squared length is this small is a zero row and its rounding.
        denominator[(share[:, 0] == 1.0) & (outside < 1e-16)] = np.nan
        residuals = scaled / root[:, :, None] / denominator[:, :, None]

        df = self.rank + np.sum(self.values[:, None] / (self.values[:, None] + rho), axis=0)
        free = (W - m) + shrink.sum(axis=0)  # W − df, without cancellation
        scaled /= np.where(free > 0, free, np.nan)[:, None]
        gcv = W**2 * np.einsum("irk,irk->r", scaled, scaled) / (k * m)
        noise = 8 * self.rounding_level / (self.values.min(initial=np.inf) + rho)
        return Path(reg, residuals.transpose(1, 0, 2), gcv, df, noise)

    def _rows(self, shrink):
        """ρG_ii for every ρ, and the squared distance of each e_i from range Q."""
        m = len(self.vectors)
        influence, outside = np.empty((m, shrink.shape[1])), np.empty(m)
        for i in range(0, m, _ROW_BLOCK):
            squares = self.vectors[i : i + _ROW_BLOCK] ** 2
            influence[i : i + _ROW_BLOCK] = squares @ shrink
            outside[i : i + _ROW_BLOCK] = squares.sum(axis=1)
        return influence, outside
