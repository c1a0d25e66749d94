"""What solvers of the SVM-GB dual hand to each other: points, tolerances, solutions.

A solver finds a `DualPoint`; `solvers.svm.finish` turns it into a `DualSolution`; a `Tolerance`
accepts its certificate or does not.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.jit import jit
from kernelbook.numeric.span_basis import SpanBasis

__all__ = [
    "DEFAULT_TOLERANCE",
    "MAX_RELATIVE_GAP", "DualPoint", "DualSolution", "Tolerance", "at_bounds", "lift_margins",
    "rounding_floor",
]  # fmt: skip

MAX_RELATIVE_GAP = 0.1
"""The relative gap that no solution may exceed, whatever the tolerance."""

KKT_FLOOR = 1e-9
"""A violation that needs no further work, beyond what rounding explains."""

BOUND_RTOL = 1e-11
"""α_i this close to a bound, relative to the largest α or to C_i, is at the bound."""


@dataclass(frozen=True)
class DualPoint:
    """Where an algorithm stopped, in the units of its problem: β, the multipliers ν, the steps.

    `basis` is the basis of the features that ν refers to (None: the one of the problem); `exact`
    asks that β is taken as it is, even if it misses Pᵀβ = 0 by rounding.
    """

    beta: np.ndarray
    nu: np.ndarray
    steps: int
    method: str = ""
    basis: SpanBasis | None = None
    exact: bool = False


@dataclass(frozen=True)
class DualSolution:
    """β, λ, the rank of P, the number of steps, the certificate, and Φβ on the sample."""

    beta: np.ndarray
    coef: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate
    kernel_values: np.ndarray


@dataclass(frozen=True)
class Tolerance:
    """The largest violation `kkt`, in units of the margin, and the largest relative gap.

    Without a `gap` the limit is `MAX_RELATIVE_GAP`: if C is 10³⁰⁰, a small violation proves
    nothing.
    """

    kkt: float = 1e-3
    gap: float | None = None

    def accepts(self, certificate):
        """Whether a solution with this certificate is good enough."""
        return certificate.kkt <= self.kkt and certificate.relative_gap <= self.largest_gap

    @property
    def largest_gap(self):
        return self.gap or MAX_RELATIVE_GAP

    def down_to(self, kkt):
        """The same, with a violation of at most `kkt`."""
        return Tolerance(min(self.kkt, kkt), self.gap)

    def rank(self, solution):
        """Smaller is better: the violation first; once that is within tolerance, the gap."""
        proof = solution.certificate
        return max(proof.kkt, self.kkt), proof.relative_gap


DEFAULT_TOLERANCE = Tolerance()


@jit(brief=True)
def at_bounds(alpha, C):
    """Which α_i are 0 and which are C_i, up to rounding."""
    tiny = 0.0
    for i in range(alpha.size):
        tiny = max(tiny, BOUND_RTOL * alpha[i])
    at_zero, at_C = np.empty(alpha.size, np.bool_), np.empty(alpha.size, np.bool_)
    for i in range(alpha.size):
        at_zero[i] = alpha[i] <= min(tiny, 0.5 * C[i])
        at_C[i] = not at_zero[i] and C[i] - alpha[i] <= BOUND_RTOL * C[i]
    return at_zero, at_C


def rounding_floor(scale, beta):
    """A violation that rounding errors in f explain; `scale` is the size of the kernel."""
    return KKT_FLOOR + 64 * np.finfo(float).eps * scale * np.abs(beta).sum()


def lift_margins(beta, coef, h, P, y, C, size):
    """β, λ and h times 1 + s, s just large enough to lift every margin y_i f_i < 1 to 1.

    Where no α_i is at C_i, all margins should be at least one.  A margin that rounding leaves just
    below costs C_i times the difference: with λ = 10⁹ or C = 10²⁰ that exceeds everything else.
    """
    f = h + P @ coef
    rounding = 8 * np.finfo(float).eps * (size * np.abs(beta).sum() + np.abs(P) @ np.abs(coef))
    shortfall = np.max(1.0 - y * f + rounding, initial=0.0)
    if not shortfall < 0.5 or np.any(y * beta * (1 + 2 * shortfall) >= C):
        return beta, coef, h
    factor = 1.0 / (1.0 - shortfall)
    return factor * beta, factor * coef, factor * h
