"""The SVM-GB dual made ready for a solver: kernel, units, features, projection, penalty.

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
from scipy import linalg, sparse

from kernelbook.certificates import Certificate
from kernelbook.numeric.column_space import ColumnSpace, column_space
from kernelbook.numeric.facts import gram_facts
from kernelbook.numeric.span_basis import SpanBasis, orthonormal_basis
from kernelbook.solvers.svm.convexity import definiteness_of
from kernelbook.solvers.svm.pairs.blocks import ClassBlocks

__all__ = [
    "Dual", "DualPoint", "DualProblem", "DualSolution", "KernelSource", "MatrixSource",
    "is_ordinary", "penalty_weight", "pose", "prepare",
]  # fmt: skip

EPS = float(np.finfo(float).eps)
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
    Q : the functions of the basis, (m, rank)
    penalized : those that the penalty ρ acts on, all but a constant that SMO respects
    size : the largest |Φ_ij|
    lower, upper : the box of b
    """

    P: np.ndarray
    y: np.ndarray
    C: np.ndarray
    span: ColumnSpace
    basis: SpanBasis
    has_constant: bool
    Q: np.ndarray
    penalized: np.ndarray
    size: float
    lower: np.ndarray
    upper: np.ndarray
    unit: float


@dataclass
class DualProblem(Dual):
    """min ½bᵀKb − yᵀb, Qᵀb = 0, lower ≤ b ≤ upper, with all of K in memory.

    Attributes
    ----------
    K : Φ in the units of b, projected where Φ is not definite, plus ρ times the penalty
    scale : the size of K's diagonal, the natural unit of curvature
    projection : ΦQ, where K is MΦM; otherwise None
    linear_offset : g, where the kernel is Φ + g1ᵀ + 1gᵀ; otherwise None
    """

    K: np.ndarray
    rho: float
    scale: float
    projection: np.ndarray | None
    linear_offset: np.ndarray | None

    def kernel_values(self, b):
        """Φβ on the sample, for b with Qᵀb = 0."""
        h = self.K @ b - self.rho * (self.penalized @ (self.penalized.T @ b))
        return h + self.in_span(b)

    def in_span(self, b):
        """What Φβ has beyond Kb, in the span of the features."""
        part = np.zeros_like(b)
        if self.projection is not None:
            part += self.Q @ (self.projection.T @ b)
        if self.linear_offset is not None:
            part += self.linear_offset @ (b / self.unit)
        return part


@dataclass(frozen=True)
class DualPoint:
    """Where an algorithm stopped, in the units of its problem: β, the multipliers ν, the steps.

    `basis` is the basis of the features that ν refers to (None: the one of the problem); `exact`
    asks that β is taken as it is, even if it misses Pᵀβ = 0 by rounding.
    """

    beta: np.ndarray
    nu: np.ndarray
    steps: int
    method: str = ""
    basis: SpanBasis | None = None
    exact: bool = False


@dataclass(frozen=True)
class DualSolution:
    """β, λ, the rank of P, the number of steps, the certificate, and Φβ on the sample."""

    beta: np.ndarray
    coef: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate
    kernel_values: np.ndarray


def pose(P, y, C, size, *, unit=1.0, cut=np.inf):
    """The `Dual` of one binary problem; the box ends at `cut`."""
    span, basis, has_constant = _span(P)
    top = np.minimum(C * unit, cut)
    lower, upper = np.minimum(0.0, y * top), np.maximum(0.0, y * top)
    Q = basis.functions
    penalized = Q[:, 1:] if has_constant else Q
    return Dual(P, y, C, span, basis, has_constant, Q, penalized, size, lower, upper, unit)


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
    project, penalize = definiteness == "cpd" and Q.shape[1] > 0, penalized.shape[1] > 0

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
    return DualProblem(
        **vars(dual), K=gram, rho=rho, scale=gram.diagonal().max(initial=0.0) or 1.0,
        projection=projection, linear_offset=linear_offset,
    )  # fmt: skip


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


# ----------------------------------------------------------------------------------- the kernel


