"""What a proof of the primal problem asks of every sample, each question in one compiled pass.

The letters are those of `kernelbook.solvers.primal.problem`: β in the box [lo, hi], α = yβ, prices
u, margins y f.  A path of classifiers asks for hundreds of proofs, and vectors of a few thousand
entries are so short that NumPy takes longer to be asked than to answer.
"""

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.feasibility import is_feasible

__all__ = ["hinge", "is_quiet", "nearly_one", "snapped", "without_noise"]


@jit(brief=True)
def without_noise(beta, u):
    """β, with zero where it is below 10⁻¹³ of its largest entry; and of half the price u."""
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
        # A margin that is no number counts, and makes the sum none.
        short = 0.0 if short < 0.0 else short
        total += u[i] * (short * short if squared else short)
    return total


@jit(brief=True)
def is_quiet(beta, f, y, u, delta, squared, Q, lo, hi):
    """Whether β is feasible as it is, and `without_noise` and `snapped` would leave it so."""
    largest = 0.0
    for i in range(beta.size):
        largest = max(largest, abs(beta[i]))
    for i in range(beta.size):
        b = beta[i]
        slack = y[i] * (f[i] + delta[i] * b) - 1.0
        noise = b != 0.0 and abs(b) <= min(1e-13 * largest, 0.5 * u[i])
        at_zero, at_top = slack > 1e-9, slack < -1e-9 and not squared
        if noise or (at_zero and b != 0.0) or (at_top and b != y[i] * u[i]):
            return False
    return is_feasible(Q, beta, lo, hi)
