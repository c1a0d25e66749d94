"""Leave-one-out residuals: are they what the model says they are?"""

from typing import Any

import numpy as np
from scipy.stats import t as student

from kernelbook.plotting.effects import new_axes
from kernelbook.plotting.style import COLORS

__all__ = ["plot_leave_one_out", "plot_likelihood", "plot_residuals"]


def plot_residuals(model: Any, X: Any, axes: Any = None) -> list[Any]:
    """Studentized leave-one-out residuals against f, and against the quantiles of Student's t.

    Under the model they have exactly that distribution: no trend to the left, the diagonal to the
    right.

    Parameters
    ----------
    model : fitted GRLSRegressor
    X : data frame or array
        The sample of the fit, in its order.
    axes : two axes, optional
    """
    residuals, f = model.leave_one_out().studentized, model.predict(X)
    if len(f) != len(residuals):
        raise ValueError(
            f"X has {len(f)} rows, and the learner was fitted to {len(residuals)}: pass the sample "
            "of the fit, without rows of zero weight."
        )
    left, right = new_axes(axes, 2)
    left.axhline(0.0, color=COLORS.grey, linewidth=1)
    left.plot(f, residuals, "o", color=COLORS.blue, markersize=4, alpha=0.7)
    left.set_xlabel("f")
    left.set_ylabel("studentized residual")
    ordered = np.sort(residuals[~np.isnan(residuals)])
    share = (np.arange(len(ordered)) + 0.5) / len(ordered)
    expected = student.ppf(share, model.df_resid_ - 1)
    right.plot(expected, expected, color=COLORS.grey, linewidth=1)
    right.plot(expected, ordered, "o", color=COLORS.blue, markersize=4, alpha=0.7)
    right.set_xlabel("quantile of Student's t")
    right.set_ylabel("studentized residual")
    return [left, right]


def plot_likelihood(
    model: Any, parameter: str, values: Any = None, criterion: str = "reml", ax: Any = None
) -> Any:
    """A criterion over one parameter, the others as fitted; the value of the fit is marked.

    Parameters
    ----------
    model : fitted GRLSRegressor
    parameter : str
        One of `model.kernel_.tunable()`, or "reg".
    values : array, optional
        By default a factor of ten to either side of the fit.
    criterion : {"reml", "ml", "loo", "gcv"}
        The log-likelihoods are drawn as they are, the other two on a logarithmic scale.
    ax : axes, optional
    """
    known = {**model.kernel_.tunable(), "reg": model.reg_}
    if parameter not in known:
        raise ValueError(f"parameter={parameter!r} is not one of {', '.join(known)}.")
    if criterion not in ("reml", "ml", "loo", "gcv"):
        raise ValueError(f"criterion={criterion!r} must be 'reml', 'ml', 'loo' or 'gcv'.")
    at = known[parameter]
    values = at * np.geomspace(0.1, 10, 41) if values is None else np.asarray(values, dtype=float)
    found = [model.criteria({parameter: float(value)})[criterion] for value in values]
    (ax,) = new_axes(ax, 1)
    ax.plot(values, found, color=COLORS.blue)
    ax.plot([at], [model.criteria()[criterion]], "o", color=COLORS.red)
    ax.set_xscale("log")
    if criterion in ("loo", "gcv"):
        ax.set_yscale("log")
    ax.set_xlabel(parameter)
    ax.set_ylabel(criterion)
    return ax


def plot_leave_one_out(model: Any, y: Any, ax: Any = None, level: float = 0.95) -> Any:
    """y against its prediction from all other samples, with intervals.

    Parameters
    ----------
    model : fitted GRLSRegressor
    y : (m,) array
        The targets of the fit.
    ax : axes, optional
    level : float
    """
    loo, y = model.leave_one_out(), np.asarray(y, dtype=np.float64)
    if y.shape != loo.residual.shape:
        raise ValueError(
            f"y has shape {y.shape}, and the residuals {loo.residual.shape}: pass the y of the fit."
        )
    (ax,) = new_axes(ax, 1)
    f, half = y - loo.residual, student.ppf(0.5 + level / 2, model.df_resid_) * loo.std
    ax.errorbar(f, y, xerr=half, fmt="none", ecolor=COLORS.grey, alpha=0.4, linewidth=1)
    ax.plot(f, y, "o", color=COLORS.blue, markersize=4)
    ends = [min(f.min(), y.min()), max(f.max(), y.max())]
    ax.plot(ends, ends, color=COLORS.red, linewidth=1)
    ax.set_xlabel("prediction without the sample")
    ax.set_ylabel("y")
    return ax
