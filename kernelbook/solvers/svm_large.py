"""The SVM-GB dual for large samples: a search in single precision, a proof in double.

    minimize  ½βᵀKβ − yᵀβ,      Qᵀβ = 0,   lo ≤ β ≤ hi           (Q: orthonormal features)

Nearly all the time of a large problem goes into reading K.  A matrix in single precision takes half
the time, and what it gets wrong, 3·10⁻⁸ of an entry, matters only at the very end.  So:

1. *Descend.*  `smo_lanes` on the single-precision K, to a violation of 0.3.  Once most coordinates
   sit at bounds they do not want to leave, the others get a small matrix of their own
   (`_shrunk`).  Features other than the constant are an augmented Lagrangian: ρQQᵀ is added to K.
   Of a Gaussian, rows are computed when they are needed; in many dimensions, where tiles are
   cheaper, until they are too many.
2. *Jump.*  Newton's method on the face (`face.face_target`), its K_FF in double precision from the
   kernel itself; only the gradient of the rest is moved by single-precision rows.  Its steps
   cost |F|³/3 operations each.  If so many coordinates are free that this is more than SMO is
   likely to need (`_worth_a_factor`), SMO goes on instead.
3. *Prove.*  The point is moved to exact feasibility, f is computed in double precision, as
   prediction will compute it, λ is chosen by the rule, and the certificate decides.  If it is not
   good enough the search goes on from the *exact* gradient: iterative refinement (Wilkinson).
   Errors of single precision then act on what is still to be done only, and vanish with it.

What the proof needs of K: that it is positive semidefinite.  With a linear kernel β is not unique,
but h = Kβ is, and the certificate is about f.  What the search needs: the constant in the span of
the features, so that pairs of coordinates can keep 1ᵀβ = 0, and numbers of ordinary size.

`solve_large` returns None where it does not apply or does not get there; then `svm_dual.solve_svm`
has to do it, whose relay of methods takes longer, and hardly ever fails.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from kernelbook._jit import parallel_for, serial_blas
from kernelbook.features import feature_range
from kernelbook.solvers.face import face_target
from kernelbook.solvers.smo_lanes import (
    Lanes,
    gather,
    know,
    known_matrix,
    lanes,
    masks,
    padded,
    smo_lanes,
    subtract_rows,
    unknown_matrix,
)
from kernelbook.solvers.svm_certificate import COARSE_GAP, certify, repair, violation
from kernelbook.solvers.svm_dual import SVMSolution, bounds_reached
from kernelbook.solvers.svm_multipliers import choose_multipliers, separate
from kernelbook.solvers.svm_problem import constant_first

__all__ = ["GramSource", "solve_large"]

START = 0.3
"""The violation at which Newton's method may take over."""

LAZY = 20
"""Up to this many dimensions a row alone is as cheap as in a tile, and computed when it is needed.

In d more, rows are computed one by one until they are 10/d of all.
"""

NEAR = 32.0
"""Rows alone are computed in single precision, for points ‖z‖ ≤ NEAR (see `smo_lanes`)."""

PROX = 1e-4
"""Its first proximal term, in units of K's diagonal."""

SHRINK = 0.7
"""A small matrix is made when at most this fraction of the coordinates is needed."""

WRONG_FACE = 0.2
"""When Newton's method wants more than this fraction of its face at bounds, it has come too early.

Where it works, it is less than a sixth in the first step and next to none in the second.
"""

ROUNDS = 8
"""How often the search may go on from the exact gradient."""

FACTOR_RATE, FACTOR_CALL, STEP_RATE = 5e10, 3e-3, 1.2e-9
"""Operations a second of a Cholesky factorization, seconds around it; seconds that SMO takes a step
and coordinate.  They decide between two roads to the same place, and need not be exact.
"""


class GramSource(Protocol):
    """What is needed of a positive semidefinite K."""

    diagonal: np.ndarray

    def single(self, out, rows=None):
        """K, or K[rows][:, rows], in single precision in the first columns of `out`, then zeros."""

    def exponents(self):
        """(Z, s) with log₂ K_ij = z_i·z_j + s_i + s_j, or None."""

    def block(self, rows):
        """K[rows][:, rows] in double precision, a new array."""

    def product(self, beta):
        """Kβ in double precision."""


