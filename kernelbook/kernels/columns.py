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

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np

__all__ = ["OnColumns", "check_columns", "frozen"]


def frozen(value: Any) -> Any:
    """Lists and vectors as tuples: a kernel is a value, and must not change with the caller's list.

    >>> frozen([1.0, 2.0]), frozen(3)
    ((1.0, 2.0), 3)
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    return tuple(value) if isinstance(value, list) else value


def as_tuple(columns: Any) -> tuple[Any, ...]:
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


class OnColumns:
    """What a kernel does with its parameter `columns`; combinations of kernels have none."""

    columns: Any = None

    def bound(self, names: Sequence[str] | None) -> Self:
        """A copy whose columns are numbers.

        Parameters
        ----------
        names : sequence of str, or None
            The column names of a data frame, in order; None for a matrix, which has none.

        Examples
        --------
        >>> from kernelbook import Matern
        >>> Matern(300.0, columns=["x", "y"]).bound(["dist", "x", "y"])
        Matern(width=300.0, nu=1.5, columns=(1, 2))
        """
        kernel = self.copy()  # type: ignore[attr-defined]
        kernel._bind(None if names is None else [str(name) for name in names])
        return kernel

    def _bind(self, names):
        for name in self._names():
            inner = getattr(self, name)
            if isinstance(inner, OnColumns):
                inner._bind(names)
        if self.columns is not None:
            one = not isinstance(self.columns, tuple)
            numbers = tuple(self._number(column, names) for column in as_tuple(self.columns))
            self.columns = numbers[0] if one else numbers

    def _number(self, column, names):
        if not isinstance(column, str):
            return column
        if names is None:
            raise ValueError(
                f"{self!r} names the column {column!r}, and X is a matrix, whose columns have no "
                f"names: pass a data frame, or number the columns from 0."
            )
        if column not in names:
            raise ValueError(
                f"{self!r} names the column {column!r}, which X does not have; its columns are "
                f"{', '.join(names)}."
            )
        return names.index(column)

    def _selected(self, X):
        """The columns of X that this kernel sees; X itself where it sees all."""
        if self.columns is None:
            return X
        numbers = [self._number(column, None) for column in as_tuple(self.columns)]
        if max(numbers) >= X.shape[1]:
            raise ValueError(
                f"{self!r} sees column {max(numbers)}, counted from 0, and X has {X.shape[1]} "
                f"columns: the largest number is {X.shape[1] - 1}."
            )
        part = X[:, numbers]
        return part if hasattr(part, "tocsr") else np.ascontiguousarray(part)

    def _coordinates(self, X):
        """What `_fill` and `_diag` are given for the selected columns X."""
        return X

    def _seen(self, X):
        return self._coordinates(self._selected(X))

    def _both_seen(self, X, Z):
        """The same of X and Z; one array where both are one."""
        seen = self._seen(X)
        return (seen, seen) if X is Z else (seen, self._seen(Z))

    def required_polynomials(self) -> list[tuple[int, Any]]:
        """(degree, columns) of the polynomials that must be free beside this kernel.

        Nothing for kernels of order 0; one pair for each other term of a sum.  Columns are numbers,
        or None for all.
        """
        order = self.cpd_order  # type: ignore[attr-defined]
        return [(order - 1, self.columns)] if order else []
