"""One piece of the path in C: the exact solution between two events, and where it ends.

The follower solves a problem that is perturbed in the eleventh digit, so that no two events
coincide.  What is kept is the solution of the *unperturbed* equations for the places that it finds:
β, λ and f, affine in C, the C at which the event happens for them, and the largest violation of an
optimality condition at either end.

**Projection.**  On the feasible set Φ can be replaced by MΦM, M = I − PP⁺: then λ only takes the
values it needs, thin plates become positive semidefinite, and a wide Gaussian, which is a
polynomial up to a tiny remainder, loses the polynomial and keeps the remainder's digits.
"""

from typing import NamedTuple

import numpy as np

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm.convexity import INDEFINITE, is_definite
from kernelbook.solvers.svm.path.gram import DenseGram
from kernelbook.solvers.svm.path.problem import Affine

__all__ = ["Piece", "Pieces", "project_kernel"]

EPS = float(np.finfo(float).eps)
BOUND_SNAP_TOLS = (1e-9, 1e-11, 1e-13)
"""A β that differs from a moving bound by less than one of these, in units of C w, may be there."""
NEGLIGIBLE_VIOLATION = 1e-10
"""A violation that counts as none."""


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


class Pieces:
    """The pieces found so far, and how the next one follows from the state of the follower."""

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
