"""Kernels of some columns of a table: `columns=[0, 1]`, or by name.

A kernel on some columns is a kernel on the rows: K(x, z) = k(πx, πz) with π the projection to those
columns, and cᵀKc ≥ 0 for k at the points πx_i.  It is not *strictly* definite, because two rows may
agree in the columns that it sees.  A conditionally positive definite k of order q needs the
polynomials of degree less than q in those columns only, and a sum needs the union of what its terms
need (`Kernel.required_polynomials`).

Sums over columns are the models of functional ANOVA: K₁(x₁, z₁) + K₂(x₂, z₂) has the functions
f₁(x₁) + f₂(x₂), and the product K₁K₂ adds their interaction.

Names belong to a table, numbers to a matrix.  A learner that is fitted to a data frame looks the
names up once, and keeps the copy that `bound` returns, whose columns are numbers.
"""

from numbers import Integral
from typing import Any

import numpy as np

__all__ = ["as_tuple", "check_columns", "frozen", "numbered", "selected"]


def frozen(value: Any) -> Any:
    """Lists and vectors as tuples: a kernel is a value, and must not change with the caller's list.

    >>> frozen([1.0, 2.0]), frozen(3)
    ((1.0, 2.0), 3)
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    return tuple(value) if isinstance(value, list) else value


def as_tuple(columns: Any) -> tuple[Any, ...]:
    """One column or several, as several."""
    return columns if isinstance(columns, tuple) else (columns,)


def check_columns(name: str, value: Any) -> None:
    """A rule for `columns`: None, a number, a name, or several of them."""
    if value is None:
        return
    for column in as_tuple(value):
        whole = isinstance(column, Integral) and not isinstance(column, bool | np.bool_)
        if not (isinstance(column, str) or (whole and column >= 0)):
            raise TypeError(
                f"{name} must be None for all columns, the number of a column (from 0), its name "
                f"in a data frame, or a list of those; got {column!r} in {name}={value!r}."
            )
    if not as_tuple(value):
        raise ValueError(f"{name}=[] selects no column; use {name}=None for all of them.")
    if len(set(as_tuple(value))) < len(as_tuple(value)):
        raise ValueError(f"{name}={value!r} names a column twice; name each column once.")


def numbered(kernel: Any, names: list[str] | None) -> Any:
    """`kernel.columns` as numbers, by the column names of a data frame; a matrix has none."""
    numbers = tuple(_number(kernel, column, names) for column in as_tuple(kernel.columns))
    return numbers if isinstance(kernel.columns, tuple) else numbers[0]


def _number(kernel, column, names):
    if not isinstance(column, str):
        return column
    if names is None:
        raise ValueError(
            f"{kernel!r} names the column {column!r}, and X is a matrix, whose columns have no "
            f"names: pass a data frame, or number the columns from 0.  Behind a scaler or another "
            f"transformer, set_output(transform='pandas') keeps the names."
        )
    if column not in names:
        raise ValueError(
            f"{kernel!r} names the column {column!r}, which X does not have; its columns are "
            f"{', '.join(names)}."
        )
    return names.index(column)


def selected(kernel: Any, X: Any) -> Any:
    """`kernel.columns` of X."""
    numbers = as_tuple(numbered(kernel, None))
    if max(numbers) >= X.shape[1]:
        raise ValueError(
            f"{kernel!r} sees column {max(numbers)}, counted from 0, and X has {X.shape[1]} "
            f"columns: the largest number is {X.shape[1] - 1}."
        )
    part = X[:, list(numbers)]
    return part if hasattr(part, "tocsr") else np.ascontiguousarray(part)
