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

__all__ = [
    "INDEFINITE",
    "DualProblem",
    "constant_first",
    "is_definite",
    "prepare",
    "require_symmetric",
]

BLOCK = 256
CHECKED = 1000
ROUNDED = 1e-5
INDEFINITE = (
    "the kernel matrix is not positive semidefinite, not even on the coefficients β with Pᵀβ = 0: "
    "the problem is not convex.  Use a positive definite kernel, or one that is conditionally "
    "positive definite with respect to the features."
)
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
        Whether Φ is positive semidefinite, or only where Qᵀβ = 0; "unknown" has it checked.
    overwrite : bool
        Whether `gram` may be destroyed.
    """
    check = kind == "unknown"
    if check:
        require_symmetric(gram)
        kind = "pd" if is_definite(gram) else "cpd"
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
    if check and kind == "cpd" and not is_definite(gram):
        raise ValueError(INDEFINITE)
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
    """K += ABᵀ + BAᵀ in place, a block of rows at a time."""
    for i in range(0, len(K), BLOCK):
        rows = slice(i, i + BLOCK)
        K[rows] += A[rows] @ B.T
        K[rows] += B[rows] @ A.T


def require_symmetric(gram):
    """An error where gram and its transpose differ by more than rounding; nothing is copied."""
    size = max(gram.max(initial=0.0), -gram.min(initial=0.0))
    for i in range(0, len(gram), BLOCK):
        rows = slice(i, i + BLOCK)
        if np.abs(gram[rows, i:] - gram[i:, rows].T).max() > 1e-6 * size:
            raise ValueError("the kernel matrix is not symmetric; it must be, in fit.")


def is_definite(gram):
    """Whether a principal submatrix of at most CHECKED rows is positive semidefinite.

    Eigenvalues above −ROUNDED, in units of the largest entry, are forgiven: Gram matrices that
    went through single precision have them.
    """
    rows = np.unique(np.linspace(0, len(gram) - 1, min(len(gram), CHECKED)).astype(np.intp))
    part = gram[np.ix_(rows, rows)]
    size = np.abs(part).max(initial=0.0)
    if size == 0:
        return True
    part = part / size
    part[np.diag_indices_from(part)] += ROUNDED
    try:
        linalg.cholesky(part, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True
