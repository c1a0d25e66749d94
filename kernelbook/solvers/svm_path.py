"""The regularization path of the support vector machine in C, exactly, with ℓ free features.

    min ½βᵀΦβ − yᵀβ     subject to  Pᵀβ = 0,  0 ≤ y_iβ_i ≤ C w_i                        (dual)

is solved for all C at once: β and λ are piecewise affine functions of C (T11), and the path is
the list of the affine pieces.

**Where it starts.**  As C → 0 the solution is β = Cθ with θ fixed: θ solves the linear program of
the hinge loss with the features alone, and among its solutions minimizes θᵀΦθ.  Neither
program has to be solved.  Take a C₁ so small that the kernel cannot bring anybody to the margin
and put *every* sample at its upper bound, β = C₁ w∘y, λ = 0: this is optimal for the problem with
Pᵀβ = q, q = Pᵀ(C₁w∘y).  Lead q to zero, along a path that is piecewise affine, too.
From there C goes down to 0 and up to `C_max`.  Downwards the unknown is θ = β/C, whose box is
fixed, and the parameter is 1/C: the last piece, on which θ is constant, then has no end.

**Projection.**  On the feasible set Φ can be replaced by MΦM, M = I − PP⁺: then λ only takes the
values it needs, thin plates become positive semidefinite, and a wide Gaussian, which is a
polynomial up to a tiny remainder, loses the polynomial and keeps the remainder's digits.

**What it proves.**  On a piece the optimality conditions are affine in C, so their largest
violation is attained at one of its ends.  `SVMPath.kkt` holds it for each piece, and so
certifies the solution for *every* C, not only at the breakpoints.

References
----------
T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, *The entire regularization path for the support
vector machine*, JMLR 5, 2004: ℓ = 1.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.features import feature_range
from kernelbook.solvers.parametric import Affine, ParametricQP, PathError, Problem
from kernelbook.solvers.parametric.embedding import DenseGram
from kernelbook.solvers.svm_certificate import certify, repair
from kernelbook.solvers.svm_multipliers import choose_multipliers

__all__ = ["SVMPath", "svm_path"]

BOTTOM = 1e-8
"""Below this fraction of C₁ no event is looked for: the first piece reaches to C = 0."""
RESTARTS = 50


class Piece(NamedTuple):
    """The solution for low ≤ C ≤ high: β = C w∘y where `at_C`, affine on the elbow, else zero."""

    low: float
    high: float
    at_C: np.ndarray
    elbow: np.ndarray
    beta: Affine
    lam: Affine
    unique: bool
    kkt: float


class SVMPath:
    """The solutions for all C in [0, C_max]; calling it gives (β, λ) at any C.

    Attributes
    ----------
    C : (K+1,) array
        0, the K − 1 breakpoints, and C_max.  Between two of them β is affine in C, and λ too
        where it is unique.
    kkt : (K,) array
        For each piece the largest violation of an optimality condition on it: of the margin in
        units of f, of the box in units of C.
    elbow_size : (K,) array
        How many samples lie on the margin with 0 < y_iβ_i < C w_i.
    n_restarts : int
        How often rounding errors defeated the path-following and the solution was found anew.
    """

    def __init__(self, pieces, gram, P, y, w, n_restarts):
        self.pieces, self.n_restarts = pieces, n_restarts
        self.C = np.array([piece.low for piece in pieces] + [pieces[-1].high])
        self.kkt = np.array([piece.kkt for piece in pieces])
        self.elbow_size = np.array([piece.elbow.size for piece in pieces])
        self._gram, self._P, self._y, self._w = gram, P, y, w

    def __call__(self, C):
        """(β, λ) at C, a number; at a jump, the limit from above.

        Where λ is not unique it is chosen by the rule of `kernelbook.solvers.svm_multipliers`.
        """
        if not 0 <= C <= self.C[-1]:
            raise ValueError(f"C={C!r} is not on the path, which goes from 0 to {self.C[-1]:g}.")
        k = min(np.searchsorted(self.C, C, side="right") - 1, len(self.pieces) - 1)
        piece = self.pieces[k]
        beta = C * self._w * self._y * piece.at_C
        beta[piece.elbow] = piece.beta(C)
        lam = piece.lam(C)
        return beta, lam if piece.unique else self._by_rule(piece, beta, lam)

    def _by_rule(self, piece, beta, lam):
        span = feature_range(self._P)
        at_zero = ~piece.at_C
        at_zero[piece.elbow] = False
        h, guess = self._gram @ beta, span.Q.T @ (self._P @ lam)
        w = self._w
        return span.T @ choose_multipliers(h, span.Q, self._y, w, at_zero, piece.at_C, guess)

    @property
    def beta(self):
        """β at `C`, a (K+1, n) array, made when asked for."""
        return np.array([self(C)[0] for C in self.C])

    @property
    def lam(self):
        """λ at `C`, a (K+1, ℓ) array."""
        return np.array([self(C)[1] for C in self.C])

    def certificate(self, C) -> Certificate:
        """Objective, duality gap and violation of the solution at C > 0."""
        beta, lam = self(C)
        top = self._y * self._w * C
        beta = repair(feature_range(self._P).Q, beta, np.minimum(top, 0.0), np.maximum(top, 0.0))
        return certify(self._gram @ beta, self._P, self._y, C * self._w, beta, lam)

    def __repr__(self):
        return (
            f"SVMPath({len(self.pieces)} pieces up to C={self.C[-1]:g}, "
            f"largest violation {self.kkt.max():.1e}, {self.n_restarts} restarts)"
        )


def svm_path(gram, P, y, C_max=1e3, sample_weight=None) -> SVMPath:
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
    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> path = svm_path(np.outer(x, x), np.ones((4, 1)), y, C_max=1.0)
    >>> path.C.round(12).tolist()
    [0.0, 0.4, 1.0]
    """
    gram, P, y, w = _checked(gram, P, y, C_max, sample_weight)
    tracer = _Tracer(gram, P, y, w)
    tracer.trace(float(C_max))
    return SVMPath(tracer.pieces, gram, P, y, w, tracer.n_restarts)