class KernelSource:
    """Φ on a sample X, computed from the kernel.

    Parameters
    ----------
    kernel : Kernel
    X : (m, d) array or sparse matrix
    definiteness : {"pd", "cpd", "unknown"}
        What is known of the kernel.
    origin : (d,) array, optional
        Where a linear kernel far from the origin is moved; see `Linear.far_origin`.

    Attributes
    ----------
    consistent : bool
        Whether prediction is known to compute the entries that the Gram matrix has.
    writable : bool
        Whether a solver may destroy the Gram matrix.
    facts : GramFacts or None
        Of the Gram matrix, once `gram` has made it; None if it is of moved points.
    """

    def __init__(self, kernel, X, definiteness="pd", origin=None):
        self.kernel, self.definiteness, self.origin = kernel, definiteness, origin
        self.sparse, self.consistent = sparse.issparse(X), definiteness != "unknown"
        self.writable = self.consistent  # otherwise `product` compares with the Gram matrix
        self.X = X if self.sparse else np.require(X, requirements="CW")
        self.centers, self.linear_offset, self.facts = self.X, None, None
        if origin is not None:
            self.centers = X - origin
            self.linear_offset = kernel(self.centers, origin[None])[:, 0]

    @property
    def diagonal(self):
        return self.kernel.diag(self.X)

    @property
    def definite(self):
        """Whether Φ is known to be positive semidefinite, as a matrix in one piece."""
        return self.definiteness == "pd" and self.linear_offset is None

    def rounding(self, size):
        """How far an entry of prediction may be from that of a block (`pairwise.distances`)."""
        return 32 * (2 * self.X.shape[1] + 8) * EPS * size

    def gram(self):
        """Φ on the sample, or on the centred points."""
        gram = self.kernel(self.centers)
        self.facts = gram_facts(gram) if self.origin is None else None
        return gram

    def part(self, rows):
        """The same kernel on these samples."""
        part = KernelSource.__new__(KernelSource)
        vars(part).update(vars(self), X=self.X[rows], centers=self.centers[rows])
        if self.linear_offset is not None:
            part.linear_offset = self.linear_offset[rows]
        return part

    def product(self, beta, gram=None):
        """Φβ as prediction computes it.

        Nothing is known of a function: where its Gram matrix is passed, the two are compared.
        """
        support = np.flatnonzero(beta)
        h = self.kernel.matvec(self.X, self.centers[support], beta[support])
        if gram is not None and not self.consistent:
            _require_same_values(self.kernel, h, gram @ beta, np.abs(gram).max() * abs(beta).sum())
        return h

    def class_blocks(self, members, pairs):
        """The blocks of pairs of classes."""
        return ClassBlocks.of_kernel(self.kernel, self.X, members, pairs)

    # ------------------------------------------------------------- for `svm.large.state`

    def single(self, out, rows=None):
        """K, or K[rows][:, rows], in single precision in the first columns of `out`, then zeros."""
        self.kernel.single(self.X if rows is None else self.X[rows], out)

    def exponents(self):
        """(Z, s) with log₂ K_ij = z_i·z_j + s_i + s_j, or None."""
        return self.kernel.exponents(self.X)

    def block(self, rows):
        """K[rows][:, rows] in double precision."""
        return self.kernel(self.X[rows])


class MatrixSource:
    """A Gram matrix that the user has computed; nothing is known of it, and it is not ours."""

    definiteness, linear_offset, origin = "unknown", None, None
    consistent, writable, sparse, facts = True, False, False, None

    def __init__(self, matrix):
        self.matrix = matrix

    @property
    def definite(self):
        return self.definiteness == "pd"

    def gram(self):
        return self.matrix

    def part(self, rows):
        return MatrixSource(self.matrix[np.ix_(rows, rows)])

    def product(self, beta, gram=None):
        """Φβ as prediction computes it."""
        support = np.flatnonzero(beta)
        return self.matrix[:, support] @ beta[support]

    def rounding(self, size):
        """The entries are the same; sums of them are rounded in another order."""
        return len(self.matrix) * EPS * size


def _require_same_values(kernel, predicted, fitted, size):
    """Φβ as `predict` computes it must be that of the Gram matrix, but for rounding."""
    difference = np.abs(predicted - fitted).max(initial=0.0)
    if difference > 1e-6 * (1.0 + size + np.abs(fitted).max(initial=0.0)):
        raise ValueError(
            f"{kernel!r} does not give the same numbers twice: in K(X, Z) and in the Gram matrix "
            f"they differ, and Σ β_i K(x, x_i) by {difference:.3g}.  K(x, z) must be K(z, x), and "
            "must not depend on the other rows that are passed with x and z."
        )
