"""The search of a large SVM-GB: SMO on fewer and fewer coordinates, then Newton on the face.

Both move the point of a `State`, and keep its gradient.

**Descent.**  `smo_lanes` to a violation, then an update of the multipliers.  Once most coordinates
are at bounds that their gradient holds them at, the others get a small matrix of their own
(shrinking, `_shrunk`).

**Newton.**  The steps of `svm.active_set`, with K_FF in double precision from the kernel itself;
only the gradient of the rest is updated by single-precision rows.  A step costs |F|³/3 operations.
If so many coordinates are free that this is more than SMO is likely to need, SMO goes on instead.

Chapter: book/computing/fast
"""

import numpy as np
from scipy import linalg

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.active_set import exact_step, face_minimizer
from kernelbook.solvers.svm.certificate import violation
from kernelbook.solvers.svm.large.lanes import lanes, masks, violation_bounds
from kernelbook.solvers.svm.large.smo_lanes import smo_lanes

__all__ = ["search"]

SEARCH_HANDOVER = 0.3
"""The violation at which Newton's method may take over."""

SEARCH_DAMPING = 1e-4
"""Its first proximal term, in units of K's diagonal."""

SHRINK = 0.7
"""A small matrix is made when at most this fraction of the coordinates is needed."""

WRONG_FACE = 0.2
"""If more than this fraction of the face is clipped to bounds, Newton's method has come too early.

Where it works, it is less than a sixth in the first step and next to none in the second.
"""

FACTOR_RATE, FACTOR_CALL, STEP_RATE = 5e10, 3e-3, 1.2e-9
"""Operations a second of a Cholesky factorization, seconds around it; seconds that SMO takes a step
and coordinate.  They decide between two ways to the same solution, and need not be exact.
"""


def search(state, goal):
    """From wherever the state is to a violation of about `goal`."""
    eps = max(1.0 if state.rho else SEARCH_HANDOVER, goal)
    last, pace = np.inf, 0.0
    while True:
        before = state.steps
        active = _descend(state, eps)
        if np.isfinite(last):
            pace = (state.steps - before) / np.log10(last / eps)
        if eps <= goal and not state.rho:
            return
        if eps <= SEARCH_HANDOVER:
            left = pace * np.log10(max(eps / goal, 1.0))
            if _worth_a_factor(state, active, goal, left) and _newton(state, goal):
                return
        if eps <= goal:
            return
        last = eps
        eps = max(goal, eps / 3.0 if state.rho or eps >= SEARCH_HANDOVER else eps / 10.0)


def _face(state):
    """Free coordinates, and those at a bound whose gradient points inwards."""
    v, beta = state.gradient, state.beta
    return np.flatnonzero(((beta > state.lower) | (v > 0)) & ((beta < state.upper) | (v < 0)))


def _worth_a_factor(state, active, goal, left):
    """Whether three factorizations are less than SMO will need, judged by what it has needed.

    From zero, each decade takes about as many steps as all before it if all support vectors are
    free, and next to none if all are at bounds.  A search that did not start from zero has saved
    those steps, and they say too little about what is to come; so if the steps of the last level,
    at the same pace to the goal, are more (`left`), that is the estimate.
    """
    size, beta = _face(state).size, state.beta
    free = np.count_nonzero((beta > state.lower) & (beta < state.upper))
    share = free / max(1, np.count_nonzero(beta))
    steps = max(state.steps * (0.4 + np.log10(SEARCH_HANDOVER / goal) * share), left)
    factors = 3 * (size**3 / 3 / FACTOR_RATE + FACTOR_CALL)
    return size <= 0.7 * beta.size and factors < STEP_RATE * steps * active


# ---------------------------------------------------------------------------------- descent


