"""What a regressor has learned, with error bars: components, partial effects, a map.

Bands are pointwise: each point of the curve lies inside with the probability asked for.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

from kernelbook.features import is_frame, replaced, take_rows
from kernelbook.plotting.style import COLORS

__all__ = ["plot_components", "plot_map", "plot_partial"]

_POINTS = 200
_SPARSEST = 10
"""Places are a grid if at least one cell in so many is among them."""


def new_axes(axes: Any, count: int) -> list[Any]:
    """The axes given, as a list; by default those of a new figure."""
    if axes is None:
        import matplotlib.pyplot as plt

        columns = min(count, 3)
        rows = -(-count // columns)
        size = (3.2 * columns + 0.6, 2.7 * rows)
        _, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for spare in grid.ravel()[count:]:
            spare.set_axis_off()
        return list(grid.ravel()[:count])
    given = list(np.ravel(np.array(axes, dtype=object)))
    if len(given) < count:
        raise ValueError(f"axes: {count} are needed, one for each picture, and {len(given)} given.")
    return given[:count]


def plot_components(
    model: Any,
    X: Any,
    names: Sequence[str] | None = None,
    axes: Any = None,
    level: float = 0.95,
) -> list[Any]:
    """Each component of one or two columns: a curve with its band, levels, or a coloured map.

    Components are centred: measured from their mean over the sample.

    Parameters
    ----------
    model : fitted GRLSRegressor
    X : data frame or array
        Where they are drawn; the sample, usually.
    names : list of str, optional
        Which of `model.predict_components(X)`; by default all of one or two columns.
    axes : axes or list of axes, optional
    level : float
        Of the bands.
    """
    values, std = model.predict_components(X, return_std=True, centered=True)
    columns = _columns_of(model, X, values)
    if names is None:
        names = [name for name in values if len(columns[name]) in (1, 2)]
    for name in names:
        if name not in values:
            raise ValueError(f"names: {name!r} is no component; there are {', '.join(values)}.")
        if len(columns[name]) not in (1, 2):
            raise ValueError(
                f"names: {name!r} depends on {len(columns[name])} columns; components of one or "
                "two can be drawn."
            )
    axes = new_axes(axes, len(names))
    factor = student.ppf(0.5 + level / 2, model.df_resid_)
    for ax, name in zip(axes, names, strict=True):
        seen = [_column(X, k) for k in columns[name]]
        if len(seen) == 2:
            drawn = ax.scatter(*seen, c=values[name], s=14)
            ax.figure.colorbar(drawn, ax=ax, label=name)
            ax.set_ylabel(_name(X, columns[name][1]))
        else:
            _curve(ax, seen[0], values[name], factor * std[name])
            ax.set_ylabel(name)
        ax.set_xlabel(_name(X, columns[name][0]))
    return axes


def plot_partial(
    model: Any, X: Any, column: Any, ax: Any = None, level: float = 0.95, noise: bool = False
) -> Any:
    """f along one column, with its interval, the others at their medians (text: most frequent).

    Parameters
    ----------
    model : fitted GRLSRegressor
    X : data frame or array
        The sample: the range of the column, and the medians.
    column : int or str
    ax : axes, optional
    level : float
    noise : bool
        Whether the interval is that of a new observation.
    """
    k = _number(X, column)
    entries = np.asarray(_column(X, k), dtype=np.float64)
    grid = np.linspace(entries.min(), entries.max(), _POINTS)
    rows = replaced(_typical(X, _POINTS), k, grid)
    f, low, high = model.predict(rows, interval=level, noise=noise)
    (ax,) = new_axes(ax, 1)
    ax.fill_between(grid, low, high, color=COLORS.blue, alpha=0.25, linewidth=0)
    ax.plot(grid, f, color=COLORS.blue)
    ax.plot(entries, np.full(len(entries), 0.02), "|", color=COLORS.grey, transform=_rug(ax))
    ax.set_xlabel(_name(X, k))
    ax.set_ylabel("f")
    return ax


def plot_map(
    model: Any,
    X: Any,
    columns: Sequence[Any],
    axes: Any = None,
    points: int = 60,
    places: Any = None,
) -> list[Any]:
    """f and its standard deviation over two columns.

    Without `places`, on a grid over the range of both columns, the others held at their medians
    (text: at the most frequent entry): a slice through f.  Where other columns vary over the map,
    as the distance to a river does, pass the places, a row with all columns for each: f there.

    Parameters
    ----------
    model : fitted GRLSRegressor
    X : data frame or array
        The sample, which is drawn as dots.
    columns : two numbers or names
        The first runs to the right.
    axes : two axes, optional
    points : int
        Of the grid, along each column; without `places`.
    places : data frame or array, optional
        Rows as for `predict`.  Cells of a grid, which may have gaps, are drawn as cells, other
        places as dots.
    """
    numbers = [_number(X, column) for column in columns]
    a, b = (np.asarray(_column(X, j), dtype=np.float64) for j in numbers)
    if places is None:
        right, up = (np.linspace(v.min(), v.max(), points) for v in (a, b))
        rows = _typical(X, points * points)
        for k, entries in zip(numbers, np.meshgrid(right, up), strict=True):
            rows = replaced(rows, k, entries.ravel())
    else:
        rows = places
        right, up = (
            np.asarray(_column(rows, _number(rows, column)), dtype=np.float64) for column in columns
        )
    f, std = model.predict(rows, return_std=True)
    axes = new_axes(axes, 2)
    for ax, values, label in zip(axes, (f, std), ("f", "standard deviation of f"), strict=True):
        if places is None:
            values = values.reshape(points, points)
            drawn = ax.pcolormesh(right, up, values, shading="gouraud")
        else:
            drawn = _drawn_at(ax, right, up, values)
        ax.plot(a, b, ".", color="white", markeredgecolor=COLORS.grey, markersize=4)
        ax.figure.colorbar(drawn, ax=ax, label=label)
        ax.set_xlabel(_name(X, numbers[0]))
        ax.set_ylabel(_name(X, numbers[1]))
    return axes


def _drawn_at(ax, a, b, values):
    """Values at places: cells if these are part of a grid, otherwise dots."""
    right, column = np.unique(a, return_inverse=True)
    up, row = np.unique(b, return_inverse=True)
    cells = np.full((len(up), len(right)), np.nan)
    single = len(np.unique(row * len(right) + column)) == len(values)
    if min(cells.shape) < 2 or cells.size > _SPARSEST * len(values) or not single:
        return ax.scatter(a, b, c=values, s=14)
    cells[row, column] = values
    return ax.pcolormesh(right, up, np.ma.masked_invalid(cells), shading="nearest")


def _curve(ax, x, f, half):
    text = np.asarray(x).dtype.kind in "OUST"
    if text or len(np.unique(x)) < 8:
        levels, first = np.unique(np.asarray(x), return_index=True)
        at = np.arange(len(levels))
        ax.errorbar(at, f[first], half[first], fmt="o", color=COLORS.blue, capsize=3)
        ax.set_xticks(at, [f"{level}" for level in levels])
        return
    x = np.asarray(x, dtype=np.float64)
    order = np.argsort(x, kind="stable")
    low, high = (f - half)[order], (f + half)[order]
    ax.fill_between(x[order], low, high, color=COLORS.blue, alpha=0.25, linewidth=0)
    ax.plot(x[order], f[order], color=COLORS.blue)
    ax.plot(x, np.full(len(x), 0.02), "|", color=COLORS.grey, transform=_rug(ax))


def _rug(ax):
    """Data to the right, share of the axes upwards."""
    return ax.get_xaxis_transform()


def _columns_of(model, X, values):
    """On which columns of X each component depends: those whose reversal changes it."""
    found = {name: [] for name in values}
    plain = model.predict_components(X)
    for k in range(X.shape[1]):
        column = np.asarray(_column(X, k))
        moved = model.predict_components(replaced(X, k, np.roll(column, 1)))
        for name, value in plain.items():
            if name in found and np.abs(moved[name] - value).max() > 0:
                found[name].append(k)
    return found


def _typical(X, count):
    """`count` equal rows: the median of each column, of text the most frequent entry."""
    rows = take_rows(X, np.zeros(count, dtype=int))
    for k in range(X.shape[1]):
        column = np.asarray(_column(X, k))
        if column.dtype.kind in "OUST":
            levels, times = np.unique(column, return_counts=True)
            entry = levels[times.argmax()]
        else:
            entry = np.quantile(column, 0.5, method="nearest")
        rows = replaced(rows, k, np.full(count, entry))
    return rows


def _number(X, column):
    """The number of a column, given its number or its name."""
    names = list(map(str, X.columns)) if is_frame(X) else []
    k = names.index(column) if column in names else column
    if isinstance(k, str) or not 0 <= k < X.shape[1]:
        known = ", ".join(names) if names else f"0 to {X.shape[1] - 1}"
        raise ValueError(f"column={column!r} is no column of X; there are {known}.")
    return k


def _column(X, k):
    return np.asarray(X[X.columns[k]]) if is_frame(X) else np.asarray(X)[:, k]


def _name(X, k):
    return str(X.columns[k]) if is_frame(X) else f"x{k}"
