"""What kernels refuse, in words: every error names the argument, its value and the remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

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


def rows(X: Any, name: str, kernel: Any) -> Any:
    """X as rows for `kernel`: a C-contiguous, writeable float64 array, or a CSR matrix.

    Already suitable arrays are returned as they are.  (Numba compiles a second version of every
    function for read-only arrays: copying the few that come from memory maps is cheaper.)
    """
    if sparse.issparse(X):
        return _sparse_rows(X, name, kernel)
    X = _real_array(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a 2-D array, one sample a row; got shape {X.shape}. "
            f"Use {name}.reshape(-1, 1) for one feature, {name}.reshape(1, -1) for one sample."
        )
    if X.shape[1] == 0:
        raise ValueError(f"{name} has no columns (shape {X.shape}); a sample needs a feature.")
    X = np.require(X, np.float64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])
    _finite(X, name)
    return X


def _real_array(X, name):
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries; fill them, or drop those rows, first.")
    try:
        X = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name} must be a 2-D array with rows of equal length: {error}") from None
    if X.dtype.kind == "O" and all(isinstance(v, Real) for v in X.flat):
        X = X.astype(np.float64)
    if X.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold real numbers; got dtype {X.dtype}. Encode categories and "
            f"missing values as numbers first."
        )
    return X


def _sparse_rows(X, name, kernel):
    if not kernel.accepts_sparse:
        raise TypeError(
            f"{type(kernel).__name__} needs dense rows, and {name} is a sparse "
            f"{type(X).__name__} of shape {X.shape}. Pass {name}.toarray(), or use the kernels "
            f"Linear or Polynomial, which take sparse rows."
        )
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"{name} must be 2-D with at least one column; got shape {X.shape}. "
            f"Reshape {name} to one sample a row."
        )
    if X.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got dtype {X.dtype}.")
    X = X.tocsr().astype(np.float64, copy=False)
    _finite(X.data, name)
    return X


def _finite(values, name):
    if values.size and not np.isfinite(max(values.max(), -values.min())):
        bad = values[~np.isfinite(values)]
        raise ValueError(
            f"{name} has {bad.size} entries that are NaN or infinite (the first is {bad[0]}); "
            f"drop those rows, or impute them (sklearn.impute)."
        )


def same_columns(X: np.ndarray, Z: np.ndarray) -> None:
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X and Z must have the same columns; X has {X.shape[1]} and Z has {Z.shape[1]}. "
            f"Pass rows with the same features."
        )


def coefficients(c: Any, n: int) -> np.ndarray:
    """c as an (n, k) float64 array."""
    c = _real_array(c, "c")
    if c.ndim not in (1, 2) or c.shape[0] != n:
        raise ValueError(
            f"c must have one entry, or one row, for each of the {n} rows of Z; got shape "
            f"{c.shape}."
        )
    c = np.ascontiguousarray(c[:, None] if c.ndim == 1 else c, dtype=np.float64)
    _finite(c, "c")
    return c
