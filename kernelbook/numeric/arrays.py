"""Arrays as compiled code wants them: real, finite, float64, contiguous; or an error in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

__all__ = [
    "as_coefficients", "as_matrix", "as_rows", "dates_in", "described", "explained",
    "fingerprint", "is_collection", "is_frame",
]  # fmt: skip

_MANY = 12
"""Names of columns that are listed; more say nothing."""


def as_matrix(X: Any, name: str) -> Any:
    """X as rows of real, finite numbers: a C-contiguous, writeable float64 array, or CSR.

    Already suitable arrays are returned as they are.  (Numba compiles a second version of every
    function for read-only arrays: copying the few that come from memory maps is cheaper.)
    """
    if sparse.issparse(X):
        return _sparse_rows(X, name)
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


def _sparse_rows(X, name):
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


def as_rows(X: Any, Z: Any = None) -> tuple[Any, Any]:
    """X and Z as `as_matrix` has them, with the same columns; the same array twice without Z."""
    symmetric = Z is None or Z is X
    X = as_matrix(X, "X")
    if symmetric:
        return X, X
    Z = as_matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X and Z must have the same columns; X has {X.shape[1]} and Z has {Z.shape[1]}. "
            f"Pass rows with the same features."
        )
    return X, Z


def as_coefficients(c: Any, n: int) -> np.ndarray:
    """c as an (n, k) float64 array, a row for each of the n rows of Z."""
    c = _real_array(c, "c")
    if c.ndim not in (1, 2) or c.shape[0] != n:
        raise ValueError(
            f"c must have one entry, or one row, for each of the {n} rows of Z; got shape "
            f"{c.shape}."
        )
    c = np.ascontiguousarray(c[:, None] if c.ndim == 1 else c, dtype=np.float64)
    _finite(c, "c")
    return c


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, whose columns have names."""
    return hasattr(X, "iloc") or hasattr(X, "with_columns")


def dates_in(X: Any) -> Any:
    """The columns of X that hold dates, times or durations, in words; None where there are none."""
    if hasattr(X, "with_columns"):  # polars
        return [n for n, t in zip(X.columns, X.dtypes, strict=True) if t.is_temporal()] or None
    dtypes = list(X.dtypes) if hasattr(X, "iloc") else [getattr(X, "dtype", None)]
    dates = [i for i, dtype in enumerate(dtypes) if getattr(dtype, "kind", "") in ("m", "M")]
    if not dates:
        return None
    return [X.columns[i] for i in dates] if hasattr(X, "columns") else "all columns"


def fingerprint(X: Any, y: np.ndarray, sample_weight: np.ndarray) -> str:
    """A digest of a training sample, as validated.

    `kernelbook.verifier` computes it from the raw data by code of its own, as it does everything
    that it checks.
    """
    arrays = [X]
    if sparse.issparse(X):
        X = X.tocsr().sorted_indices()
        arrays = [X.data, X.indices, X.indptr]
    digest = sha256()
    for array in (*arrays, sample_weight, y.ravel()):
        numbers = array.dtype.kind in "biuf"
        array = array.astype(np.float64) + 0.0 if numbers else array.astype("U")  # no −0
        text = b"" if numbers else "\0".join(array).encode()
        digest.update(f"{array.shape}{array.dtype.kind}".encode() + text)
        if numbers:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or data frame, whose rows may be on many machines."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def described(value: Any) -> str:
    """A wrong argument in an error: tables by their size, anything else as it prints."""
    if is_frame(value) and len(np.shape(value)) == 2:
        rows, names = np.shape(value)[0], list(map(str, value.columns))
        more = f", … ({len(names)})" if len(names) > _MANY else ""
        return f"a frame of {rows} rows with the columns {', '.join(names[:_MANY])}{more}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"an array of {value.dtype}, shape {value.shape}"
    return f"{value!r:.60}"


@contextmanager
def explained(remedy: str, **arguments: Any) -> Iterator[None]:
    """scikit-learn's errors, with the name and the value of the arguments and what to do."""
    try:
        yield
    except (TypeError, ValueError) as error:
        given = ", ".join(f"{name} is {described(value)}" for name, value in arguments.items())
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}\n({given}: pass {remedy}.)") from error
