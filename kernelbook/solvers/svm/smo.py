"""Sequential minimal optimization: the dual, two coordinates at a time.

The problem is a convex quadratic over a box,

    minimize  ½βᵀKβ − uᵀβ,      lower ≤ β ≤ upper,

with or without the single equation 1ᵀβ = const.  Everything is driven by the negative gradient
v = u − Kβ.  A coordinate may go *up* if β_i < upper_i and *down* if β_i > lower_i; β is optimal iff
no coordinate that may go up has v_i > b and none that may go down has v_i < b, where b is the
multiplier of the equation, or 0 without one.  The violation is

    with the equation:      max_{up} v − min_{down} v        (LIBSVM's m(α) − M(α)),
    without:                max(0, max_{up} v) + max(0, −min_{down} v).

*With* the equation the smallest feasible move shifts mass between two coordinates, β_i += t,
β_j −= t.  i has the largest v among those that may go up; j is the partner whose exact step
gains most, (v_i − v_j)² / 2η with η = K_ii + K_jj − 2K_ij (second-order selection).
*Without* it one coordinate could move alone, but a pair of neighbours in a smooth kernel would
then push each other back and forth; moving two at once, by the exact minimum over their
rectangle, saves most of the steps.

`smo_pairs` and `smo_box` work in place on β and v and return (steps, violation).  A step costs two
rows of K and a few passes over vectors of length m; K is read row by row and is never copied.

**Other features** Q enter as an augmented Lagrangian (`augmented_smo`): ρQQᵀ is part of K, and
after each run the multipliers are updated, ν += ρQᵀβ.

Chapters: book/computing/smo, book/free/svmgb

References
----------
Platt (1998), *Sequential minimal optimization*; Fan, Chen & Lin (2005), *Working set selection
using second order information*, JMLR 6; Steinwart, Hush & Scovel (2011), *Training SVMs without
offset*, JMLR 12.
"""

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["augmented_smo", "move_pair", "smo_box", "smo_pairs"]

MIN_CURVATURE = 1e-12
"""Least curvature of a step, relative to K's diagonal: for duplicates and linear kernels."""


@jit
def _least_curvature(diag):
    largest = 0.0
    for i in range(diag.size):
        largest = max(largest, diag[i])
    return MIN_CURVATURE * largest if largest > 0.0 else MIN_CURVATURE


@jit
def move_pair(lower, upper, beta, i, j, t):
    """β_i += t, β_j −= t, cut where a bound stops it; returns the t of the move.

    The coordinate that stops the move lands exactly on its bound.
    """
    room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
    if t >= room_i and room_i <= room_j:
        t, beta[i] = room_i, upper[i]
        beta[j] = max(beta[j] - t, lower[j])
    elif t >= room_j:
        t, beta[j] = room_j, lower[j]
        beta[i] = min(beta[i] + t, upper[i])
    else:
        beta[i] += t
        beta[j] -= t
    return t


@jit
def smo_pairs(K, diag, lower, upper, beta, v, eps, max_steps):
    """Move pairs β_i += t, β_j −= t, so that 1ᵀβ stays, until the violation is ≤ eps."""
    m, flat = beta.size, _least_curvature(diag)
    steps = 0
    while True:
        # i: the largest violation among the coordinates that may go up.
        i, top, bottom = -1, -np.inf, np.inf
        for k in range(m):
            if v[k] > top and beta[k] < upper[k]:
                top, i = v[k], k
            if v[k] < bottom and beta[k] > lower[k]:
                bottom = v[k]
        if not top - bottom > eps or steps >= max_steps:
            return steps, max(top - bottom, 0.0)

        # j: the partner with which an exact step gains most.
        row = K[i]
        j, best, eta_j = -1, -1.0, 1.0
        for k in range(m):
            if v[k] < top and beta[k] > lower[k]:
                eta = max(diag[i] + diag[k] - 2.0 * row[k], flat)
                gain = (top - v[k]) * (top - v[k]) / eta
                if gain > best:
                    best, j, eta_j = gain, k, eta

        # The step, and the gradient after it.
        t = move_pair(lower, upper, beta, i, j, (top - v[j]) / eta_j)
        other = K[j]
        for k in range(m):
            v[k] -= t * (row[k] - other[k])
        steps += 1