@dataclass
class _State:
    """A point and what is known of it; v = y − (K + ρQQᵀ)β − Qν, in lanes, in double precision."""

    gram: GramSource
    G: Lanes
    Q: np.ndarray
    rho: float
    lo: np.ndarray
    hi: np.ndarray
    beta: np.ndarray
    nu: np.ndarray
    v: np.ndarray
    steps: int = 0
    work: float = 0.0

    @property
    def gradient(self):
        return self.v.reshape(-1)[: self.beta.size]

    @property
    def penalized(self):
        return self.Q[:, 1:]

    def fill(self):
        """All of K, by tiles."""
        self.gram.single(self.G.rows)
        if self.rho:
            _add_penalty(self.G.rows, np.sqrt(self.rho) * self.penalized)
        self.G.slot[:] = np.arange(len(self.beta))
        self.G.count[:] = len(self.beta), 0

    def part(self, rows):
        """(K + ρQQᵀ)[rows][:, rows], padded: copied if it is there, otherwise computed."""
        if np.all(self.G.slot[rows] >= 0):
            return gather(self.G, rows)
        out = np.empty((rows.size, padded(rows.size)), dtype=np.float32)
        self.gram.single(out, rows)
        if self.rho:
            _add_penalty(out, np.sqrt(self.rho) * self.penalized[rows])
        return out

    def times(self, rows, s):
        """(K + ρQQᵀ)[:, rows] s, in lanes."""
        know(self.G, rows)
        out = np.zeros_like(self.v)
        subtract_rows(self.G, rows, -s, out)
        return out


@serial_blas
def solve_large(
    gram: GramSource, P, y, C, *, tol=1e-3, gap_tol=None, span=None, start=None, verbose=0
):
    """Solve one binary problem, or return None; see the module, and `svm_dual.solve_svm`.

    Parameters
    ----------
    span : optional
        `feature_range(P)`, of features that are known not to separate the sample.
    start : (m,) array, optional
        A β to start from, the solution with another C for example; zero if None.
    """
    m, scale = y.size, float(gram.diagonal.max(initial=0.0))
    tried, span = span is not None, span or feature_range(P)
    Q, has_constant = constant_first(span.Q)
    ordinary = 1e-8 < scale < 1e8 and scale * C.max() < 1e7 and C.min() > 1e-8
    if not has_constant or not ordinary:
        return None
    if not tried and Q.shape[1] > 1 and separate(span.Q, y, C) is not None:
        return None
    state = _start(gram, Q, y, C)
    last, goal = None, _inner_goal(tol, gap_tol)
    beta, h = np.zeros(m), np.zeros(m)
    if start is not None:
        beta = repair(Q, np.clip(start, state.lo, state.hi), state.lo, state.hi)
        h = gram.product(beta)
        where = bounds_reached(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, state.nu)
        _go_on_from(state, y, beta, nu, h)
    for _ in range(ROUNDS):
        _search(state, goal)
        before, beta = beta, repair(Q, state.beta, state.lo, state.hi)
        h = _moved_product(gram, h, before, beta)
        where = bounds_reached(y * beta, C)
        nu = choose_multipliers(h, Q, y, C, *where, state.nu)
        coef = span.T @ (span.Q.T @ (Q @ nu))
        proof = certify(h, P, y, C, beta, coef, scale)
        if verbose:
            print(
                f"   single: {state.steps} steps, violation {proof.kkt:.1e}, "
                f"gap {proof.relative_gap:.1e} relative, "
                f"{np.count_nonzero(beta)} of {m} samples support"
            )
        if proof.kkt <= tol and proof.relative_gap <= (gap_tol or COARSE_GAP):
            return SVMSolution(beta, coef, span.rank, max(1, state.steps), proof, h)
        if last is not None and proof.kkt > 0.5 * last and proof.kkt > tol:
            return None
        last, goal = proof.kkt, 0.1 * min(goal, proof.kkt)
        _go_on_from(state, y, beta, nu, h)
    return None


def _go_on_from(state, y, beta, nu, h):
    """Put the state at a feasible β, with the exact gradient."""
    state.beta, state.nu = beta.copy(), nu
    state.gradient[:] = y - h - state.Q @ nu  # Qᵀβ = 0: no penalty