def _descend(state, eps):
    """SMO to a violation of eps, in a shrunk problem while that helps; then a multiplier update.

    Returns how many coordinates the last steps went over.
    """
    m, cap, size = state.beta.size, 200 * state.beta.size + 1_000_000, state.beta.size
    while cap > 0:
        used, left, row_budget_exhausted = smo_lanes(
            state.G, state.lower, state.upper, state.beta, state.v,
            *masks(state.beta, state.lower, state.upper), eps, min(max(m // 8, 300), cap),
        )  # fmt: skip
        state.steps, cap, size = state.steps + used, cap - used, m
        if row_budget_exhausted:
            state.fill()
        elif left <= eps:
            break
        else:
            active = _undecided(state.gradient, state.beta, state.lower, state.upper, left)
            if active.size <= SHRINK * m and _worth_a_copy(state, active.size):
                cap -= _shrunk(state, active, eps, cap)
                size = active.size
    _update_multipliers(state)
    return size


def _worth_a_copy(state, n):
    """Whether a matrix of n² pays, if there are as many steps to come as there have been.

    An entry takes as long as a coordinate in a step.
    """
    return n * n <= state.steps * (state.beta.size - n)


@jit
def _undecided(v, beta, lower, upper, left):
    """Coordinates that are free, or whose v is near the interval where v and bounds disagree."""
    top, bottom = violation_bounds(v, beta, lower, upper)
    top, bottom = top + 0.1 * left, bottom - 0.1 * left
    chosen = np.empty(beta.size, np.int64)
    n = 0
    for i in range(beta.size):
        up, down = beta[i] < upper[i], beta[i] > lower[i]
        if (up and down) or (up and v[i] > bottom) or (down and v[i] < top):
            chosen[n] = i
            n += 1
    return chosen[:n].copy()


def _shrunk(state, active, eps, cap):
    """SMO on the active coordinates alone; then the gradient of all.  Returns the steps."""
    lower, upper, beta = state.lower[active], state.upper[active], state.beta[active]
    start, v = beta.copy(), lanes(state.gradient[active], 0.0, np.float64)
    G = state.part(active)
    cap = min(cap, 4 * active.size)  # then choose the active coordinates again
    used, _, _ = smo_lanes(G, lower, upper, beta, v, *masks(beta, lower, upper), eps, cap)
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
    bias = 0.5 * sum(violation_bounds(v, beta, state.lower, state.upper))
    v -= bias
    step[0] = bias * np.sqrt(beta.size)
    state.nu += step


# ----------------------------------------------------------------------------------- Newton


def _newton(state, goal, max_steps=12):
    """Newton's method on the face; whether it came down to the goal.  See `svm.active_set`."""
    Q, lower, upper, beta, v = state.Q, state.lower, state.upper, state.beta, state.gradient
    scale = float(state.gram.diagonal.max())
    eps, least = SEARCH_DAMPING * scale, 1e-13 * scale * lower.size
    # Without the penalty: here Qᵀβ = 0 is an equation.
    v += state.rho * (state.penalized @ (state.penalized.T @ beta))
    first = error = np.inf
    for step in range(max_steps):
        r = Q.T @ beta
        error = violation(beta, v, lower, upper) + np.abs(r).max() / (np.abs(beta).sum() or 1.0)
        first = error if step == 0 else first
        F = _face(state)
        # No progress in four steps, or far too many free coordinates: leave it to SMO.
        if error <= goal or F.size > 0.7 * beta.size or (step >= 4 and error > 0.3 * first):
            break
        state.steps += 1
        try:
            target, mu = face_minimizer(
                state.gram.block(F), Q, v, r, lower, upper, beta, F, eps, max_clipped=WRONG_FACE
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
        t = exact_step(slope, curvature)
        beta[F] = target if t == 1 else np.clip(beta[F] + t * s, lower[F], upper[F])
        v -= t * Ks
        if t > 0.1:
            state.nu += t * mu
            v -= t * (Q @ mu)
        eps = max(0.01 * eps, least) if t > 0.5 else 10 * eps if t < 0.1 else eps
    v -= state.rho * (state.penalized @ (state.penalized.T @ beta))
    return error <= goal
