"""What a certificate of the primal problem needs of every sample, in compiled passes.

The letters are those of `kernelbook.solvers.primal.problem`: α = yβ, upper bounds u, margins y f.
A path of classifiers needs hundreds of certificates, and for vectors of a few thousand entries
NumPy's calls take longer than its loops.
"""

from kernelbook.numeric.jit import jit

__all__ = ["hinge", "nearly_one", "snapped", "without_noise"]


@jit(brief=True)
def without_noise(beta, u):
    """β, with zero where it is below 10⁻¹³ of its largest entry; and of half its bound u."""
    largest, out = 0.0, beta.copy()
    for i in range(beta.size):
        largest = max(largest, abs(beta[i]))
    for i in range(beta.size):
        if abs(beta[i]) <= min(1e-13 * largest, 0.5 * u[i]):
            out[i] = 0.0
    return out


@jit(brief=True)
def snapped(beta, f, y, u, delta, squared):
    """(whether anything changes, β with α at the bound that its margin asks for)."""
    out, changed = beta.copy(), False
    for i in range(beta.size):
        slack = y[i] * (f[i] + delta[i] * beta[i]) - 1.0
        if slack > 1e-9:
            out[i] = 0.0
        elif slack < -1e-9 and not squared:
            out[i] = y[i] * u[i]
        changed = changed or out[i] != beta[i]
    return changed, out


@jit(brief=True)
def nearly_one(y, f):
    """The least margin of those that rounding may have left below one, within 10⁻⁹; or one."""
    least = 1.0
    for i in range(y.size):
        margin = y[i] * f[i]
        if 1.0 - 1e-9 < margin < least:
            least = margin
    return least


@jit(fast=True, brief=True)
def hinge(f, y, u, squared):
    """Σ u_i (1 − y_i f_i)₊, or of its squares."""
    total = 0.0
    for i in range(y.size):
        short = 1.0 - y[i] * f[i]
        # A NaN fails the comparison, so that the sum is NaN.
        short = 0.0 if short < 0.0 else short
        total += u[i] * (short * short if squared else short)
    return total
