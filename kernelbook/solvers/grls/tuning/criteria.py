"""Restricted likelihood, likelihood, leave-one-out and GCV, with gradients: one factorization.

In the Bayesian reading of G-RLS y has the covariance s(Φ_θ + ρI) and the mean Pλ, λ unknown, where
ρ = mγ and s is the variance per unit of kernel.  With G = Q₂(Q₂ᵀAQ₂)⁻¹Q₂ᵀ, A = Φ_θ + ρI, Q₂ an
orthonormal basis of ker Pᵀ and c = Gy, the **restricted likelihood** is that of Q₂ᵀy.  At the best
s, which is yᵀc/n with n = m − rank P,

    −2 log L  =  n log(2π yᵀc/n) + n + log |Q₂ᵀAQ₂|.

The full likelihood, at the best λ, has n = m and log |A|; it takes λ for known, and so tends to
find too little noise.  A small change dA changes G by −G dA G, hence

    d(−2 log L) = tr(W dA),     W = G − n c cᵀ/(yᵀc)        (for the full one A⁻¹ − …).

Leave-one-out, the mean of r_i² with r_i = c_i/G_ii, and GCV, m‖c‖²/(tr G)², are functions of c and
of the diagonal of G.  Where their derivatives are a_i = ∂/∂c_i and b_i = ∂/∂G_ii,

    d = Σ a_i dc_i + Σ b_i dG_ii = tr(W dA),   W = −½(Ga cᵀ + c (Ga)ᵀ) − G diag(b) G.

So each criterion has one symmetric W for all parameters, and the kernel multiplies it by its slopes
tile by tile (`Kernel.gradient_traces`): no matrix ∂Φ/∂θ is ever in memory.  G comes from inverting
the factor in place.  All four are minimized: as −log L, and as (n/2) log of the other two, which
has the same units.

**Weights count observations.**  A row of weight w is w equal rows.  From here on W = Σw is a
number.  With D = diag w, S² = D·m/W and the system of `grls.problem`, −2 log L of all W
observations has two terms more, (W − m) log ρ, for what the equal rows say of the noise, and
n log(W/m); n is W − rank P, or W for the full likelihood.  Leave-one-out leaves out one of the w
equal rows, or the whole row if w < 1.

**Several outputs** share the kernel and γ; each has its own s.  Their log-likelihoods add up.

Chapter: book/computing/likelihood

References
----------
Patterson & Thompson, Biometrika 58 (1971); Harville, J. Amer. Statist. Assoc. 72 (1977);
Golub, Heath & Wahba, Technometrics 21 (1979).
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.numeric.linalg import project_out
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.grls.problem import Scaled, ScaledGram, Target
from kernelbook.solvers.grls.saddle_factor import (
    NotPositiveDefinite,
    NullSpaceFactor,
    PackedSymmetric,
    SchurFactor,
)

__all__ = ["CRITERIA", "Criteria", "Sample", "Weights"]

CRITERIA = ("reml", "ml", "loo", "gcv")
_EPS = np.finfo(float).eps


@dataclass
class Weights:
    """The matrix W of a criterion, tile by tile, in the units of the kernel.

    B is in the lower triangle of a matrix, and W = scale·B − VVᵀ; or all of it is in `dense`.
    """

    square: np.ndarray
    scale: float
    V: np.ndarray
    dense: np.ndarray | None
    root: np.ndarray

    def __call__(self, rows, cols):
        """The tile of the entries in `rows` and `cols`, on or above the diagonal."""
        if self.dense is not None:
            tile = self.dense[rows, cols].copy()
        else:
            tile = self.square[cols, rows].T.copy()
            if rows.start == cols.start:
                tile = np.triu(tile)
                tile += np.triu(tile, 1).T
            tile *= self.scale
            tile -= self.V[rows] @ self.V[cols].T
        tile *= self.root[rows]
        tile *= self.root[cols].T
        return tile

    def trace(self):
        """tr W, without the weights of the sample."""
        if self.dense is not None:
            return float(np.trace(self.dense))
        return float(self.scale * self.square.diagonal().sum() - np.sum(self.V**2))


class Sample:
    """(P, Y, w) in the units in which all criteria are computed.

    Parameters
    ----------
    P : (m, ℓ) array
    Y : (m, k) array
    weights : (m,) array of positive numbers, optional
    """

    def __init__(self, P, Y, weights=None):
        self.m, self.outputs = Y.shape
        self.weights = np.ones(self.m) if weights is None else weights
        self.total = float(self.weights.sum())
        self.problem = Scaled(P, weights)
        self.rank = self.problem.rank
        target = Target(self.problem, Y)
        self.rest, self.y_unit = target.residual_target, target.y_unit
        self.explained = bool(target.explained.all())
        self.share = (np.minimum(self.weights, 1.0) / self.weights)[:, None]
        outside = 1.0 - np.sum(self.problem.Q**2, axis=1)
        self.defined = (outside > 1e-12) | (self.share[:, 0] < 1)  # where leave-one-out is


class Criteria:
    """All criteria at one Φ and one ρ; `None` in place of this where A is not definite.

    Parameters
    ----------
    gram : (m, m) array
        Φ; its memory is taken over.
    sample : Sample
    rho : float
        mγ.
    definite : bool
        Whether Φ is positive definite everywhere, and not only where Pᵀc = 0.
    """

    @serial_blas
    def __init__(self, gram, sample, rho, definite=True):
        self.sample = sample
        self.gram = ScaledGram(gram, sample.problem, rho)
        self.rho = rho / self.gram.unit
        self.store = PackedSymmetric(self.gram.matrix, 4 * _EPS * self.gram.norm)
        kinds = (SchurFactor, NullSpaceFactor) if definite else (NullSpaceFactor,)
        for kind in kinds:
            try:
                self.factor = kind(self.store, sample.problem.Q, self.rho)
                break
            except NotPositiveDefinite:
                continue
        else:
            raise NotPositiveDefinite
        self.logs = self.factor.log_determinants()
        self.u = self.factor.solve(sample.rest)[0]
        self.q = np.sum(self.u * sample.rest, axis=0)  # yᵀGy, in units of y²/unit
        self._inverse()

    def _inverse(self):
        """Z with G = B − ZZᵀ, B in the place of the factor; the diagonal of G."""
        self.Z = self.factor.invert()
        self.diagonal = self.store.square.diagonal() - np.sum(self.Z**2, axis=1)

    # -------------------------------------------------------------------------------- values

    def observations(self, name):
        """n, what the logarithm of the scale is multiplied by."""
        return self.sample.total - (0 if name == "ml" else self.sample.rank)

    def log_likelihood(self, name):
        """log L at the best scale (and, for "ml", the best λ); NaN where it has no meaning."""
        s, n = self.sample, self.observations(name)
        log_det = self.logs[0] if name == "ml" else self.logs[1]
        if log_det is None:
            return np.nan
        shared = log_det + (s.total - s.m) * np.log(self.rho) + n * np.log(s.total / s.m)
        with np.errstate(divide="ignore"):
            own = n * (np.log(2 * np.pi * self.q / n) + 1.0 + 2.0 * np.log(s.y_unit))
        return -0.5 * float(np.sum(own + shared))

    def _left_out(self):
        """Numerators and denominators of the leave-one-out residuals."""
        s = self.sample
        numerator = self.rho * self.u / s.problem.sqrt_weights
        denominator = (1.0 - s.share) + s.share * self.rho * self.diagonal[:, None]
        denominator[~s.defined] = np.nan
        return numerator, denominator

    def loo_residuals(self):
        """y_i − f⁽⁻ⁱ⁾(x_i), (m, k); NaN where undefined."""
        numerator, denominator = self._left_out()
        return numerator / denominator * self.sample.y_unit

    def _free(self):
        """W − df, by which GCV divides."""
        s = self.sample
        return (s.total - s.m) + self.rho * self.diagonal.sum()

    def loo(self):
        """The mean squared leave-one-out residual."""
        s = self.sample
        w = s.weights[s.defined]
        squares = self.loo_residuals()[s.defined] ** 2
        return float(w @ squares.mean(axis=1) / w.sum()) if w.size else np.nan

    def gcv(self):
        """Generalized cross-validation, the mean over the outputs."""
        s = self.sample
        left = np.sum((self.rho * self.u * s.y_unit) ** 2) / (s.m * s.outputs)
        return float(s.total**2 * left / self._free() ** 2)

    def value(self, name):
        """What is minimized: −log L, or (n/2) log of the criterion."""
        if name in ("reml", "ml"):
            return -self.log_likelihood(name)
        n = self.observations(name) * self.sample.outputs
        return 0.5 * n * float(np.log(self.loo() if name == "loo" else self.gcv()))

    def values(self):
        """Every criterion by its name; "ml" only where it has a meaning."""
        found = {name: self.log_likelihood(name) for name in ("reml", "ml")}
        found |= {"loo": self.loo(), "gcv": self.gcv()}
        return {name: value for name, value in found.items() if not np.isnan(value)}

    # ----------------------------------------------------------------------------- gradients

    @serial_blas
    def weight_matrix(self, name):
        """(W, ∂/∂log ρ) of `value(name)`: W belongs to the derivatives of Φ."""
        likelihood = name in ("reml", "ml")
        w, explicit = (self._of_likelihood if likelihood else self._of_left_out)(name)
        slope = w.trace() * self.rho + explicit
        w.root = w.root / np.sqrt(self.gram.unit)
        return w, slope

    def _weights(self, scale, V, dense=None):
        return Weights(self.store.square, scale, V, dense, self.sample.problem.sqrt_weights)

    def _of_likelihood(self, name):
        s, k, n = self.sample, self.sample.outputs, self.observations(name)
        V = [self.u * np.sqrt(n / (2.0 * self.q))]
        if name == "reml":
            V.append(self.Z * np.sqrt(k / 2.0))
        return self._weights(k / 2.0, np.hstack(V)), 0.5 * k * (s.total - s.m)

    def _of_left_out(self, name):
        a, b, explicit = (self._of_loo if name == "loo" else self._of_gcv)()
        lower = np.tril(self.store.square)
        G = lower + np.tril(lower, -1).T
        G -= self.Z @ self.Z.T
        Ga = project_out(self.sample.problem.Q, G @ a)
        W = (G * -b) @ G
        half = 0.5 * Ga @ self.u.T
        W -= half + half.T
        return self._weights(1.0, np.empty((self.sample.m, 0)), W), explicit

    def _of_loo(self):
        s = self.sample
        numerator, denominator = (np.where(s.defined[:, None], v, 1.0) for v in self._left_out())
        r = numerator / denominator * s.y_unit
        pull = (s.weights * s.defined)[:, None] * r  # half the derivative of the sum of squares
        n = self.observations("loo") * s.outputs
        pull *= n / np.sum(pull * r)
        by_numerator = pull * s.y_unit / denominator
        by_denominator = -np.sum(pull * r / denominator, axis=1)
        a = by_numerator * self.rho / s.problem.sqrt_weights
        b = by_denominator * s.share[:, 0] * self.rho
        return a, b, float(np.sum(by_numerator * numerator) + b @ self.diagonal)

    def _of_gcv(self):
        s, free = self.sample, self._free()
        n = self.observations("gcv") * s.outputs
        a = self.u * s.y_unit**2 * (n / np.sum((self.u * s.y_unit) ** 2))
        b = np.full(s.m, -n * self.rho / free)
        return a, b, n + float(b @ self.diagonal)