@jit
def _best_in_rectangle(a, b, c, vi, vj, lo_i, hi_i, lo_j, hi_j):
    """Maximize vi x + vj y − ½(a x² + 2b xy + c y²) over lo_i ≤ x ≤ hi_i, lo_j ≤ y ≤ hi_j."""
    det = a * c - b * b
    if det > MIN_CURVATURE * a * c:
        x, y = (c * vi - b * vj) / det, (a * vj - b * vi) / det
        if lo_i <= x <= hi_i and lo_j <= y <= hi_j:
            return x, y
    # Otherwise the maximum is on the boundary (a flat quadratic attains it there, too).
    best, x_best, y_best = -np.inf, 0.0, 0.0
    for side in range(4):
        if side < 2:
            x = lo_i if side == 0 else hi_i
            y = min(max((vj - b * x) / c, lo_j), hi_j)
        else:
            y = lo_j if side == 2 else hi_j
            x = min(max((vi - b * y) / a, lo_i), hi_i)
        value = vi * x + vj * y - 0.5 * (a * x * x + 2.0 * b * x * y + c * y * y)
        if value > best:
            best, x_best, y_best = value, x, y
    return x_best, y_best


@jit
def smo_box(K, diag, lower, upper, beta, v, eps, max_steps):
    """Move two coordinates freely inside their box until the violation is ≤ eps."""
    m, flat = beta.size, _least_curvature(diag)
    steps = 0
    while True:
        # i: the coordinate that gains most alone.
        i, best, up, down = -1, 0.0, 0.0, 0.0
        for k in range(m):
            if (v[k] > 0.0 and beta[k] < upper[k]) or (v[k] < 0.0 and beta[k] > lower[k]):
                gain = v[k] * v[k] / max(diag[k], flat)
                if gain > best:
                    best, i = gain, k
                up, down = max(up, v[k]), max(down, -v[k])
        if not up + down > eps or steps >= max_steps:
            return steps, up + down

        # j: the partner that adds most to it, if any does.
        row, a = K[i], max(diag[i], flat)
        j = -1
        for k in range(m):
            b, c = row[k], max(diag[k], flat)
            move = a * v[k] - b * v[i]
            det = a * c - b * b
            if det > MIN_CURVATURE * a * c and (
                (move > 0.0 and beta[k] < upper[k]) or (move < 0.0 and beta[k] > lower[k])
            ):
                # ½(v_i²/a + move²/(a·det)) is what the pair (i, k) can gain; i alone, ½v_i²/a.
                gain = v[i] * v[i] / a + move * move / (a * det)
                if gain > best and k != i:
                    best, j = gain, k
        # The step, alone or in the rectangle of both, and the gradient after it.
        if j < 0:
            x = min(max(v[i] / a, lower[i] - beta[i]), upper[i] - beta[i])
            beta[i] = min(max(beta[i] + x, lower[i]), upper[i])
            for k in range(m):
                v[k] -= x * row[k]
        else:
            x, y = _best_in_rectangle(
                a, row[j], max(diag[j], flat), v[i], v[j],
                lower[i] - beta[i], upper[i] - beta[i], lower[j] - beta[j], upper[j] - beta[j],
            )  # fmt: skip
            beta[i] = min(max(beta[i] + x, lower[i]), upper[i])
            beta[j] = min(max(beta[j] + y, lower[j]), upper[j])
            other = K[j]
            for k in range(m):
                v[k] -= x * row[k] + y * other[k]
        steps += 1


def augmented_smo(problem, b, nu, levels, max_steps):
    """SMO to each violation in `levels`, with a multiplier update after each.

    Parameters
    ----------
    problem : DualProblem
    b, nu : the start

    Returns
    -------
    (b, ν, steps, whether the last level was reached)
    """
    K, Q, y = problem.K, problem.Q, problem.y
    lower, upper, has_constant = problem.lower, problem.upper, problem.has_constant
    diag = K.diagonal().copy()
    b, nu, steps = b.copy(), nu.copy(), 0
    smo = smo_pairs if has_constant else smo_box
    for eps in levels:
        v = y - K @ b - Q @ nu
        used, left = smo(K, diag, lower, upper, b, v, eps, max_steps - steps)
        steps += used
        if has_constant:
            bias = 0.5 * (np.max(v[b < upper]) + np.min(v[b > lower]))
            nu[0] += bias * np.sqrt(y.size)
        nu[has_constant:] += problem.rho * (problem.penalized.T @ b)
        if left > eps:
            return b, nu, steps, False
    return b, nu, steps, True
