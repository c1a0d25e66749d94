"""Nyström's normal equations from sums over translates: half the work of sums over ẑ.

The matrix of (1) in `nystrom` is ẐᵀMẐ + ρI, with rows ẑ = L⁻¹k in place of the kernel values k at
the centres.  One triangular solve for each of m rows costs mn², as much as the sum itself.  It can
wait for the sum: with K̃ = SK,

    ẐᵀMẐ = L⁻¹ (K̃ᵀK̃ − K̃ᵀQ QᵀK̃) L⁻ᵀ,                                                        (1)

which takes n³ instead.  What is lost are digits, and how many is known.  Let κ = ‖K̃‖_F, which
κ² = tr K̃ᵀK̃ tells, let ε be the rounding of the sums relative to the norms of what is multiplied
(as everywhere here, that of errors with random signs), and let η = ε κ²‖L⁻¹‖².

**Proposition.**  Let H = ẐᵀMẐ + ρI, let Ĥ be symmetric with ‖Ĥ − H‖ ≤ η < ρ, and let
u⁺ = u + Ĥ⁻¹r with r = ẐᵀMỹ − Hu.  Then the residual of u⁺ is at most η/(ρ − η)·‖r‖.

*Proof.*  r⁺ = r − HĤ⁻¹r = (Ĥ − H)Ĥ⁻¹r.  The eigenvalues of H are at least ρ, so those of Ĥ are at
least ρ − η and ‖Ĥ⁻¹‖ ≤ 1/(ρ − η).  ∎

The sums of (1) are off by at most εκ² in norm (‖K̃ᵀQ‖ ≤ κ), hence the matrix by η: L⁻¹ stands on
either side.  So where η is a fraction of ρ, a factor of the cheap matrix is as good as the true
one, provided that residuals are true.  They are computed from rows, in the pass over K
that the certificate needs anyway,

    r = L⁻¹ K̃ᵀe − ρu,      e = M(ỹ − K̃c),    c = L⁻ᵀu,

and not from the sums.  What rounding leaves of *them*, δ = ε κ‖L⁻¹‖·‖ỹ − K̃c‖, has the root of the
condition number where η has all of it.  So the solution is this: u = Ĥ⁻¹ẐᵀMỹ from the sums, r from
rows, and one step u⁺, whose residual is at most δ + η/(ρ − η)·‖r‖, rounding included.  It
needs no third pass: f changes by −Ẑ(u⁺ − u), λ and the loss by what the sums say of that.

`Rounding` computes η and δ, beforehand from some rows, and from all of them when the sums are
there.  Where η > ρ/16, or δ is above half of what the tolerance allows, the sums are taken over ẑ.

‖L⁻¹‖² is bounded by the product of the largest column and row sums of |L⁻¹|, from the inverse
itself.

References
----------
Higham, *Accuracy and Stability of Numerical Algorithms* (2002), chapters 8 and 12.
"""

import numpy as np
from scipy.linalg import blas, lapack

from kernelbook.numeric.blas import add_gram

__all__ = ["Rounding", "inverse_norm", "sums", "whitened"]

_EPS = np.finfo(float).eps
_SHARE = 1 / 16  # of ρ that η may be


def inverse_norm(L):
    """A bound of ‖L⁻¹‖ for a lower triangular matrix: √(‖L⁻¹‖₁‖L⁻¹‖_∞)."""
    inverse, info = lapack.dtrtri(L, lower=1)
    if info:
        return np.inf
    sizes = np.abs(np.tril(inverse))
    with np.errstate(over="ignore"):
        return float(np.sqrt(sizes.sum(axis=0).max() * sizes.sum(axis=1).max()))


class Rounding:
    """η and δ of the module's text.

    Parameters
    ----------
    square : float
        κ², or an estimate of it.
    inverse : float
        A bound of ‖L⁻¹‖.
    """

    def __init__(self, square, inverse):
        with np.errstate(over="ignore", invalid="ignore"):
            self.matrix = _EPS * square * inverse**2
            self._residual = _EPS * np.sqrt(square) * inverse

    def residual(self, left):
        """δ where what is left of y has these norms."""
        return self._residual * left

    def share(self, rho):
        """η/(ρ − η), what a step leaves of the residual."""
        return self.matrix / (rho - self.matrix)

    def harmless(self, rho, left, enough):
        """Whether sums over translates do; `enough` is what the residual may be."""
        small = self.matrix <= _SHARE * rho and np.all(self.residual(left) <= enough / 2)
        return bool(small)


def sums(panels, root, blocks):
    """K̃ᵀK̃ (both triangles) and K̃ᵀV for every V of `blocks`, in one pass.

    Parameters
    ----------
    panels : Panels
        The rows of K.
    root : (m, 1) array or None
        The diagonal of S; None for the identity.
    blocks : list of (m, k) arrays
    """
    n = panels.n

    def work(total, rows, panel):
        if root is not None:
            panel *= root[rows]
        add_gram(panel, total[0])
        for product, V in zip(total[1:], blocks, strict=True):
            product += panel.T @ V[rows]

    gram, *products = panels.each(
        work,
        lambda: (np.zeros((n, n), order="F"), *(np.zeros((n, V.shape[1])) for V in blocks)),
    )
    return np.tril(gram) + np.tril(gram, -1).T, products


def whitened(L, gram):
    """L⁻¹ gram L⁻ᵀ, exactly symmetric."""
    half = blas.dtrsm(1.0, L, gram, lower=1)
    full = blas.dtrsm(1.0, L, half.T, lower=1)
    return (full + full.T) / 2