def _moved_product(gram, h, before, beta):
    """Kβ from h = K·before: where most coordinates stay, only the others have to be asked."""
    if 2 * np.count_nonzero(beta != before) < np.count_nonzero(beta):
        return h + gram.product(beta - before)
    return gram.product(beta)


def _inner_goal(tol, gap_tol):
    """Half of tol, so that rounding leaves the certificate room."""
    return 0.5 * tol if gap_tol is None else min(0.5 * tol, gap_tol)


def _start(gram, Q, y, C):
    (m, r), scale = Q.shape, float(gram.diagonal.max())
    # As in `svm_problem`: strong enough beside the kernel, and for a small box to move f by one.
    rho = max(scale, 1.0 / np.median(C)) * m / (r - 1) if r > 1 else 0.0
    A = np.sqrt(rho) * Q[:, 1:]
    diag = gram.diagonal + np.einsum("ij,ij->i", A, A)
    lo, hi = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    point = (lo, hi, np.zeros(m), np.zeros(r), lanes(y, 0.0, np.float64))
    factors = gram.exponents()
    if factors is not None:
        Z = np.sqrt(0.5) * factors[0]
        if np.sqrt(np.max(-factors[1])) <= NEAR:
            G = unknown_matrix(diag, _budget(*Z.shape), Z, A)
            return _State(gram, G, Q, rho, *point)
    G = known_matrix(np.empty((m, padded(m)), dtype=np.float32), diag)
    state = _State(gram, G, Q, rho, *point)
    state.fill()
    return state


def _budget(m, d):
    """How many rows of m are computed one by one, in d dimensions."""
    return m if d <= LAZY else 10 * m // d


def _add_penalty(K, A):
    """K += AAᵀ, in single precision, a panel of rows at a time, with nothing in between."""
    m, panels = len(A), range(0, len(A), 256)
    whole = np.zeros((K.shape[1], A.shape[1]), dtype=np.float32, order="F")
    whole[:m] = A

    def add(p):
        rows = slice(panels[p], panels[p] + 256)
        # Transposed, the panel is in the order that BLAS can overwrite.
        linalg.blas.sgemm(
            1.0, whole, whole[:m][rows], beta=1.0, c=K[rows].T, trans_b=True, overwrite_c=True
        )

    parallel_for(add, len(panels))


def _search(state, goal):
    """From wherever the state is to a violation of about `goal`."""
    eps = max(1.0 if state.rho else START, goal)
    while True:
        active = _descend(state, eps)
        if eps <= goal and not state.rho:
            return
        if eps <= START and _worth_a_factor(state, active, goal) and _newton(state, goal):
            return
        if eps <= goal:
            return
        eps = max(goal, eps / 3.0 if state.rho or eps >= START else eps / 10.0)


def _face(state):
    """Free coordinates, and those at a bound that want to leave it."""
    v, beta = state.gradient, state.beta
    return np.flatnonzero(((beta > state.lo) | (v > 0)) & ((beta < state.hi) | (v < 0)))


def _worth_a_factor(state, active, goal):
    """Whether three factorizations are less than SMO will need, judged by what it has needed.

    Each decade takes about as many steps as all before it if all support vectors are free, and
    next to none if all are at bounds.
    """
    size, beta = _face(state).size, state.beta
    free = np.count_nonzero((beta > state.lo) & (beta < state.hi)) / max(1, np.count_nonzero(beta))
    steps = state.steps * (0.4 + np.log10(START / goal) * free)
    factors = 3 * (size**3 / 3 / FACTOR_RATE + FACTOR_CALL)
    return size <= 0.7 * beta.size and factors < STEP_RATE * steps * active


# ---------------------------------------------------------------------------------- descent


