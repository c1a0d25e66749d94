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

**What it proves.**  On a piece the optimality conditions are affine in C, so their largest
violation is attained at one of its ends.  `SVMPath.kkt` holds it for each piece, and so
certifies the solution for *every* C, not only at the breakpoints.

References
----------
T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, *The entire regularization path for the support
vector machine*, JMLR 5, 2004: ℓ = 1.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from kernelbook.features import feature_range
from kernelbook.solvers.embedding import DenseGram
from kernelbook.solvers.parametric import Affine, ParametricQP, Problem

__all__ = ["SVMPath", "svm_path"]


@dataclass
class Piece:
    """The solution for low ≤ C ≤ high: β and λ affine in C."""

    low: float
    high: float
    at_C: np.ndarray
    elbow: np.ndarray
    beta: Affine
    lam: Affine
    kkt: float


class SVMPath:
    """The solutions for all C in [C[0], C[-1]].

    Attributes
    ----------
    C : (K+1,) array
        The breakpoints, increasing.  Between two of them β and λ are affine in C.
    beta : (K+1, n) array
        β at the breakpoints.
    lam : (K+1, ℓ) array
        λ at the breakpoints.
    kkt : (K,) array
        For each piece, the largest violation of an optimality condition on it.
    """

    def __init__(self, pieces, u, n_pivots, n_exchanges, n_jumps):
        self.pieces = pieces
        self.u = u
        self.C = np.array([p.low for p in pieces] + [pieces[-1].high])
        self.kkt = np.array([p.kkt for p in pieces])
        self.n_pivots, self.n_exchanges, self.n_jumps = n_pivots, n_exchanges, n_jumps

    def __call__(self, C):
        """(β, λ) at C; at a jump, the solution for C + 0."""
        k = int(np.clip(np.searchsorted(self.C, C, side="right") - 1, 0, len(self.pieces) - 1))
        return self._evaluate(self.pieces[k], C)

    def _evaluate(self, piece, C):
        beta = np.where(piece.at_C, C * self.u, 0.0)
        beta[piece.elbow] = piece.beta(C)
        return beta, piece.lam(C)


def svm_path(gram, P, y, C_max=1e3, sample_weight=None):
    n = len(y)
    basis = feature_range(P)
    Q, T = np.sqrt(n) * basis.Q, np.sqrt(n) * basis.T
    u = y * (np.ones(n) if sample_weight is None else sample_weight)
    scale = np.abs(gram).max()
    if Q.shape[1]:
        B=basis.Q
        gram = gram - B @ (B.T @ gram); gram = gram - (gram @ B) @ B.T; gram = .5*(gram+gram.T)
        if np.abs(gram).max()<1e-13*scale: gram[:]=0
    qp, C_1 = _start(DenseGram(gram,10*2.2e-16*scale), Q, y, u, C_max)
    recorder = _Recorder(y, u, T)
    down = deepcopy(qp)
    down.restate(_in_theta(y, u, Q, C_1), 1.0 / C_1, scale=1.0 / C_1)
    C = C_1
    for event in down.follow(1e8 / C_1):
        solution = down.exact()
        inverse = _crossing(down, solution, event, 1.0 / C)
        low = 1.0 / inverse
        options=[solution,down.followed()]
        if event[0] is None:
            low = 0.0
            for o in options: o.beta.rate[:] = 0.0  # β = Cθ
        recorder.add(down, options, low, C)
        C = low
    recorder.pieces.reverse()
    qp.restate(_in_beta(y, u, Q), C_1)
    C = C_1
    for event in qp.follow(C_max):
        solution = qp.exact()
        C_next = _crossing(qp, solution, event, C)
        recorder.add(qp, [solution,qp.followed()], C, C_next)
        C = C_next
    return SVMPath(recorder.pieces, u, qp.n_pivots, qp.n_exchanges, qp.n_jumps)


def _box(u):
    return np.minimum(u, 0.0), np.maximum(u, 0.0)


def _start(gram, Q, y, u, C_max):
    """The solution at a small C_1, from the one with everybody at the bound."""
    C_1 = min(0.5/(gram.scale*np.abs(u).sum()),C_max)
    low, up = (Affine.constant(C_1 * bound) for bound in _box(u))
    qp = None
    for q in (np.zeros(Q.shape[1]), None):
        # q is what the bounds give, and the engine's bounds are perturbed.
        q = Q.T @ qp.beta if q is None else q
        problem = Problem(Affine.constant(y), low, up, Affine(q, -q), 1.0)
        if qp is None:
            qp = ParametricQP(gram, Q, problem, 0.0, np.sign(u))
        else:
            qp.restate(problem, 0.0)
    for _ in qp.follow(1.0):
        pass
    return qp, C_1


def _in_theta(y, u, Q, C_1):
    """t = 1/C: the box is fixed, the linear term is ty."""
    low, up = (Affine.constant(bound) for bound in _box(u))
    nothing = Affine.constant(np.zeros(Q.shape[1]))
    return Problem(Affine(np.zeros_like(y), y), low, up, nothing, 1.0 / C_1)


def _in_beta(y, u, Q):
    """t = C: the box is C times the unit one."""
    low, up = (Affine(np.zeros_like(u), bound) for bound in _box(u))
    nothing = Affine.constant(np.zeros(Q.shape[1]))
    return Problem(Affine.constant(y), low, up, nothing, 1.0)


def _crossing(qp, solution, event, before):
    """Where the unperturbed solution meets the event; at `before` if that were earlier."""
    sample, side = event
    if sample is None:
        return qp.t
    p = qp.exact_problem
    moving = solution.beta if side else solution.f
    goal = {1: p.up, -1: p.low, 0: p.a}[side]
    closing = moving.rate[sample] - goal.rate[sample]
    t = (goal.at[sample] - moving.at[sample]) / closing if closing else qp.t
    if abs(t - qp.t) > 1e-6 * abs(qp.t):
        t = qp.t
    return max(t, before)


class _Recorder:
    def __init__(self, y, u, T):
        self.y, self.u, self.T, self.pieces = y, u, T, []

    def add(self, qp, options, low, high):
        elbow = qp.elbow
        at_C = qp.side == np.sign(self.u)
        if qp.exact_problem.a.rate.any(): options=[o.swapped() for o in options]
        k=[max(self._kkt(qp.side, solution, C) for C in (low, high) if np.isfinite(C)) for solution in options]
        solution=options[np.argmin(k)]
        self.pieces.append(
            Piece(
                low,
                high,
                at_C,
                elbow,
                Affine(solution.beta.at[elbow], solution.beta.rate[elbow]),
                Affine(self.T @ solution.lam.at, self.T @ solution.lam.rate),
                min(k),
            )
        )
        self.pieces[-1].alt=np.argmin(k)

    def _kkt(self, side, solution, C):
        f = solution.f(C) - self.y
        alpha = solution.beta(C) / self.u
        box = max(-alpha.min(), (alpha - C).max(), 0.0)
        return max(np.where(side, side * f, np.abs(f)).max(), box / C if C > 0 else 0.0)
