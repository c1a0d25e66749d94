"""What every G-RLS solver returns, and the one place where its certificates are made."""

from dataclasses import dataclass, field

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.facts import GramFacts

__all__ = [
    "Solution",
    "certify",
    "rank_warnings",
    "zero_kernel_warnings",
]


@dataclass
class Solution:
    """f = (kernel part) + Pλ and what can be said about it; a column for each output.

    Attributes
    ----------
    c, lam : arrays
        The coefficients of the kernel part and of the features.  For the Fourier solver c are
        those of the exponentials.
    energy, y_unit, unit : arrays, float
        yᵀGy = cᵀ(Φ + ρD⁻¹)c = energy·y_unit²/unit; its own square might overflow.
    rank : int
        The rank of P on the sample.
    certificates : tuple of Certificate
    predictor : callable, optional
        X ↦ the kernel part of f, (n, k): see `grls.predictor`.
    posterior : object, optional
        Variances: `variance(X, P, diag)` and `coef_covariance()`.
    n_iter : int
        Steps of conjugate gradients; 0 for a direct solution.
    full_gap : (k,) array or None
        For Nyström, the duality gap of the full problem, where it was computed.
    warnings : list of str
    solver : str
        Which method it was.
    advice : str
        What to do where `tol` was not reached.
    facts : GramFacts or None
        Of the Gram matrix, where the solver had it.
    """

    c: np.ndarray
    lam: np.ndarray
    energy: np.ndarray
    y_unit: np.ndarray
    rank: int
    certificates: tuple
    unit: float = 1.0
    predictor: object = None
    posterior: object = None
    n_iter: int = 0
    full_gap: np.ndarray | None = None
    warnings: list = field(default_factory=list)
    solver: str = ""
    advice: str = "A larger max_iter, reg, tol or n_centers help."
    facts: GramFacts | None = None

    def __post_init__(self):
        if not (np.isfinite(self.c).all() and np.isfinite(self.lam).all()):
            raise ValueError("the coefficients overflow: rescale y, or the kernel.")

    def deviation(self, observations):
        """√(yᵀGy/(W − rank P)), NaN where W ≤ rank P.

        The root comes first: y near 1e±300 has a representable deviation, if not a variance.
        """
        free = observations - self.rank
        mean = self.energy / (free if free > 0 else np.nan)
        return np.sqrt(mean) / np.sqrt(self.unit) * self.y_unit


def certify(y_scale, y_unit, primal, gap, fit_error, constraint=0.0, m=1):
    """A certificate for each output.

    Parameters
    ----------
    y_scale : (k,) array
        The unit of `kkt`: the norm of what the features leave of y, plus 10⁻⁴ of y's own.
    y_unit : (k,) array
        The unit of y in all of these numbers.
    primal, gap : (k,) arrays
        Objective and duality gap, times m.
    fit_error : (k,) array
        A bound on the norm of the error of the fitted values, at most √gap.
    constraint : (k,) array or 0
        As in `Certificate`.
    m : int
        1 for means over the sample, the number of samples for sums.
    """
    kkt = fit_error / np.where(y_scale > 0, y_scale, 1.0)
    with np.errstate(over="ignore"):
        primal, gap = primal / m * y_unit * y_unit, gap / m * y_unit * y_unit
    # Where the objective is above the largest number, that number is the bound below it.
    lower = np.minimum(primal, np.finfo(float).max) - np.where(np.isfinite(primal), gap, 0.0)
    columns = np.broadcast_arrays(primal, lower, constraint, kkt, gap)
    return tuple(
        Certificate(*map(float, row[:4]), gap=float(row[4])) for row in zip(*columns, strict=True)
    )


def rank_warnings(features, P):
    """What to say where rounding, and not the features, has decided which of them count."""
    r, l = features.Q.shape[1], P.shape[1]
    if r == l:
        return []
    if r < column_space(P).rank:
        return [
            f"sample_weight spans so many orders of magnitude that only {r} directions of the "
            f"{l} free features are left on the weighted sample; without weights there are more.  "
            "Use weights of more moderate ratios, or drop the samples whose weight is negligible."
        ]
    if features.rank_is_ambiguous:
        return [
            f"the {l} free features are dependent on the sample only to rounding: their singular "
            f"values fall to {features.values[r - 1]:.0e} of the largest without a gap, {r} were "
            f"kept, and what the other {l - r} could have fitted is left to the kernel.  Scale "
            "the features (Polynomials(scaled=True), StandardScaler), or take fewer of them."
        ]
    return []


def zero_kernel_warnings(zero, rank, samples, what="samples"):
    """What to say where the kernel adds nothing to the features."""
    if not zero or rank >= samples:
        return []
    return [
        f"the kernel is zero at every pair of {what}: only the features are learned.  If its "
        "values underflow, scale X."
    ]
