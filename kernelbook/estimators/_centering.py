"""Linear kernels far from the origin: moving the origin, so that Gram matrices keep their digits.

At points near 10⁶ the entries of XXᵀ are near 10¹², their differences near one, and what a solver
sees of them is rounding error.  If Σβ_i = 0, which the constant among the free features ensures,
the origin does not matter:

    Σ β_i x·z_i  =  Σ β_i x·(z_i − μ)        for every μ.

So the solver gets the Gram matrix of the centred points, with the *offset* g_i = (x_i − μ)·μ that
leads back, x·z = (x − μ)·(z − μ) + g_x + g_z + ‖μ‖²; predictions use the centred centres z_i − μ;
and f, β and λ are those of the kernel x·z, as always.

G-RLS does the same, and gives two more things back.  With Φ = G + g1ᵀ + 1gᵀ + κ11ᵀ, κ = ‖μ‖², a
solution (c, λ') for G is the solution (c, λ) for Φ with Pλ = Pλ' − (gᵀc)1.  Let Pa = 1, and
(c_g, λ'_g) be the solution for G with the values g in place of y.  Then the covariances of λ per
unit of scale, V_G = (PᵀA⁻¹P)⁻¹ with A = G + ρD⁻¹ and V with Φ in place of G, are related by

    V = V_G + λ'_g aᵀ + a λ'_gᵀ + (κ − gᵀc_g) aaᵀ.

(λ = L_Φ y with L_Φ = L − a gᵀΓ, where λ' = Ly, c = Γy; LP = I, ΓP = 0, LAΓ = 0, LALᵀ = V_G and
ΓAΓ = Γ.  Multiply out V = L_Φ(A + g1ᵀ + 1gᵀ + κ11ᵀ)L_Φᵀ.)  The variance of f(x) is that of G.

Differences of rows do not suffer from a far origin, so kernels of ‖x − z‖ need none of this;
kernels (x·z + 1)ᵈ change with the origin, and the certificate says what they have lost.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelbook.kernels import Linear, Scaled
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.span_basis import constant_first

__all__ = ["Tilt", "far_origin"]

CENTERING_RATIO = 8.0
"""A sample is centred if its distance from the origin is more than this many times its extent."""


def far_origin(kernel, X, P):
    """μ, the mean of the rows, if the kernel is linear and centering is allowed and useful."""
    while type(kernel) is Scaled:
        kernel = kernel.kernel
    if type(kernel) is not Linear or sparse.issparse(X):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)
        away, extent = np.abs(mean).max(), np.abs(X - mean).max()
        far = np.isfinite(away) and away > CENTERING_RATIO * extent
    if not far or not constant_first(column_space(P).Q)[1]:
        return None
    return mean


@dataclass(frozen=True)
class Tilt:
    """What leads from the centred kernel G back to Φ = G + g1ᵀ + 1gᵀ + κ11ᵀ, for G-RLS.

    Attributes
    ----------
    origin : (d,) array, μ
    g : (m,) array;  level : float, κ
    one : (ℓ,) array, a with Pa = 1
    """

    origin: np.ndarray
    g: np.ndarray
    level: float
    one: np.ndarray

    @classmethod
    def of(cls, kernel, X, P):
        """The tilt where `far_origin` names an origin; otherwise None."""
        origin = far_origin(kernel, X, P)
        if origin is None:
            return None
        span = column_space(P)
        there = origin[None]
        g = kernel(X - origin, there)[:, 0]
        one = span.T @ span.Q.sum(axis=0)
        return cls(origin, g, float(kernel.diag(there)[0]), one)

    def coef(self, lam, level):
        """λ from λ' and gᵀc, which must have the rounding errors of Σ c_i K(x, x_i − μ)."""
        return lam - np.multiply.outer(self.one, level)

    def covariance(self, V, c_g, lam_g):
        """V from V_G."""
        cross = np.outer(lam_g, self.one)
        return V + cross + cross.T + (self.level - self.g @ c_g) * np.outer(self.one, self.one)
