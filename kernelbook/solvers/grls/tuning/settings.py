"""What may be asked of a search for parameters, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelbook.solvers.grls.tuning.criteria import CRITERIA

__all__ = ["Tuning", "TuningResult", "as_tuning"]

MAX_ROWS = 5000


@dataclass(frozen=True)
class Tuning:
    """How widths, weights of components and noise are chosen; for `tune` of the G-RLS learners.

    Parameters
    ----------
    criterion : {"reml", "ml", "loo", "gcv"}
        Restricted likelihood, likelihood, mean squared leave-one-out residual, or generalized
        cross-validation.
    fixed : str or sequence of str
        Parameters that keep the value they have in `kernel` and `reg`: the names that
        `kernel.tunable()` gives, or the ends of such names, and "reg".
    bounds : mapping from such names to (low, high)
        Others have wide bounds that come from the data.
    starts : int
        How many starting points are tried: the values given, and others that come from the data.
    max_rows : int, optional
        A sample with more rows is searched on so many of them, drawn at random; by default 5,000,
        with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import GRLSRegressor, Matern, Tuning
    >>> X = np.linspace(0, 10, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> f = GRLSRegressor(Matern(nu=2.5), tune=Tuning("reml", bounds={"width": (1, 20)})).fit(X, y)
    >>> f.tuning_.names, round(f.kernel_.width, 1)
    (('width', 'reg'), 4.0)
    """

    criterion: str = "reml"
    fixed: Any = ()
    bounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    starts: int = 5
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.criterion, str) or self.criterion not in CRITERIA:
            raise ValueError(f"criterion={self.criterion!r} must be one of {CRITERIA}.")
        fixed = (self.fixed,) if isinstance(self.fixed, str) else self.fixed
        if not (isinstance(fixed, Sequence) and all(isinstance(name, str) for name in fixed)):
            raise TypeError(f"fixed={self.fixed!r} must be a list of names, as ['width', 'reg'].")
        object.__setattr__(self, "fixed", tuple(fixed))
        _count("starts", self.starts)
        if self.max_rows is not None:
            _count("max_rows", self.max_rows)
        _check_bounds(self.bounds)


@dataclass(frozen=True)
class TuningResult:
    """What was chosen, and how sure that is.

    Attributes
    ----------
    criterion : str
    names : tuple of str
        The parameters that were free: those of the kernel, then "reg".
    values : (p,) array
    log_cov : (p, p) array
        The approximate covariance of the logarithms of the parameters: the inverse curvature of
        −log L, with the scale at its best.  NaN for a parameter on a bound, and for "loo" and
        "gcv", whose curvature says nothing about errors.
    log_likelihood : float
        For "ml" the likelihood, otherwise the restricted one; NaN where it does not exist.
    criteria : dict
        All criteria at the chosen parameters: "reml" and "ml" as log-likelihoods, "loo" and "gcv"
        as mean squares.
    on_bound, flat : tuples of str
        Parameters on a bound, and those of which the data say next to nothing.
    optima : list of (float, dict)
        The distinct local optima of the search, the best first: minus the log-likelihood (or half
        of n times the logarithm of the criterion), and the parameters.
    rows : array of int, or None
        The rows on which the parameters were chosen, if not all.
    n_evaluations : int
        How often the criterion was evaluated on these rows, one factorization each.
    messages : tuple of str
        The warnings.
    """

    criterion: str
    names: tuple[str, ...]
    values: np.ndarray
    log_cov: np.ndarray
    log_likelihood: float
    criteria: dict[str, float]
    on_bound: tuple[str, ...]
    flat: tuple[str, ...]
    optima: list
    rows: np.ndarray | None
    n_evaluations: int
    messages: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, float]:
        """The chosen values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def standard_errors(self) -> np.ndarray:
        """Those of the logarithms of the parameters."""
        return np.sqrt(np.diag(self.log_cov))

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Approximate intervals for the parameters: symmetric on the log scale."""
        from scipy.stats import norm

        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level={level!r} must be a number between 0 and 1, as 0.95.")
        reach = np.exp(norm.ppf(0.5 + 0.5 * float(level)) * self.standard_errors)
        return {
            name: (float(value / by), float(value * by))
            for name, value, by in zip(self.names, self.values, reach, strict=True)
        }


def as_tuning(tune: Any) -> Tuning | None:
    """The `Tuning` that `tune` stands for; None for none."""
    if tune is None or isinstance(tune, Tuning):
        return tune
    if isinstance(tune, str) and tune in CRITERIA:
        return Tuning(tune)
    raise ValueError(f"tune={tune!r} must be None, one of {CRITERIA}, or a Tuning(...).")


def _count(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_) or value < 1:
        raise ValueError(f"{name}={value!r} must be an integer ≥ 1.")


def _check_bounds(bounds):
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds={bounds!r} must be a dict of pairs, as {{'width': (0.1, 10)}}.")
    for name, pair in bounds.items():
        try:
            low, high = map(float, pair)
        except (TypeError, ValueError):
            raise TypeError(
                f"bounds={bounds!r}: {name!r} must have a pair of numbers, (low, high)."
            ) from None
        if not 0 < low < high < np.inf:
            raise ValueError(
                f"bounds={bounds!r}: those of {name!r} must be positive and finite, low < high; to "
                "hold a parameter, name it in fixed."
            )
