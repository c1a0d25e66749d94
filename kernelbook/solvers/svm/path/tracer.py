"""Tracing the path in C of the support vector machine: its start, its pieces, its restarts.

**Where it starts.**  As C → 0 the solution is β = Cθ with θ fixed: θ solves the linear program of
the hinge loss with the features alone, and among its solutions minimizes θᵀΦθ.  Neither
program has to be solved.  Take a C₁ so small that the kernel cannot bring any sample to the margin
and put *every* sample at its upper bound, β = C₁ w∘y, λ = 0: this is optimal for the problem with
Pᵀβ = q, q = Pᵀ(C₁w∘y).  Lead q to zero, along a path that is piecewise affine, too.
From there C goes down to 0 and up to `C_max`.  Downwards the unknown is θ = β/C, whose box is
fixed, and the parameter is 1/C: the last piece, on which θ is constant, then has no end.

Chapter: book/primal/path
"""

import numpy as np

from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.multipliers import hard_margin_multipliers
from kernelbook.solvers.svm.path import Affine, ParametricQP, PathError, Problem
from kernelbook.solvers.svm.path.pieces import Piece, Pieces

__all__ = ["PathTracer"]

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
"""So often a piece with a larger violation is traced again; then it is kept, and `kkt` says so."""
PERTURBATIONS = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7)
"""Ties are broken by the least of these that leads to a start; each is another draw, too."""
NARROW = 1e-14
"""A piece narrower than this, relative to its end, is the rounding error of two events in one."""


class PathTracer(Pieces):
    """Follows the path from its start and collects the pieces.

    The stages of `trace`: a start at C₁ (`find_start`), the pieces below it (`descend`), those
    above it (`climb`), each with restarts where rounding has defeated the follower.
    """

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
