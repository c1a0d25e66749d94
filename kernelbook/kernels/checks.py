"""Which parameters kernels refuse, in words: an error names the argument, its value, the remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np

_TINY = np.finfo(float).tiny


def _number(name, value, kind=Real, word="a number"):
    if not isinstance(value, kind) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be {word}; got {value!r} of type {type(value).__name__}.")


def positive(name: str, value: Any) -> None:
    """A rule for widths and exponents: a positive number that is not too small to divide by."""
    _number(name, value)
    if not _TINY <= value < np.inf:
        raise ValueError(f"{name} must be positive and finite; got {value!r}. Choose {name} > 0.")


def widths(name: str, value: Any) -> None:
    """A rule for what may differ between columns: a positive number, or a tuple of them."""
    if not isinstance(value, tuple):
        positive(name, value)
        return
    if not value:
        raise ValueError(f"{name}=[] has no entries; pass one number, or one for each column.")
    for k, entry in enumerate(value):
        positive(f"{name}[{k}]", entry)


def one_for_each_column(name: str, value: Any, count: int, kernel: Any) -> np.ndarray | float:
    """A number, or an array with an entry for each of `count` columns."""
    if not isinstance(value, tuple):
        return float(value)
    if len(value) != count:
        raise ValueError(
            f"{name} has {len(value)} entries in {kernel!r}, which sees {count} columns: pass one "
            f"number for all columns, or one for each."
        )
    return np.array(value, dtype=np.float64)


def non_negative(name: str, value: Any) -> None:
    """A rule for offsets and factors."""
    _number(name, value)
    if not 0 <= value < np.inf:
        raise ValueError(
            f"{name} must be finite and not negative; got {value!r}. A negative {name} would not "
            f"give a positive definite kernel: choose {name} >= 0."
        )


def positive_integer(name: str, value: Any) -> None:
    """A rule for degrees."""
    _number(name, value, Integral, "an integer")
    if not 1 <= value <= 1000:
        raise ValueError(f"{name} must be 1, 2, 3, … or up to 1000; got {value!r}.")


def order(name: str, value: Any) -> None:
    """A rule for orders of conditional positive definiteness."""
    _number(name, value, Integral, "an integer")
    if value < 0:
        raise ValueError(f"{name} must not be negative; got {value!r}. Positive definite is 0.")


def check_callable(name: str, value: Any) -> None:
    if not callable(value):
        raise TypeError(f"{name}={value!r:.60} must be a function.")
