"""Tracing the path in C of the support vector machine: its start, its pieces, its restarts.

**Where it starts.**  As C → 0 the solution is β = Cθ with θ fixed: θ solves the linear program of
the hinge loss with the features alone, and among its solutions minimizes θᵀΦθ.  Neither
program has to be solved.  Take a C₁ so small that the kernel cannot bring any sample to the margin
and put *every* sample at its upper bound, β = C₁ w∘y, λ = 0: this is optimal for the problem with
Pᵀβ = q, q = Pᵀ(C₁w∘y).  Lead q to zero, along a path that is piecewise affine, too.
From there C goes down to 0 and up to `C_max`.  Downwards the unknown is θ = β/C, whose box is
fixed, and the parameter is 1/C: the last piece, on which θ is constant, then has no end.

**Projection.**  On the feasible set Φ can be replaced by MΦM, M = I − PP⁺: then λ only takes the
values it needs, thin plates become positive semidefinite, and a wide Gaussian, which is a
polynomial up to a tiny remainder, loses the polynomial and keeps the remainder's digits.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm.convexity import INDEFINITE, is_definite
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.multipliers import hard_margin_multipliers
from kernelbook.solvers.svm.path import Affine, ParametricQP, PathError, Problem
from kernelbook.solvers.svm.path.gram import DenseGram

__all__ = ["PathTracer", "Piece", "project_kernel"]

EPS = float(np.finfo(float).eps)
BOTTOM = 1e-8
"""Below this fraction of C₁ no event is looked for: the first piece reaches to C = 0."""
RESTART_VIOLATION = 1e-8
"""A larger violation on a piece, beyond rounding, makes the path restart there."""
MAX_START_GAP = 1e-6
"""A larger relative gap at the start leads to another start."""
RESTARTS = 50
"""Restarts of one path; with more it counts as lost."""
ATTEMPTS = 5
"""So often a piece with a larger violation is traced anew; then it is kept, and `kkt` says so."""
PERTURBATIONS = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7)
"""Ties are broken by the least of these that leads to a start; each is another draw, too."""
BOUND_SNAP_TOLS = (1e-9, 1e-11, 1e-13)
"""A β that differs from a moving bound by less than one of these, in units of C w, may be there."""
NEGLIGIBLE_VIOLATION = 1e-10
"""A violation that counts as none."""
NARROW = 1e-14
"""A piece narrower than this, relative to its end, is the rounding error of two events in one."""


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


class PathTracer:
    """Follows the path from its start and collects the pieces.

    The stages of `trace`: a start at C₁ (`find_start`), the pieces below it (`descend`), those
    above it (`climb`), each with restarts where rounding has defeated the follower.
    """

    def __init__(self, gram, P, y, w):
        n = y.size
        self.y, self.u, self.pieces, self.n_restarts, self.separating = y, w * y, [], 0, None
        self.span = span = column_space(P)
        self.low, self.up = np.minimum(self.u, 0.0), np.maximum(self.u, 0.0)
        # Φ in units of its size, a power of two, and C in units of one over that.
        largest = np.abs(gram).max()
        self.size = 2.0 ** np.round(np.log2(largest)) if largest > 0 else 1.0
        projected, self.projection = project_kernel(gram / self.size, span.Q)
        noise = 20 * EPS
        if np.abs(projected).max() <= 100 * noise:
            projected[:] = 0.0
        if not is_definite(projected):
            raise ValueError(INDEFINITE)
        self.gram = DenseGram(projected, noise)
        self.rounding = EPS * w.sum()
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
        """The list of all pieces."""
        C_max *= self.size
        C_1 = min(0.5 / (self.gram.scale * np.abs(self.u).sum()), C_max)
        try:
            qp, low = self.find_start(C_1)
        except PathError:
            self.separating = hard_margin_multipliers(self.span.Q, self.y, np.abs(self.u))
            if self.separating is None:
                raise
        if self.separating is None:
            self.climb(qp, low, C_1, C_max)
        else:
            self.pieces = [self.separated(self.separating, C_max)]
        return [self.in_units(piece) for piece in self.pieces]

    def separated(self, nu, C_max):
        """The one piece, β = 0, if the features alone separate the sample (T3)."""
        none, empty = np.zeros(self.y.size, dtype=bool), np.zeros(0)
        lam = Affine.constant(self.span.T @ nu)
        short = max(np.max(1.0 - self.y * (self.span.Q @ nu)), 0.0)
        elbow = np.zeros(0, dtype=np.intp)
        return Piece(0.0, C_max, none, elbow, Affine(empty, empty), lam, False, short)

    def find_start(self, C_1):
        """The solution at C_1, the pieces below, and where the piece with C_1 begins.

        If the features alone separate the sample, `separating` has a ν that does, and β = 0 is the
        whole path.  Where near copies of a point have different labels they may do so by a hair,
        with a ν of 10⁸; a larger perturbation does not notice it.
        """
        best = None
        for attempt in range(2 * len(PERTURBATIONS)):
            size, resolve = PERTURBATIONS[attempt // 2], attempt % 2
            try:
                qp = self.restart(None, C_1, attempt // 2 + 2) if resolve else self.start(C_1, size)
                margin = np.min(self.y * (self.Q @ qp.lam))
                if margin > 0.5:
                    self.separating = np.sqrt(self.y.size) / min(margin, 1.0) * qp.lam
                    return qp, 0.0
                low = self.descend(qp.copy(), C_1)
            except PathError:
                self.n_restarts += 1
                continue
            # Accept a start whose gap and violation are small; otherwise keep the best.
            gap, worst = self.gap(qp, C_1), max((piece.kkt for piece in self.pieces), default=0.0)
            rank = gap if gap > MAX_START_GAP else 0.0, worst
            if best is None or rank < best[0]:
                best = rank, qp, low, self.pieces
            allowed = RESTART_VIOLATION + EPS * np.abs(self.Q @ qp.lam).max()
            if gap <= MAX_START_GAP and worst <= allowed:
                break
            self.n_restarts += 1
        if best is None:
            raise PathError(f"no start was found near C = {C_1 / self.size:.6g}.")
        _, qp, low, self.pieces = best
        return qp, low

    def gap(self, qp, C):
        """The duality gap at C over the objective: how well the conditions hold may not tell it."""
        h = self.gram.times(qp.beta)
        f = h + self.Q @ qp.lam
        primal = 0.5 * (qp.beta @ h) + C * (np.abs(self.u) @ np.maximum(1.0 - self.y * f, 0.0))
        beta = make_feasible(self.span.Q, qp.beta, C * self.low, C * self.up)
        dual = self.y @ beta - 0.5 * (beta @ self.gram.times(beta))
        return (primal - dual) / primal if primal > 0 else 0.0

    def in_units(self, piece):
        """The piece for the Gram matrix as it was given."""
        beta = Affine(piece.beta.at / self.size, piece.beta.rate)
        lam = Affine(piece.lam.at, piece.lam.rate * self.size)
        low, high = piece.low / self.size, piece.high / self.size
        return piece._replace(low=low, high=high, beta=beta, lam=lam)

    def start(self, C_1, perturbation):
        """The solution at C_1, from the one with every sample at its bound."""
        qp = ParametricQP(self.gram, self.Q, self.at(C_1), 0.0, np.sign(self.u), perturbation)
        qp.restate(self.at(C_1, self.Q.T @ qp.beta), 0.0)
        for _ in qp.follow(1.0):
            pass
        return qp

    def descend(self, qp, C_1):
        """Keep the pieces below the one with C_1; return where that one begins."""
        self.pieces = []
        qp.restate(self.in_theta(C_1), 1.0 / C_1, scale=1.0 / C_1)
        first, C = None, C_1
        for event in qp.follow(1.0 / (BOTTOM * C_1)):
            solution = self.exact(qp, in_theta=True)
            low = 0.0 if event[0] is None else self.crossing(qp, solution, event, 1.0 / qp.t)
            low = min(low, C)
            if first is None:
                first = low
            elif C - low <= NARROW * C:
                continue
            else:
                self.pieces.append(self.piece(qp, solution, low, C, in_theta=True))
            C = low
        self.pieces.reverse()
        return first

    def climb(self, qp, low, C_1, C_max):
        """Keep the pieces from `low` < C_1 to C_max."""
        qp.restate(self.in_beta(), C_1)
        attempt = 0
        while low < C_max:
            try:
                if attempt:
                    C = min(max(low, C_1) * (1.0 + 1e-9 * 4.0 ** (attempt - 1)), C_max)
                    qp = self.restart(qp, C, attempt)
                last = entered = None
                for event in qp.follow(C_max):
                    # The ends of the piece, from the unperturbed solution.
                    solution = self.exact(qp)
                    if last is not None and entered is not None:
                        low = self.entry(qp, solution, entered, last, low)
                    entered = event[0] if event[1] == 0 else None
                    high = max(self.crossing(qp, solution, event, qp.t), low)
                    if high - low <= NARROW * high:
                        continue
                    # Keep it, unless it is so poor that a restart may do better.
                    piece = self.piece(qp, solution, low, high)
                    if piece.kkt > RESTART_VIOLATION + self.rounding * high and attempt < ATTEMPTS:
                        raise PathError
                    self.pieces.append(piece)
                    last, low, attempt = (qp.side.copy(), solution), high, 0
            except PathError as error:
                attempt += 1
                self.n_restarts += 1
                if self.n_restarts > RESTARTS:
                    raise PathError(
                        f"the path is lost at C = {low / self.size:.6g}: the kernel matrix is too "
                        "nearly singular for larger C.  Take a smaller C_max."
                    ) from error

    def restart(self, qp, C, attempt):
        """The solution at C: from the present state, and if that did not help, from nothing."""
        if attempt > 1:
            nothing, size = self.at(0.0), PERTURBATIONS[(attempt - 2) % len(PERTURBATIONS)]
            qp = ParametricQP(self.gram, self.Q, nothing, 0.0, np.sign(self.u), size, seed=attempt)
        qp.resolve(self.at(C))
        qp.restate(self.in_beta(), C)
        return qp

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

    def crossing(self, qp, solution, event, near):
        """The C where the unperturbed solution meets the event.

        It is `near`, where the perturbed one does, if the two are so far apart that in between
        others would be overtaken: an event that comes slowly is at the mercy of perturbations.
        """
        sample, side = event
        if sample is None:
            return near
        beta, _, f = solution
        if side == 0:
            distance, closing = self.y[sample] - f.at[sample], f.rate[sample]
        else:
            bound = self.up[sample] if side > 0 else self.low[sample]
            distance, closing = -beta.at[sample], beta.rate[sample] - bound
        if closing == 0 or abs(distance / closing - near) > 1e-3 * near:
            return near
        C = distance / closing
        good = max(1e-11, self.violation(qp.side, solution, near))
        return C if self.violation(qp.side, solution, C) <= good else near

    def entry(self, qp, solution, sample, last, low):
        """Where a sample enters the elbow: at `low`, or where its new β leaves the bound.

        In exact arithmetic these are the same C.  But where the sample comes to the margin slowly,
        as with a wide kernel, rounding errors of f move `low` by so much that β starts outside the
        box.  The last piece is extended, or cut, to the C at which the two pieces fit better.
        """
        side, before = last
        beta, bound = solution[0], self.u[sample] if side[sample] == np.sign(self.u[sample]) else 0
        closing = beta.rate[sample] - bound
        C = -beta.at[sample] / closing if closing else low
        piece = self.pieces[-1]
        if not piece.low < C or abs(C - low) > 1e-3 * low:
            return low
        fits = [
            (self.violation(side, before, x), self.violation(qp.side, solution, x))
            for x in (C, low)
        ]
        if max(fits[0]) >= max(fits[1]):
            return low
        self.pieces[-1] = piece._replace(high=C, kkt=max(piece.kkt, fits[0][0]))
        return C

    def followed(self, qp, in_theta):
        """The perturbed solution, with the samples outside the elbow put to their true bounds."""
        beta, nu, _ = qp.followed()
        if in_theta:
            beta, nu = Affine(beta.rate, beta.at), Affine(nu.rate, nu.at)
        E = qp.elbow
        at, rate = np.zeros_like(self.u), np.where(self.at_C, self.u, 0.0)
        at[E], rate[E] = beta.at[E], beta.rate[E]
        f = Affine(
            self.gram.combine(E, at[E]) + self.Q @ nu.at,
            self.pull + self.gram.combine(E, rate[E]) + self.Q @ nu.rate,
        )
        return Affine(at, rate), nu, f

    def piece(self, qp, solution, low, high, in_theta=False):
        """The unperturbed solution, or the perturbed one if it does better: M may be that bad."""
        solutions = solution, self.followed(qp, in_theta)
        if low == 0.0:
            for beta, _, _ in solutions:
                beta.at[:] = 0.0  # β = Cθ
        kkt = [max(self.violation(qp.side, s, C) for C in (low, high)) for s in solutions]
        k = int(np.argmin(kkt))
        nu = solutions[k][1]
        beta, at_C, elbow, kkt = self.with_samples_at_bounds(qp, solutions[k], low, high, kkt[k])
        size = np.sqrt(self.y.size)
        lam = Affine(
            self.span.T @ (size * nu.at - self.projection @ beta.at),
            self.span.T @ (size * nu.rate - self.projection @ beta.rate),
        )
        part = Affine(beta.at[elbow], beta.rate[elbow])
        unique = np.linalg.matrix_rank(self.Q[elbow], tol=1e-8) == self.span.rank
        return Piece(low, high, at_C, elbow, part, lam, bool(unique), kkt)

    def with_samples_at_bounds(self, qp, solution, low, high, kkt):
        """(β, at_C, elbow, violation) with the samples at their bounds that stay there.

        They can be in the elbow of the follower all the same.  But one that differs from its bound
        by what looks like rounding may be a near copy of another, and need the difference: so
        they are put there only if all conditions remain as true as they were.
        """
        (beta, nu, f), E = solution, qp.elbow
        share, start = beta.rate[E] / self.u[E], np.abs(beta.at[E] / self.u[E])
        for stuck in BOUND_SNAP_TOLS:
            # In units of the least C: what is nothing at a C of 10¹² may be all there is at 10³.
            still = start <= stuck * low
            full = still & (np.abs(share - 1) <= stuck)
            gone = full | (still & (np.abs(share) <= stuck))
            if not gone.any():
                break
            G, bound = E[gone], np.where(full, self.u[E], 0.0)[gone]
            moved = [Affine(x.at.copy(), x.rate.copy()) for x in (beta, f)]
            for x, move in ((moved[0].at, -beta.at[G]), (moved[0].rate, bound - beta.rate[G])):
                x[G] += move
            moved[1].at += self.gram.combine(G, -beta.at[G])
            moved[1].rate += self.gram.combine(G, bound - beta.rate[G])
            there = moved[0], nu, moved[1]
            before, after = (self.violation(qp.side, s, high, high) for s in (solution, there))
            if after <= max(2 * before, NEGLIGIBLE_VIOLATION + self.rounding * high):
                at_C = self.at_C.copy()
                at_C[E[full]] = True
                kkt = max(self.violation(qp.side, there, C) for C in (low, high))
                return moved[0], at_C, E[~gone], kkt
        return beta, self.at_C, E.copy(), kkt

    def violation(self, side, solution, C, unit=1.0):
        """The largest breach of a condition: of the margin, and, over C, of the box and Pᵀβ = 0.

        What is left of Pᵀβ counts `unit` times: C times, its effect on f.
        """
        beta, _, f = solution
        excess = f(C) - self.y
        margin = np.where(side == 0, np.abs(excess), side * excess).max()
        if C == 0:
            return margin
        alpha = beta(C) / self.u
        box = max(-alpha.min(), (alpha - C).max(), 0.0)
        balance = np.abs(self.span.Q.T @ beta(C)).max(initial=0.0)
        return max(margin, box / C, unit * balance / C)


def project_kernel(gram, B):
    """MΦM for M = I − BBᵀ, symmetric, and BᵀΦ."""
    if B.shape[1] == 0:
        return gram.copy(), np.empty((0, len(gram)))
    projection = B.T @ gram
    half = 0.5 * (projection.T - B @ (projection @ B))
    out = gram - B @ (projection - half.T)
    out -= half @ B.T
    out -= B @ (B.T @ out)
    out -= (out @ B) @ B.T
    return 0.5 * (out + out.T), projection
