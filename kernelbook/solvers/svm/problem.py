"""The SVM-GB dual made ready for a solver: units, features, projection, penalty.

    minimize  ½βᵀΦβ − yᵀβ,      Pᵀβ = 0,   0 ≤ y_iβ_i ≤ C_i .

Nothing below changes the solution; everything makes it easier to find.

- *Features.*  Only the range of P matters: Q has orthonormal columns, as many as P has rank.  If
  the constant is in the range it becomes the first column, and SMO can respect it exactly.
- *Projection.*  On the feasible set βᵀΦβ = βᵀMΦMβ with M = I − QQᵀ.  A conditionally positive
  definite Φ (thin plates) is indefinite, MΦM is not.  Only h = Φβ has to remember the
  difference: Φβ = MΦMβ + Q(ΦQ)ᵀβ.
- *Penalty.*  Adding ρQQᵀ to the kernel changes nothing where Qᵀβ = 0 and turns the equations into
  valleys, which a method that moves two coordinates at a time can follow.
- *Units.*  With Gram matrices or prices near 1e±300 the unknown is b = unit·β, so that neither the
  kernel nor the box is extreme.  A kernel that cannot move f in the thirtieth digit, CΦ < 10⁻³⁰,
  is zero.  The box is cut at 10¹⁵ over the kernel's size: there f has no correct digit left.

The Gram matrix is changed in place where the caller allows it: there is one m×m array.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.solvers.svm.convexity import INDEFINITE, definiteness, is_definite

__all__ = ["INDEFINITE", "DualProblem", "constant_first", "is_definite", "prepare"]

HUGE_BOX = 1e15
NO_KERNEL = 1e-30


@dataclass
class DualProblem:
    """min ½bᵀKb − yᵀb, Qᵀb = 0, lo ≤ b ≤ hi; then β = b/unit, and Φβ = `kernel_part(b)`."""

    K: np.ndarray
    Q: np.ndarray
    y: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    weight: np.ndarray
    has_constant: bool
    rho: float
    unit: float
    shift: np.ndarray | None

    @property
    def scale(self):
        """The size of K's diagonal, the natural unit of curvature."""
        return self.K.diagonal().max(initial=0.0) or 1.0

    def kernel_part(self, b):
        """Φβ on the sample, for b with Qᵀb = 0."""
        h = self.K @ b - self.rho * (self.penalized @ (self.penalized.T @ b))
        return h if self.shift is None else h + self.Q @ (self.shift.T @ b)

    @property
    def penalized(self):
        """The features that the penalty ρ acts on: all but a constant that SMO takes care of."""
        return self.Q[:, 1:] if self.has_constant else self.Q


def prepare(gram, Q, y, C, *, kind, overwrite):
    """A `DualProblem`; see the module.

    Parameters
    ----------
    kind : {"pd", "cpd", "unknown"}
        Whether Φ is positive semidefinite, or only where Qᵀβ = 0; "unknown" has it tested
        (`svm.convexity`).
    overwrite : bool
        Whether `gram` may be destroyed.
    """
    if kind == "unknown":
        kind = definiteness(gram, Q)
    Q, has_constant = constant_first(Q)
    m, r = Q.shape
    free = Q[:, 1:] if has_constant else Q
    project, penalize = kind == "cpd" and r > 0, free.shape[1] > 0

    size = max(gram.max(initial=0.0), -gram.min(initial=0.0))
    negligible = size * C.max() < NO_KERNEL
    unit = _unit(0.0 if negligible else size, C.max())
    if negligible:
        gram = np.zeros_like(gram)
    elif unit != 1 or ((project or penalize) and not overwrite):
        gram = gram / unit
    gram = np.require(gram, np.float64, ["C", "A"])
    shift = None
    if project:
        shift = gram @ Q
        _add_low_rank(gram, -Q, shift - 0.5 * Q @ (Q.T @ shift))
    scale = gram.diagonal().max(initial=0.0) or 1.0
    rho = 0.0
    if penalize:
        # Strong enough to matter beside the kernel, and for β as small as the box to move f by one.
        rho = max(scale, 1.0 / (np.median(C) * unit)) * m / free.shape[1]
        _add_low_rank(gram, 0.5 * rho * free, free)
    top = np.minimum(C * unit, HUGE_BOX / scale)
    lo, hi = np.minimum(0.0, y * top), np.maximum(0.0, y * top)
    return DualProblem(gram, Q, y, lo, hi, C, has_constant, rho, unit, shift)


def _unit(size, C):
    """1, or what brings an extreme kernel to one or an extreme box to one, whichever is larger.

    A power of two: a coordinate at its bound stays there when the unit is changed back.
    """
    if 1e-50 < C < 1e50 and 1e-50 < size < 1e50:
        return 1.0
    return 2.0 ** np.round(np.log2(max(size, 1.0 / C)))


def constant_first(Q):
    """Q turned so that its first column is 1/√m, and True; Q and False if that is out of range."""
    m, r = Q.shape
    one = np.full(m, 1 / np.sqrt(m)) if m else np.zeros(0)
    c = Q.T @ one
    if r == 0 or np.linalg.norm(one - Q @ c) > 1e-12:
        return Q, False
    turned = Q @ linalg.qr(c[:, None])[0]
    turned[:, 0] = one
    return turned, True


def _add_low_rank(K, A, B):
    """K += ABᵀ + BAᵀ, which BLAS adds where K stands: nothing of size m² in between."""
    left, right = (np.asfortranarray(np.hstack(pair)) for pair in ((A, B), (B, A)))
    # Transposed, K is in the order that BLAS can overwrite; what is added is symmetric.
    linalg.blas.dgemm(1.0, left, right, beta=1.0, c=K.T, trans_b=True, overwrite_c=True)