def _checked(gram, P, y, C_max, sample_weight):
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or y.size == 0 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("y must be a vector of labels −1 and +1, at least one.")
    n = y.size
    gram = np.asarray(gram, dtype=np.float64)
    P = np.empty((n, 0)) if P is None else np.asarray(P, dtype=np.float64)
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if gram.shape != (n, n):
        raise ValueError(f"gram has shape {gram.shape}; for {n} labels it must be ({n}, {n}).")
    if P.ndim != 2 or len(P) != n:
        raise ValueError(f"P has shape {P.shape}; it needs one row for each of the {n} labels.")
    if w.shape != (n,) or not (w > 0).all():
        raise ValueError(
            "sample_weight must have one positive entry for each label; leave samples of weight "
            "zero out."
        )
    for name, value in (("gram", gram), ("P", P), ("sample_weight", w)):
        if not np.isfinite(value).all():
            raise ValueError(f"{name} has entries that are NaN or infinite.")
    if not np.abs(gram - gram.T).max() <= 1e-8 * np.abs(gram).max():
        raise ValueError("gram is not symmetric.")
    if not 0 < C_max < np.inf:
        raise ValueError(f"C_max must be positive and finite, not {C_max!r}.")
    return gram, P, y, w


class _Tracer:
    """Follows the path, keeps the pieces."""

    def __init__(self, gram, P, y, w):
        n = y.size
        self.y, self.u, self.pieces, self.n_restarts = y, w * y, [], 0
        self.span = span = feature_range(P)
        self.low, self.up = np.minimum(self.u, 0.0), np.maximum(self.u, 0.0)
        size = np.abs(gram).max()
        projected, self.shift = _project(gram, span.Q)
        noise = 10 * np.finfo(float).eps * size
        if np.abs(projected).max() <= 100 * noise:
            projected[:] = 0.0
        self.gram = DenseGram(projected, noise)
        self.rounding = np.finfo(float).eps * size * w.sum()
        self.Q = np.sqrt(n) * span.Q
        self.none = Affine.constant(np.zeros(span.rank))
        self.at_C, self.pull = np.zeros(n, dtype=bool), np.zeros(n)

    # -- three problems ------------------------------------------------------------------------

    def in_beta(self):
        """t = C, the box is C times the unit one."""
        zero = np.zeros_like(self.u)
        return Problem(
            Affine.constant(self.y), Affine(zero, self.low), Affine(zero, self.up), self.none
        )

    def in_theta(self, C_1):
        """t = 1/C, θ = β/C: the box is fixed, the linear term is ty."""
        low, up = Affine.constant(self.low), Affine.constant(self.up)
        return Problem(Affine(np.zeros_like(self.y), self.y), low, up, self.none, 1.0 / C_1)

    def at(self, C, q=None):
        """C fixed; Pᵀβ goes from q to zero."""
        low, up = Affine.constant(C * self.low), Affine.constant(C * self.up)
        q = self.none if q is None else Affine(q, -q)
        return Problem(Affine.constant(self.y), low, up, q)

    # -- the path ------------------------------------------------------------------------------

    def trace(self, C_max):
        C_1 = min(0.5 / (self.gram.scale * np.abs(self.u).sum()), C_max)
        qp = self.start(C_1)
        low = self.descend(qp.copy(), C_1)
        self.climb(qp, low, C_1, C_max)

    def start(self, C_1):
        """The solution at C_1, from the one with everybody at the bound."""
        qp = ParametricQP(self.gram, self.Q, self.at(C_1), 0.0, np.sign(self.u))
        qp.restate(self.at(C_1, self.Q.T @ qp.beta), 0.0)
        for _ in qp.follow(1.0):
            pass
        return qp

    def descend(self, qp, C_1):
        """Keep the pieces below the one with C_1; return where that one begins."""
        qp.restate(self.in_theta(C_1), 1.0 / C_1, scale=1.0 / C_1)
        first, C = None, C_1
        for event in qp.follow(1.0 / (BOTTOM * C_1)):
            solution = self.exact(qp, in_theta=True)
            low = 0.0 if event[0] is None else self.crossing(solution, event, 1.0 / qp.t)
            low = min(low, C)
            if first is None:
                first = low
            elif low < C:
                others = tuple(Affine(v.rate, v.at) for v in qp.followed())
                self.pieces.append(self.piece(qp, (solution, others), low, C))
            C = low
        self.pieces.reverse()
        return first

    def climb(self, qp, low, C_1, C_max):
        """Keep the pieces from `low` < C_1 to C_max."""
        qp.restate(self.in_beta(), C_1)
        again = 0
        while low < C_max:
            try:
                for event in qp.follow(C_max):
                    solution = self.exact(qp)
                    high = max(self.crossing(solution, event, qp.t), low)
                    if high == low:
                        continue
                    piece = self.piece(qp, (solution, qp.followed()), low, high)
                    if piece.kkt > 1e-8 + self.rounding * high and not again:
                        raise PathError
                    self.pieces.append(piece)
                    low, again = high, 0
            except PathError as error:
                again += 1
                self.n_restarts += 1
                if self.n_restarts > RESTARTS:
                    raise PathError(
                        f"the path is lost at C = {low:.6g}; the kernel matrix is too nearly "
                        "singular for larger C.  Take a smaller C_max."
                    ) from error
                C = min(max(low, C_1) * (1.0 + 1e-9 * 4.0 ** (again - 1)), C_max)
                qp.settle(self.at(C))
                qp.restate(self.in_beta(), C)

    # -- one piece -----------------------------------------------------------------------------

    def exact(self, qp, in_theta=False):
        """(β, ν, f) of the unperturbed problem for the present places, affine in C."""
        at_C = qp.side == np.sign(self.u)
        for i in np.flatnonzero(at_C != self.at_C):
            self.pull += (self.u[i] if at_C[i] else -self.u[i]) * self.gram.one(i)
        self.at_C = at_C
        pinned = np.where(qp.M.pinned, qp.lam, 0.0)
        nothing = np.zeros_like(self.y)
        parts = []
        for beta, v, a, fixed in (
            (nothing.copy(), nothing.copy(), self.y, not in_theta),
            (np.where(at_C, self.u, 0.0), self.pull.copy(), nothing, in_theta),
        ):
            nu = pinned.copy() if fixed else np.zeros_like(pinned)
            f = qp.solve(beta, nu, v, a, self.none.at)
            parts.append((beta, nu, f))
        return tuple(Affine(at, rate) for at, rate in zip(*parts, strict=True))

    def crossing(self, solution, event, near):
        """The C where the unperturbed solution meets the event; `near` if rounding hides it."""
        sample, side = event
        if sample is None:
            return near
        beta, _, f = solution
        if side == 0:
            distance, closing = self.y[sample] - f.at[sample], f.rate[sample]
        else:
            bound = self.up[sample] if side > 0 else self.low[sample]
            distance, closing = -beta.at[sample], beta.rate[sample] - bound
        C = distance / closing if closing else near
        return C if abs(C - near) <= 1e-6 * near else near

    def piece(self, qp, solutions, low, high):
        """The better one of the solutions: unperturbed, or as followed when M is too bad."""
        elbow = qp.elbow.copy()
        if low == 0.0:
            for beta, _, _ in solutions:
                beta.at[:] = 0.0  # β = Cθ
        kkt = [max(self.violation(qp.side, s, C) for C in (low, high)) for s in solutions]
        k = int(np.argmin(kkt))
        beta, nu, _ = solutions[k]
        size = np.sqrt(self.y.size)
        lam = Affine(
            self.span.T @ (size * nu.at - self.shift @ beta.at),
            self.span.T @ (size * nu.rate - self.shift @ beta.rate),
        )
        part = Affine(beta.at[elbow], beta.rate[elbow])
        return Piece(low, high, self.at_C.copy(), elbow, part, lam, not qp.M.pinned.any(), kkt[k])

    def violation(self, side, solution, C):
        beta, _, f = solution
        excess = f(C) - self.y
        margin = np.where(side == 0, np.abs(excess), side * excess).max()
        alpha = beta(C) / self.u
        box = max(-alpha.min(), (alpha - C).max(), 0.0)
        return max(margin, box / C if C > 0 else 0.0)


def _project(gram, B):
    """MΦM for M = I − BBᵀ, symmetric, and BᵀΦ."""
    if B.shape[1] == 0:
        return gram.copy(), np.empty((0, len(gram)))
    shift = B.T @ gram
    half = 0.5 * (shift.T - B @ (shift @ B))
    out = gram - B @ (shift - half.T)
    out -= half @ B.T
    out -= B @ (B.T @ out)
    out -= (out @ B) @ B.T
    return 0.5 * (out + out.T), shift
