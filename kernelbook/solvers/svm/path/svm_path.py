"""The regularization path of the support vector machine in C, exactly, with ℓ free features.

    min ½βᵀΦβ − yᵀβ     subject to  Pᵀβ = 0,  0 ≤ y_iβ_i ≤ C w_i                        (dual)

is solved for all C at once: β and λ are piecewise affine functions of C (T11), and the path is
the list of the affine pieces.

**What it proves.**  On a piece the optimality conditions are affine in C, so their largest
violation is attained at one of its ends.  `SVMPath.kkt` holds it for each piece, and so
certifies the solution for *every* C, not only at the breakpoints.

Chapter: book/primal/path

References
----------
T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, *The entire regularization path for the support
vector machine*, JMLR 5, 2004: ℓ = 1.
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np

from kernelbook.certificates import WARN_GAP, Certificate
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.memory import room_for_gram
from kernelbook.solvers.svm.certificate import certify
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.multipliers import choose_multipliers
from kernelbook.solvers.svm.path.tracer import PathTracer

__all__ = ["SVMPath", "svm_path"]

EPS = float(np.finfo(float).eps)
WARN_VIOLATION = 1e-5
"""A violation of the optimality conditions that is worth a warning."""
COPIES = 5
"""Matrices of the size of the Gram matrix that a path takes: what it keeps, and to project it."""
OPTIMAL = 1e-10
"""A λ that breaks no margin by more than this counts as optimal."""


class SVMPath:
    """The solutions for all C in [0, C_max]; calling it gives (β, λ) at any C.

    Attributes
    ----------
    C : (K+1,) array
        0, the K − 1 breakpoints, and C_max.  Between two of them β is affine in C, and λ too
        where it is unique.
    kkt : (K,) array
        For each piece the largest violation of an optimality condition on it: of the margin in
        units of f; of the box in units of C, or times the largest |Φ_ij|, in units of f, if that is
        more: `certificate` moves β into the box; of Pᵀβ = 0 in units of β.  Rounding errors of
        Φβ are part of it: they grow with β, and with C.  A violation of v allows a duality gap
        of v C Σw: see `certificate`.
    elbow_size : (K,) array
        How many samples lie on the margin with 0 < y_iβ_i < C w_i inside each piece.
    n_restarts : int
        How often rounding errors defeated the path-following and the solution was computed afresh.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, svm_path
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> path = svm_path(Gaussian(1.0)(X), np.ones((60, 1)), y, C_max=10.0)  # an SVMPath
    >>> beta, lam = path(3.0)
    >>> path.certificate(3.0).relative_gap < 1e-10
    True
    """

    def __init__(
        self,
        pieces: Any,
        gram: np.ndarray,
        P: np.ndarray,
        y: np.ndarray,
        w: np.ndarray,
        n_restarts: int,
    ) -> None:
        self.pieces, self.n_restarts = pieces, n_restarts
        self._gram, self._P, self._y, self._w = gram, P, y, w
        self._starts = np.array([piece.low for piece in pieces])
        # A breakpoint of β is where a sample changes its place; a λ that is not unique may have
        # more of them.
        first = np.flatnonzero(
            [k == 0 or _differ(*pieces[k - 1 : k + 1]) for k in range(len(pieces))]
        )
        self.C = np.append(self._starts[first], pieces[-1].high)
        self.kkt = np.maximum.reduceat(self._violations(), first)
        self.elbow_size = np.array([pieces[k].elbow.size for k in first])

    def __call__(self, C: float) -> tuple[np.ndarray, np.ndarray]:
        """(β, λ) at C, a number; at a jump, the limit from above.

        Where λ is not unique it is chosen by the rule of `kernelbook.solvers.svm.multipliers`: it
        breaks a margin by no more than `kkt` says, twice, or than 10⁻¹⁰.
        """
        if not (isinstance(C, Real) and 0 <= C <= self.C[-1]):
            raise ValueError(f"C={C!r} is not on the path, which goes from 0 to {self.C[-1]:g}.")
        piece = self.pieces[np.searchsorted(self._starts, C, side="right") - 1]
        beta = C * self._w * self._y * piece.at_C
        beta[piece.elbow] = piece.beta(C)
        lam = piece.lam(C)
        if not piece.unique:
            lam = self._by_rule(piece, beta, lam)
        return beta, lam if beta.any() or C == 0 else self._lift_margins(lam)

    def _lift_margins(self, lam):
        """λ with no margin below one by rounding, in whatever order Pλ is added up.

        Where the features separate the sample, such a margin costs C times what it lacks.
        """
        for _ in range(3):
            rounding = 2 * self._P.shape[1] * EPS * (np.abs(self._P) @ np.abs(lam))
            least = np.min(self._y * (self._P @ lam) - rounding, initial=1.0)
            if not 0.5 < least < 1.0:
                break
            lam = lam * ((1.0 + 4 * EPS) / least)
        return lam

    def _by_rule(self, piece, beta, lam):
        span = column_space(self._P)
        at_zero = ~piece.at_C
        at_zero[piece.elbow] = False
        h, guess = self._gram @ beta, span.Q.T @ (self._P @ lam)
        places = at_zero, piece.at_C
        chosen = span.T @ choose_multipliers(h, span.Q, self._y, self._w, *places, guess)
        own, other = (self._violation_of_margins(h + self._P @ v, *places) for v in (lam, chosen))
        # Which λ is a question for the optimal ones only.
        return chosen if other <= max(2.0 * own, OPTIMAL) else lam

    def _violation_of_margins(self, f, at_zero, at_C):
        """By how much f breaks what the places of the samples ask of the margins."""
        over = self._y * f - 1.0
        return np.where(at_zero, -over, np.where(at_C, over, np.abs(over))).max(axis=-1)

    def _violations(self):
        """For each piece what its tracer found, or what Φβ + Pλ shows, if that is worse.

        The tracer works with Φ less its part in the features, where more digits survive.
        """
        out = np.array([piece.kkt for piece in self.pieces])
        Q, y, w = column_space(self._P).Q, self._y, self._w
        largest = max(self._gram.max(), -self._gram.min())
        for begin in range(0, out.size, 200):
            some = self.pieces[begin : begin + 200]
            for end in ("low", "high"):
                C = np.array([getattr(piece, end) for piece in some])
                beta = C[:, None] * (w * y) * [piece.at_C for piece in some]
                free = np.zeros(beta.shape, dtype=bool)
                for row, mask, piece, c in zip(beta, free, some, C, strict=True):
                    row[piece.elbow], mask[piece.elbow] = piece.beta(c), True
                lam = np.array([piece.lam(c) for piece, c in zip(some, C, strict=True)])
                f = beta @ self._gram + lam @ self._P.T
                at_C = np.array([piece.at_C for piece in some]) & ~free
                breach = self._violation_of_margins(f, ~(free | at_C), at_C)
                outside = np.maximum(-y * beta, y * beta - C[:, None] * w).max(axis=1)
                size = np.abs(beta).max(axis=1)
                balance = np.abs(beta @ Q).max(axis=1, initial=0.0) / np.where(size > 0, size, 1.0)
                worst = np.maximum(np.maximum(breach, balance), largest * outside)
                part = out[begin : begin + 200]
                np.maximum(part, worst, out=part)
        return out

    @property
    def beta(self) -> np.ndarray:
        """β at `C`, a (K+1, n) array, made when asked for."""
        return np.array([self(C)[0] for C in self.C])

    @property
    def lam(self) -> np.ndarray:
        """λ at `C`, a (K+1, ℓ) array."""
        return np.array([self(C)[1] for C in self.C])

    def certificate(self, C: float) -> Certificate:
        """Objective, duality gap and violation of the solution at C > 0."""
        if isinstance(C, Real) and C == 0:
            raise ValueError(
                f"C={C!r} must be positive: at 0 no loss counts, and nothing is to certify."
            )
        beta, lam = self(C)
        top = self._y * self._w * C
        beta = make_feasible(
            column_space(self._P).Q, beta, np.minimum(top, 0.0), np.maximum(top, 0.0)
        )
        size = max(self._gram.max(), -self._gram.min())
        return certify(self._gram @ beta, self._P, self._y, C * self._w, beta, lam, size)

    def __repr__(self):
        return (
            f"SVMPath({self.kkt.size} pieces up to C={self.C[-1]:g}, "
            f"largest violation {self.kkt.max():.1e}, {self.n_restarts} restarts)"
        )


def _differ(one, other):
    """Whether a sample changes its place between two pieces."""
    same = np.array_equal(one.at_C, other.at_C) and one.elbow.size == other.elbow.size
    return not (same and np.isin(one.elbow, other.elbow).all())


def svm_path(
    gram: np.ndarray, P: Any, y: Any, C_max: float = 1e3, sample_weight: Any = None
) -> SVMPath:
    """All solutions of (dual) for 0 ≤ C ≤ C_max.

    Parameters
    ----------
    gram : (n, n) array
        Φ: symmetric, positive semidefinite at least where Pᵀβ = 0.
    P : (n, ℓ) array or None
        The free features at the samples; `None`, no feature.  np.ones((n, 1)): the bias of the
        standard machine.
    y : (n,) array of ±1
    C_max : float
        The number of pieces is usually one to three times the number of samples.
    sample_weight : (n,) array, optional
        w: positive.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import svm_path
    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> path = svm_path(np.outer(x, x), np.ones((4, 1)), y, C_max=1.0)
    >>> path.C.round(12).tolist()
    [0.0, 0.333333333333, 1.0]
    """
    advice = "take fewer samples, or fit SVMGBClassifier for some values of C."
    with room_for_gram(np.size(y), COPIES, advice):
        gram, P, y, w = _checked(gram, P, y, C_max, sample_weight)
    tracer = PathTracer(gram, P, y, w)
    path = SVMPath(tracer.trace(float(C_max)), gram, P, y, w, tracer.n_restarts)
    if path.kkt.max() > WARN_VIOLATION:
        k = int(np.argmax(path.kkt))
        beta = max((path(C)[0] for C in path.C[k : k + 2]), key=lambda b: np.abs(b).sum())
        rounding = 100 * EPS * np.abs(gram).max() * np.abs(beta).sum()
        reason = (
            "rounding errors in Φβ are as large there.  A smaller C_max avoids them."
            if path.kkt[k] <= rounding
            else "rounding does not explain that.  Samples, or their features, differ too little "
            "to tell which of them are on the margin; merging near copies helps."
        )
        warnings.warn(
            f"between C={path.C[k]:.3g} and {path.C[k + 1]:.3g} the path breaks the conditions of "
            f"optimality by {path.kkt[k]:.1e}: {reason}  See SVMPath.kkt, and certificate(C) for "
            "the gap.",
            stacklevel=2,
        )
        return path
    if not 1e-100 < np.abs(gram).max() < 1e100:  # squares of β would leave the range of doubles
        return path
    C, gap = _worst_gap(path)
    if gap > WARN_GAP:
        warnings.warn(
            f"at C={C:.3g} rounding leaves a duality gap of {gap:.1e} of the objective: β and λ "
            "are large there.  A smaller C_max avoids that, or features that depend less on each "
            "other.  See certificate(C).",
            stacklevel=2,
        )
    return path


def _worst_gap(path):
    """(C, relative gap) at the ends of those pieces whose violation allows the largest gaps."""
    allowed = path.kkt * path.C[1:]
    ends = path.C[1:][np.argsort(-allowed)[:10]]
    return max(((C, path.certificate(C).relative_gap) for C in ends), key=lambda pair: pair[1])


def _numbers(name, value, what):
    """A copy of `value` as float64."""
    if np.iscomplexobj(value):
        raise TypeError(f"{name} is complex; it must be {what}, real numbers.")
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {what}; got {value!r:.60}.") from None


def _checked(gram, P, y, C_max, sample_weight):
    # Copies: the path keeps them, and what the caller does to his arrays must not change it.
    y = _numbers("y", y, "labels −1 and +1")
    if y.ndim != 1 or y.size == 0 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(
            f"y must be a vector of labels −1 and +1, at least one; its shape is {y.shape}, its "
            f"first entries are {y.ravel()[:3].tolist()}."
        )
    n = y.size
    gram = _numbers("gram", gram, "the matrix of Φ(x_i, x_j)")
    P = np.empty((n, 0)) if P is None else _numbers("P", P, "the features at the samples, or None")
    w = sample_weight
    w = np.ones(n) if w is None else _numbers("sample_weight", w, "a number for each label")
    if gram.shape != (n, n):
        raise ValueError(f"gram has shape {gram.shape}; for {n} labels it must be ({n}, {n}).")
    if P.ndim != 2 or len(P) != n:
        raise ValueError(f"P has shape {P.shape}; it needs one row for each of the {n} labels.")
    for name, value in (("gram", gram), ("P", P), ("sample_weight", w)):
        if not np.isfinite(value).all():
            bad = value[~np.isfinite(value)]
            raise ValueError(
                f"{name} has entries that are NaN or infinite, {bad.size} of them, the first "
                f"{bad[0]}; drop those samples, or impute the values."
            )
    if w.shape != (n,) or not (w > 0).all():
        raise ValueError(
            f"sample_weight must have one positive entry for each of {n} labels; its shape is "
            f"{w.shape}, its least entry {w.min(initial=np.inf):g}.  Leave samples of weight zero "
            "out."
        )
    if not np.abs(gram - gram.T).max() <= 1e-8 * np.abs(gram).max():
        raise ValueError("gram is not symmetric: pass the Gram matrix of one set of samples.")
    if not (isinstance(C_max, Real) and 0 < C_max < np.inf):
        raise ValueError(f"C_max must be a positive, finite number, not {C_max!r}.")
    if not C_max * np.abs(gram).max() * w.max() < 1e300:
        raise ValueError(f"C_max={C_max:g} times the largest entry of gram overflows.")
    return gram, P, y, w
