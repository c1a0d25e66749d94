"""The search of a large SVM-GB: SMO on fewer and fewer coordinates, then Newton on the face.

Both move the point of a `State`, and keep its gradient.

**Descent.**  `smo_lanes` to a violation, then an update of the multipliers.  Once most coordinates
sit at bounds they do not want to leave, the others get a small matrix of their own (`_shrunk`).

**Newton.**  The steps of `svm.active_set`, with K_FF in double precision from the kernel itself;
only the
gradient of the rest is moved by single-precision rows.  A step costs |F|³/3 operations.  If so many
coordinates are free that this is more than SMO is likely to need, SMO goes on instead.
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.active_set import face_minimizer
from kernelbook.solvers.svm.certificate import violation
from kernelbook.solvers.svm.large.smo_lanes import ends, lanes, masks, smo_lanes

__all__ = ["search"]

START = 0.3
"""The violation at which Newton's method may take over."""

PROX = 1e-4
"""Its first proximal term, in units of K's diagonal."""

SHRINK = 0.7
"""A small matrix is made when at most this fraction of the coordinates is needed."""

WRONG_FACE = 0.2
"""When Newton's method wants more than this fraction of its face at bounds, it has come too early.

Where it works, it is less than a sixth in the first step and next to none in the second.
"""

FACTOR_RATE, FACTOR_CALL, STEP_RATE = 5e10, 3e-3, 1.2e-9
"""Operations a second of a Cholesky factorization, seconds around it; seconds that SMO takes a step
and coordinate.  They decide between two roads to the same place, and need not be exact.
"""


def search(state, goal):
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
            active = _undecided(state.gradient, state.beta, state.lo, state.hi, left)
            if active.size <= SHRINK * m and _worth_a_copy(state, active.size):
                cap -= _shrunk(state, active, eps, cap)
                size = active.size
    _update_multipliers(state)
    return size


def _worth_a_copy(state, n):
    """Whether a matrix of n² pays: an entry takes as long as a coordinate in a step, and there may
    be as many steps to come as there have been."""
    return n * n <= state.steps * (state.beta.size - n)


@jit
def _undecided(v, beta, lo, hi, left):
    """Coordinates that are free, or whose v is near the interval where v and bounds disagree."""
    top, bottom = ends(v, beta, lo, hi)
    top, bottom = top + 0.1 * left, bottom - 0.1 * left
    chosen = np.empty(beta.size, np.int64)
    n = 0
    for i in range(beta.size):
        up, down = beta[i] < hi[i], beta[i] > lo[i]
        if (up and down) or (up and v[i] > bottom) or (down and v[i] < top):
            chosen[n] = i
            n += 1
    return chosen[:n].copy()


def _shrunk(state, active, eps, cap):
    """SMO on the active coordinates alone; then the gradient of all.  Returns the steps."""
    lo, hi, beta = state.lo[active], state.hi[active], state.beta[active]
    start, v = beta.copy(), lanes(state.gradient[active], 0.0, np.float64)
    G = state.part(active)
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
    if state.rho:
        step[1:] = state.rho * (state.penalized.T @ beta)
        v -= state.Q @ step
    bias = 0.5 * sum(ends(v, beta, state.lo, state.hi))
    v -= bias
    step[0] = bias * np.sqrt(beta.size)
    state.nu += step


# ----------------------------------------------------------------------------------- Newton


def _newton(state, goal, max_steps=12):
    """Newton's method on the face; whether it came down to the goal.  See `svm.active_set`."""
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
            target, mu = face_minimizer(
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