def _descend(state, eps):
    """SMO to a violation of eps, in a shrunk problem while that helps; then a multiplier update.

    Returns how many coordinates the last steps went over.
    """
    m, cap, size = state.beta.size, 200 * state.beta.size + 1_000_000, state.beta.size
    while cap > 0:
        used, left, spent = smo_lanes(
            state.G, state.lo, state.hi, state.beta, state.v,
            *masks(state.beta, state.lo, state.hi), eps, min(max(m // 8, 300), cap),
        )  # fmt: skip
        state.steps, cap, size = state.steps + used, cap - used, m
        if spent:
            state.fill()
        elif left <= eps:
            break
        else:
            active = _undecided(state, left)
            if active.size <= SHRINK * m and _worth_a_copy(state, active.size):
                cap -= _shrunk(state, active, eps, cap)
                size = active.size
    _update_multipliers(state)
    return size


def _worth_a_copy(state, n):
    """Whether a matrix of n² pays: an entry takes as long as a coordinate in a step, and there may
    be as many steps to come as there have been."""
    return n * n <= state.steps * (state.beta.size - n)


def _undecided(state, left):
    """Coordinates that are free, or whose v is near the interval where v and bounds disagree."""
    v, beta = state.gradient, state.beta
    up, down = beta < state.hi, beta > state.lo
    top, bottom = v[up].max() + 0.1 * left, v[down].min() - 0.1 * left
    return np.flatnonzero((up & down) | (up & (v > bottom)) | (down & (v < top)))


def _shrunk(state, active, eps, cap):
    """SMO on the active coordinates alone; then the gradient of all.  Returns the steps."""
    lo, hi, beta = state.lo[active], state.hi[active], state.beta[active]
    start, v = beta.copy(), lanes(state.gradient[active], 0.0, np.float64)
    diag = state.G.diag.reshape(-1)[active]
    G = known_matrix(state.part(active), diag)
    cap = min(cap, 4 * active.size)  # then look again who is needed
    used, _, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), eps, cap)
    moved = np.flatnonzero(beta != start)
    state.beta[active] = beta
    state.v -= state.times(active[moved], (beta - start)[moved])
    state.steps += used
    return used


def _update_multipliers(state):
    """ν += ρQᵀβ, and the bias to the middle of what v leaves open; v follows."""
    v, beta = state.gradient, state.beta
    step = np.zeros(state.nu.size)
    step[1:] = state.rho * (state.penalized.T @ beta)
    v -= state.Q @ step
    bias = 0.5 * (v[beta < state.hi].max() + v[beta > state.lo].min())
    v -= bias
    step[0] = bias * np.sqrt(beta.size)
    state.nu += step


# ----------------------------------------------------------------------------------- Newton


def _newton(state, goal, max_steps=12):
    """Newton's method on the face; whether it came down to the goal.  See `face` for the idea."""
    Q, lo, hi, beta, v = state.Q, state.lo, state.hi, state.beta, state.gradient
    scale = float(state.gram.diagonal.max())
    eps, least = PROX * scale, 1e-13 * scale * lo.size
    # Without the penalty: the equations see to Qᵀβ = 0.
    v += state.rho * (state.penalized @ (state.penalized.T @ beta))
    first = error = np.inf
    for step in range(max_steps):
        r = Q.T @ beta
        error = violation(beta, v, lo, hi) + np.abs(r).max() / (np.abs(beta).sum() or 1.0)
        first = error if step == 0 else first
        F = _face(state)
        # No progress in four steps, or far too many free coordinates: SMO had better go on.
        if error <= goal or F.size > 0.7 * beta.size or (step >= 4 and error > 0.3 * first):
            break
        state.steps += 1
        try:
            target, mu = face_target(
                state.gram.block(F), Q, v, r, lo, hi, beta, F, eps, most=WRONG_FACE
            )
        except linalg.LinAlgError:
            eps *= 10
            continue
        if target is None:
            break
        s = target - beta[F]
        moved = np.flatnonzero(s)
        Ks = state.times(F[moved], s[moved]).reshape(-1)[: beta.size]
        Ks -= state.rho * (state.penalized @ (state.penalized[F].T @ s))
        slope, curvature = v[F] @ s - mu @ (Q[F].T @ s), s @ Ks[F]
        t = 0.0 if slope <= 0 else 1.0 if curvature <= slope else slope / curvature
        beta[F] = target if t == 1 else np.clip(beta[F] + t * s, lo[F], hi[F])
        v -= t * Ks
        if t > 0.1:
            state.nu += t * mu
            v -= t * (Q @ mu)
        eps = max(0.01 * eps, least) if t > 0.5 else 10 * eps if t < 0.1 else eps
    v -= state.rho * (state.penalized @ (state.penalized.T @ beta))
    return error <= goal
