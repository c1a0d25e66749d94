"""Nyström's normal equations, formed over ẑ, or over translates for half the work.

The matrix of (1) in `nystrom.solve` is ẐᵀMẐ + ρI, with rows ẑ = L⁻¹k in place of the kernel values
k at the centres.  One triangular solve for each of m rows costs mn², as much as the sum itself.  It
can wait for the sum: with K̃ = SK,

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
there.  Where η > ρ/16, or δ is above half of what the tolerance allows, the sums are taken over ẑ:
`fast_equations` then returns None, and `stable_equations` forms the matrix.

‖L⁻¹‖² is bounded by the product of the largest column and row sums of |L⁻¹|, from the inverse
itself.

Chapter: book/computing/beyond

References
----------
Higham, *Accuracy and Stability of Numerical Algorithms* (2002), chapters 8 and 12.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from kernelbook.numeric.blas import add_gram
from kernelbook.numeric.linalg import cholesky_shifted, norms
from kernelbook.numeric.threads import one_thread

__all__ = [
    "NormalEquations",
    "Rounding",
    "congruence",
    "fast_equations",
    "gram_and_products",
    "inverse_norm",
    "sketched_equations",
    "stable_equations",
]

_EPS = np.finfo(float).eps
MAX_ETA_RATIO = 1 / 16  # of ρ that η may be


@dataclass(frozen=True)
class NormalEquations:
    """(ẐᵀMẐ + ρI) u = ẐᵀMỹ, formed and factored.

    Attributes
    ----------
    A : (r, r) array or None
        ẐᵀMẐ; None where only a sketch of it has been factored.
    B : (r, rank P) array
        ẐᵀQ.
    right : (r, k) array
        ẐᵀMỹ; zero for outputs that the features explain.
    rho, trace : float
        ρ and tr ẐᵀẐ.
    factor : tuple
        SciPy's Cholesky factor of A + ρI.
    rounding_level : float
        The size of the rounding errors of A, in norm.
    """

    A: np.ndarray | None
    B: np.ndarray
    right: np.ndarray
    rho: float
    trace: float
    factor: tuple
    rounding_level: float

    def solve(self, R):
        """(A + ρI)⁻¹R."""
        with one_thread(len(R)):
            return linalg.cho_solve(self.factor, R, check_finite=False)

    def residual(self, u):
        """ẐᵀMỹ − (A + ρI)u, as the sums know it."""
        return self.right - self.A @ u - self.rho * u


def fast_equations(sample, tolerance):
    """The equations from sums over translates, and their `Rounding`; None where that is not
    accurate enough, or where the difference that counts dropped centres could not be trusted.
    """
    basis, target, rho = sample.basis, sample.target, sample.rho
    left = norms(target.residual_target)
    if basis.dropped or basis.unit != 1.0 or basis.inverse_norm == np.inf:
        return None
    # Beforehand, from some rows; then from all of them.
    rows = sample.probe()
    panel = sample.root[rows] * basis.kernel(sample.X[rows], basis.points)
    expected = Rounding(sample.m / len(rows) * np.sum(panel**2), basis.inverse_norm)
    if not expected.is_accurate_enough(rho, left, tolerance):
        return None
    root = sample.root if sample.problem.weighted else None
    gram, (KQ, Ky) = gram_and_products(
        sample.panels, [sample.problem.Q, target.residual_target], root
    )
    rounding = Rounding(np.trace(gram), basis.inverse_norm)
    if not rounding.is_accurate_enough(rho, left, tolerance):
        return None
    with one_thread(basis.rank):
        B, ZZ = basis.adjoint(KQ), basis.congruence(gram)
        A = ZZ - B @ B.T
        right = basis.adjoint(Ky) * ~target.explained
        factor = cholesky_shifted(A, rho, rounding.matrix)
        equations = NormalEquations(A, B, right, rho, np.trace(ZZ), factor, rounding.matrix)
    return equations, rounding


def stable_equations(sample):
    """The equations from sums over ẑ."""
    basis, target = sample.basis, sample.target
    gram, (B, right) = gram_and_products(
        sample.panels, [sample.problem.Q, target.residual_target], sample.root, basis
    )
    with one_thread(basis.rank):
        A, level = gram - B @ B.T, _EPS * np.linalg.norm(gram)
        factor = cholesky_shifted(A, sample.rho, level)
    right = right * ~target.explained
    return NormalEquations(A, B, right, sample.rho, np.trace(gram), factor, level)


def sketched_equations(sample, rows):
    """The right-hand side of the equations, and the factor of their matrix from some rows."""
    basis, target = sample.basis, sample.target
    root = sample.root[rows] * np.sqrt(sample.m / len(rows))
    Q = np.linalg.qr(sample.problem.Q[rows])[0]
    gram, (B,) = gram_and_products(sample.some_panels(rows), [Q], root, basis)
    level = _EPS * np.linalg.norm(gram)
    factor = cholesky_shifted(gram - B @ B.T, sample.rho, level)
    both = np.hstack([sample.problem.Q, target.residual_target])
    both = basis.adjoint(sample.panels.adjoint(sample.root * both))
    r = sample.problem.rank
    right = both[:, r:] * ~target.explained
    return NormalEquations(None, both[:, :r], right, sample.rho, np.trace(gram), factor, level)


def gram_and_products(panels, blocks, sqrt_weights=None, basis=None):
    """RᵀR (both triangles) and RᵀV for every V of `blocks`, in one pass over the rows of K.

    Parameters
    ----------
    panels : Panels
        The rows k of K.
    blocks : list of (m, k) arrays
    sqrt_weights : (m, 1) array, optional
        The factors s of the rows.
    basis : CenterBasis, optional
        The rows of R are sẑ with it, sk without.
    """
    n = panels.n if basis is None else basis.rank

    def work(total, rows, panel):
        R = panel if basis is None else basis.coordinates(panel)
        if sqrt_weights is not None:
            R *= sqrt_weights[rows]
        if n:
            add_gram(R, total[0])
        for product, V in zip(total[1:], blocks, strict=True):
            product += R.T @ V[rows]

    gram, *products = panels.each(
        work,
        lambda: (np.zeros((n, n), order="F"), *(np.zeros((n, V.shape[1])) for V in blocks)),
    )
    return np.tril(gram) + np.tril(gram, -1).T, products


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

    def contraction_factor(self, rho):
        """η/(ρ − η), by which a step shrinks the residual."""
        return self.matrix / (rho - self.matrix)

    def is_accurate_enough(self, rho, left, tolerance):
        """Whether sums over translates do; `tolerance` is that of the residual."""
        small = self.matrix <= MAX_ETA_RATIO * rho
        return bool(small and np.all(self.residual(left) <= tolerance / 2))


def inverse_norm(L):
    """A bound of ‖L⁻¹‖ for a lower triangular matrix: √(‖L⁻¹‖₁‖L⁻¹‖_∞)."""
    inverse, info = lapack.dtrtri(L, lower=1)
    if info:
        return np.inf
    sizes = np.abs(np.tril(inverse))
    with np.errstate(over="ignore"):
        return float(np.sqrt(sizes.sum(axis=0).max() * sizes.sum(axis=1).max()))


def congruence(L, gram):
    """L⁻¹ gram L⁻ᵀ, exactly symmetric."""
    half = blas.dtrsm(1.0, L, gram, lower=1)
    full = blas.dtrsm(1.0, L, half.T, lower=1)
    return (full + full.T) / 2
