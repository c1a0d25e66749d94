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
- *Units.*  With Gram matrices or penalty weights near 1e±300 the unknown is b = unit·β, so that
  neither the kernel nor the box is extreme.  A kernel that cannot move f in the thirtieth digit,
  CΦ < 10⁻³⁰, is zero.  The box is cut at 10¹⁵ over the kernel's size: there f has no correct digit.

The Gram matrix is changed in place where the caller allows it: there is one m×m array.

Chapter: book/computing/smo
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kernelbook.numeric.column_space import ColumnSpace, column_space
from kernelbook.numeric.span_basis import SpanBasis, orthonormal_basis
from kernelbook.solvers.svm.convexity import definiteness_of

__all__ = ["Dual", "DualProblem", "is_ordinary", "penalty_weight", "pose", "prepare"]

HUGE_BOX = 1e15
NEGLIGIBLE_KERNEL = 1e-30


@dataclass
class Dual:
    """What every solver of one binary problem shares; the unknown is b = unit·β.

    Attributes
    ----------
    P, y, C : the features, the labels ±1 and the upper ends of the box
    span : column_space(P)
    basis : its orthonormal basis, the constant first if `has_constant`
    size : the largest |Φ_ij|
    lower, upper : the box of b
    """

    P: np.ndarray
    y: np.ndarray
    C: np.ndarray
    span: ColumnSpace
    basis: SpanBasis
    has_constant: bool
    size: float
    lower: np.ndarray
    upper: np.ndarray
    unit: float

    @property
    def Q(self):
        return self.basis.functions

    @property
    def rank(self):
        return self.basis.functions.shape[1]

    @property
    def penalized(self):
        """The features that the penalty ρ acts on: all but a constant that SMO respects."""
        return self.basis.functions[:, 1:] if self.has_constant else self.basis.functions


@dataclass
class DualProblem(Dual):
    """min ½bᵀKb − yᵀb, Qᵀb = 0, lower ≤ b ≤ upper, with all of K in memory.

    Attributes
    ----------
    K : Φ in the units of b, projected where Φ is not definite, plus ρ times the penalty
    projection : ΦQ, where K is MΦM; otherwise None
    linear_offset : g, where the kernel is Φ + g1ᵀ + 1gᵀ; otherwise None
    """

    K: np.ndarray
    rho: float
    projection: np.ndarray | None
    linear_offset: np.ndarray | None

    @property
    def scale(self):
        """The size of K's diagonal, the natural unit of curvature."""
        return self.K.diagonal().max(initial=0.0) or 1.0

    def kernel_values(self, b):
        """Φβ on the sample, for b with Qᵀb = 0."""
        h = self.K @ b - self.rho * (self.penalized @ (self.penalized.T @ b))
        return h + self.in_span(b)

    def in_span(self, b):
        """What Φβ has beyond Kb, in the span of the features."""
        part = 0.0 if self.projection is None else self.Q @ (self.projection.T @ b)
        if self.linear_offset is not None:
            part = part + self.linear_offset @ (b / self.unit)
        return np.broadcast_to(part, b.shape)


def pose(P, y, C, size, *, unit=1.0, cut=np.inf):
    """The `Dual` of one binary problem; the box ends at `cut`."""
    span, basis, has_constant = _span(P)
    top = np.minimum(C * unit, cut)
    lower, upper = np.minimum(0.0, y * top), np.maximum(0.0, y * top)
    return Dual(P, y, C, span, basis, has_constant, size, lower, upper, unit)


def _span(P):
    """Column space, its basis, and whether the constant is in it; at once if P is a constant."""
    m, l = P.shape
    if l == 1 and P[0, 0] != 0.0 and np.all(P == P[0, 0]):
        Q, T = np.full((m, 1), m**-0.5), np.array([[m**-0.5 / P[0, 0]]])
        return ColumnSpace(Q, T, np.ones(1)), SpanBasis(Q, Q.T, T), True
    span = column_space(P)
    return span, *orthonormal_basis(span)


def prepare(gram, P, y, C, *, definiteness="pd", linear_offset=None, overwrite=False):
    """A `DualProblem`; see the module.

    Parameters
    ----------
    definiteness : {"pd", "cpd", "unknown"}
        Whether Φ is positive semidefinite, or only where Pᵀβ = 0; "unknown" tests it
        (`svm.convexity`).
    overwrite : bool
        Whether `gram` may be destroyed.
    """
    size = max(gram.max(initial=0.0), -gram.min(initial=0.0))  # no m×m mask
    if not np.isfinite(size):
        raise ValueError("the kernel matrix has entries that are NaN or infinite.")
    negligible = size * C.max() < NEGLIGIBLE_KERNEL
    unit = _unit(0.0 if negligible else size, C.max())
    dual = pose(P, y, C, size, unit=unit)
    Q, penalized = dual.Q, dual.penalized
    if definiteness == "unknown":
        definiteness = definiteness_of(gram, Q)
    project, penalize = definiteness == "cpd" and dual.rank > 0, penalized.shape[1] > 0

    if negligible:
        gram = np.zeros_like(gram)
    elif unit != 1 or ((project or penalize) and not overwrite):
        gram = gram / unit
    gram = np.require(gram, np.float64, ["C", "A"])
    projection = None
    if project:
        projection = gram @ Q
        _add_low_rank(gram, -Q, projection - 0.5 * Q @ (Q.T @ projection))
    scale, rho = gram.diagonal().max(initial=0.0) or 1.0, 0.0
    if penalize:
        rho = penalty_weight(scale, C * unit, penalized.shape[1])
        _add_low_rank(gram, 0.5 * rho * penalized, penalized)
    cut = HUGE_BOX / scale
    dual.lower, dual.upper = np.maximum(dual.lower, -cut), np.minimum(dual.upper, cut)
    return DualProblem(**vars(dual), K=gram, rho=rho, projection=projection,
                       linear_offset=linear_offset)  # fmt: skip


def penalty_weight(scale, C, columns):
    """ρ: strong enough beside the kernel, and for β as small as the box to move f by one."""
    return max(scale, 1.0 / np.median(C)) * C.size / columns


def is_ordinary(scale, C):
    """Whether kernel and box have sizes that call for no change of units."""
    return 1e-8 < scale < 1e8 and scale * C.max() < 1e7 and C.min() > 1e-8


def _unit(size, C):
    """1, or what brings an extreme kernel to one or an extreme box to one, whichever is larger.

    A power of two: a coordinate at its bound stays there when the unit is changed back.
    """
    if 1e-50 < C < 1e50 and 1e-50 < size < 1e50:
        return 1.0
    return 2.0 ** np.round(np.log2(max(size, 1.0 / C)))


def _add_low_rank(K, A, B):
    """K += ABᵀ + BAᵀ by BLAS, in place: no temporary array of size m²."""
    left, right = (np.asfortranarray(np.hstack(pair)) for pair in ((A, B), (B, A)))
    # Transposed, K is in the order that BLAS can overwrite; what is added is symmetric.
    linalg.blas.dgemm(1.0, left, right, beta=1.0, c=K.T, trans_b=True, overwrite_c=True)
