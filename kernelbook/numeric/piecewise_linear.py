"""The zero of an increasing piecewise linear function, for exact line searches."""

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["zero_of_slope"]


@jit
def zero_of_slope(
    slope: float,
    curvature: float,
    t: np.ndarray,
    dt: np.ndarray,
    s: np.ndarray,
    u: np.ndarray,
) -> float:
    """The zero of φ'(h) = slope + curvature·h + Σ clip(t + h·dt, 0, u)·dt/s, h ≥ 0, exactly.

    Each summand rises linearly while 0 < t + h·dt < u and is constant elsewhere.  So φ' is
    linear between breakpoints, and adding up the changes of its slope in sorted order finds it.
    """
    n = t.size
    value, rate, at_one = slope, curvature, slope + curvature
    for i in range(n):
        if dt[i] != 0.0:
            g = dt[i] / s[i]
            value += g * min(max(t[i], 0.0), u[i])
            at_one += g * min(max(t[i] + dt[i], 0.0), u[i])
    if value >= 0.0:
        return 0.0
    # In most cases the zero lies within the full step, and few breakpoints need sorting.
    last = np.inf if at_one < 0.0 else 1.0
    at, change, k = np.empty(2 * n), np.empty(2 * n), 0
    for i in range(n):
        if dt[i] == 0.0:
            continue
        low, high, weight = -t[i] / dt[i], (u[i] - t[i]) / dt[i], dt[i] * dt[i] / s[i]
        enter, leave = min(low, high), max(low, high)
        if enter <= 0.0 < leave:
            rate += weight
        if 0.0 < enter < last:
            at[k], change[k], k = enter, weight, k + 1
        if 0.0 < leave < last:
            at[k], change[k], k = leave, -weight, k + 1
    begin = 0.0
    for j in np.argsort(at[:k]):
        if rate > 0.0 and value + rate * (at[j] - begin) >= 0.0:
            break
        value += rate * (at[j] - begin)
        begin = at[j]
        rate += change[j]
    return begin - value / rate if rate > 0.0 else begin
