"""The kernel part of a fitted f at new points; f is that, plus Pλ.

A solver certifies the values that its predictor will give on the sample, so predictors belong to
the solvers and know nothing of estimators.

**Linear kernels far from the origin.**  At points near 10⁶ the entries of XXᵀ are near 10¹², their
differences near one, and a solver sees rounding errors.  Where the constant is among the free
features Σc_i = 0, and the origin does not matter: `OriginShift` moves it to μ, solves there with
the centred kernel G, and leads back.  With Φ = G + g1ᵀ + 1gᵀ + κ11ᵀ, g_i = (x_i − μ)·μ, κ = ‖μ‖², a
solution (c, λ') for G is the solution (c, λ) for Φ with Pλ = Pλ' − (gᵀc)1.  Let Pa = 1, and let
(c_g, λ'_g) be the solution for G with the values g in place of y.  The covariances of λ per unit
of scale, V_G = (PᵀA⁻¹P)⁻¹ with A = G + ρD⁻¹, and V with Φ in place of G, are related by

    V = V_G + λ'_g aᵀ + a λ'_gᵀ + (κ − gᵀc_g) aaᵀ.

(λ = L_Φ y with L_Φ = L − a gᵀΓ, where λ' = Ly, c = Γy; LP = I, ΓP = 0, LAΓ = 0, LALᵀ = V_G and
ΓAΓ = Γ.  Multiply out V = L_Φ(A + g1ᵀ + 1gᵀ + κ11ᵀ)L_Φᵀ.)  The variance of f(x) is that of G.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.numeric.column_space import column_space

__all__ = ["GramColumns", "KernelExpansion", "OriginShift", "fitted_values"]


def fitted_values(predictor, X, P, c, lam):
    """λ as the user will know it, and f on the sample by the arithmetic of `predict`.

    The coefficients c are left in the predictor.
    """
    predictor.c = c
    lam = predictor.lam(lam)
    return lam, predictor.on_sample(X) + P @ lam


class KernelExpansion:
    """Σ_j c_j K(z_j, ·), from a copy of the centres; with a shift, the kernel seen from its origin.

    Parameters
    ----------
    kernel : Kernel
    centers : (n, d) rows
    c : (n, k) array
    shift : OriginShift, optional
    """

    def __init__(self, kernel, centers, c=None, shift=None):
        self.kernel, self.shift, self.c = kernel, shift, c
        # A copy: the rows may be the caller's own array, which the caller may change after the fit.
        self.centers = centers.copy() if shift is None else centers - shift.origin

    def __call__(self, X):
        return self.kernel.matvec(X, self.centers, self.c)

    @property
    def original_centers(self):
        """The centres z_j, wherever the origin is."""
        return self.centers if self.shift is None else self.centers + self.shift.origin

    def from_origin(self, X):
        """The points that `block` and `diag` want for X."""
        return X if self.shift is None else X - self.shift.origin

    def block(self, X):
        """K(x, z_j) as the posterior needs it."""
        return self.kernel(self.from_origin(X), self.centers)

    def gram(self):
        """The Gram matrix of the centres, in new memory."""
        return self.kernel(self.centers)

    def lam(self, lam):
        """λ for the kernel as the user knows it."""
        if self.shift is None:
            return lam
        return self.shift.lam(lam, self(self.shift.origin[None])[0])

    def on_sample(self, X):
        """The kernel part at X, whose rows are the centres.

        Every pair of samples is evaluated once and serves twice, by the kernel's own formula for
        products: the values are those of `predict`, but for the rounding of a few sums.
        """
        # With a shift the points and the centres differ by the origin; and a kernel of the user's
        # own may compute K(X) otherwise than K(X, Z), which a certificate must show.
        if self.shift is not None or not self.kernel._proven:
            return self(X)
        return self.kernel.gram_matvec(X, self.c)


class GramColumns:
    """Σ_j c_j Φ(·, x_j) from the rows of a matrix of which some columns are wanted."""

    shift = None

    def __init__(self, columns, c=None):
        self.columns, self.c = columns, c

    def __call__(self, G):
        return G[:, self.columns] @ self.c

    def block(self, G):
        return G[:, self.columns]

    def lam(self, lam):
        return lam

    def on_sample(self, G):
        """The same for a matrix from which the columns have been picked already."""
        return G @ self.c


@dataclass(frozen=True)
class OriginShift:
    """What leads from the centred kernel G back to Φ = G + g1ᵀ + 1gᵀ + κ11ᵀ.

    Attributes
    ----------
    origin : (d,) array, μ
    g : (m,) array
    level : float
        κ
    one : (ℓ,) array
        a, with Pa = 1.
    """

    origin: np.ndarray
    g: np.ndarray
    level: float
    one: np.ndarray

    @classmethod
    def to(cls, origin, kernel, X, P):
        """The shift to an origin."""
        span, there = column_space(P), origin[None]
        g = kernel(X - origin, there)[:, 0]
        one = span.T @ span.Q.sum(axis=0)
        return cls(origin, g, float(kernel.diag(there)[0]), one)

    def lam(self, lam, level):
        """λ from λ' and gᵀc, which must have the rounding errors of Σ c_i K(x, x_i − μ)."""
        return lam - np.multiply.outer(self.one, level)

    def covariance(self, V, c_g, lam_g):
        """V from V_G."""
        cross = np.outer(lam_g, self.one)
        return V + cross + cross.T + (self.level - self.g @ c_g) * np.outer(self.one, self.one)
