"""Estimates with their standard errors, as a table: t, p, interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import t as student

__all__ = ["Estimates", "framed"]


@dataclass(frozen=True)
class Estimates:
    """Named estimates; prints as a table.

    Attributes
    ----------
    names : tuple of str
    estimate, std : arrays
    df : array
        Degrees of freedom of Student's t; infinite for the normal distribution.
    level : float
        Of the interval.
    head : str
        What the column of estimates is called.
    """

    names: tuple[str, ...]
    estimate: np.ndarray
    std: np.ndarray
    df: np.ndarray
    level: float = 0.95
    head: str = "coef"

    @property
    def t(self) -> np.ndarray:
        """Estimates in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.estimate / self.std

    @property
    def pvalue(self) -> np.ndarray:
        """Two-sided, each for itself: P(|t| at least as large) if the truth is 0."""
        return 2 * student.sf(np.abs(self.t), self.df)

    @property
    def interval(self) -> np.ndarray:
        """Lower and upper ends, an (n, 2) array; each interval has the level for itself."""
        half = student.ppf(0.5 + self.level / 2, self.df) * self.std
        return np.column_stack([self.estimate - half, self.estimate + half])

    def to_frame(self) -> Any:
        """The numbers of the table as a pandas data frame, a row for each name.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook.inference.table import Estimates
        >>> one, df = np.array([2.0]), np.array([np.inf])
        >>> Estimates(("x",), one, one, df).to_frame().columns.tolist()
        ['coef', 'std err', 't', 'P>|t|', '[0.025', '0.975]', 'df']
        """
        numbers = [self.estimate, self.std, self.t, self.pvalue, *self.interval.T, self.df]
        names = [*self.rows()[0][1:], "df"]
        frame = import_module("pandas").DataFrame
        return frame(dict(zip(names, numbers, strict=True)), index=list(self.names))

    def rows(self) -> list[list[str]]:
        """The table as text, its head first."""
        alpha = (1 - self.level) / 2
        head = ["", self.head, "std err", "t", "P>|t|", f"[{alpha:.3g}", f"{1 - alpha:.3g}]"]
        columns = zip(
            self.names, self.estimate, self.std, self.t, self.pvalue, self.interval, strict=True
        )
        return [head] + [
            [name, number(e), number(s), fixed(t, 3), fixed(p, 3), number(low), number(high)]
            for name, e, s, t, p, (low, high) in columns
        ]

    def __str__(self):
        return "\n".join(framed(self.rows()))


def number(x: float) -> str:
    """Four decimals where that says enough, otherwise four digits."""
    if not np.isfinite(x):
        return "" if np.isnan(x) else f"{x:g}"
    return f"{x:.4f}" if x == 0 or 1e-2 <= abs(x) < 1e5 else f"{x:.3e}"


def fixed(x: float, decimals: int) -> str:
    return "" if np.isnan(x) else f"{x:.{decimals}f}"


def framed(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, names to the left and numbers to the right, a rule under the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return [lines[0].rstrip(), "-" * len(lines[0]), *(line.rstrip() for line in lines[1:])]
