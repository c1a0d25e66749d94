"""Leave-one-out residuals: are they what the model says they are?"""

from typing import Any

import numpy as np
from scipy.stats import t as student

from kernelbook.plotting.effects import new_axes
from kernelbook.plotting.style import COLORS

__all__ = ["plot_leave_one_out", "plot_residuals"]


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
