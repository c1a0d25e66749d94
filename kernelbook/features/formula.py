"""Features as statisticians write them: `Formula("1 + sqrt(dist) + C(soil)")`.

The notation is Wilkinson's, read by `formulaic`: terms are joined by +, interactions are written
a:b or a*b, `C(soil)` has a column for each level but the first, `bs(x, df=5)` is a B-spline,
`poly(x, 2)` an orthogonal polynomial, `- 1` leaves out the constant, which is there otherwise.
What a term needs to know of the data (levels, knots, means) is learned in `fit` and kept.

A formula is Python code: do not evaluate one that a stranger wrote.
"""

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelbook.features.tables import refuse_missing, take_rows
from kernelbook.numeric.arrays import explained

__all__ = ["Formula"]

_NAMES = "abs arctan cos exp expm1 log log10 log1p log2 maximum minimum sign sin sqrt tan tanh"
_FUNCTIONS = {name: getattr(np, name) for name in _NAMES.split()}
_HABITS = {  # of mgcv and R, and what to write here
    r"name '(s|te|ti|t2)' is not defined": "a smooth of mgcv, s(x), is a kernel here, "
    "kernel=Matern(columns='x'), s(x) + s(z) a sum of kernels, te(x, z) a product; without a "
    "penalty a smooth is bs(x, df=5).",
    r"The `\.` operator": "'.' does not stand for all columns here: name them.",
}
_NUMBER = re.compile(r"\bx\d+\b")  # what the columns of an array are called
_NAMELESS = (
    ", since X came without names (behind a scaler or another transformer, "
    "set_output(transform='pandas') keeps them)"
)


class Formula(TransformerMixin, BaseEstimator):
    """The columns of a model matrix as unpenalized features.

    Parameters
    ----------
    formula : str
        The right-hand side, as in `"1 + sqrt(dist) + C(soil)"`.  Names are those of the columns of
        a data frame.  The columns of an array are called x0, x1, …, and so are those of a frame
        that has no such names of its own.
    functions : dict of str to callable, optional
        Functions that the formula may call beside NumPy's elementary ones (`sqrt`, `log`, `sin`,
        …; anything else as `np.hypot`) and formulaic's (`C`, `bs`, `cr`, `poly`, `scale`, …).

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelbook import Formula
    >>> table = pd.DataFrame({"dist": [0.0, 1.0, 4.0], "soil": ["clay", "sand", "clay"]})
    >>> features = Formula("1 + sqrt(dist) + C(soil)").fit(table)
    >>> features.get_feature_names_out().tolist()
    ['Intercept', 'sqrt(dist)', 'C(soil)[T.sand]']
    >>> features.transform(table)
    array([[1., 0., 0.],
           [1., 1., 1.],
           [1., 2., 0.]])
    """

    def __init__(
        self, formula: str, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.formula = formula
        self.functions = functions

    def fit(self, X: Any, y: Any = None) -> Self:
        self._check_parameters()
        table = self._table(X, reset=True)
        with self._explained(table):
            matrix = (
                _formulaic()
                .Formula(self.formula)
                .get_model_matrix(table, na_action="raise", context=self._context())
            )
        self.spec_, self.frame_ = matrix.model_spec, _library(table)
        if not len(self.spec_.column_names):
            raise ValueError(f"formula={self.formula!r} has no term; pass features=None for none.")
        self._refuse_batches(table, np.asarray(matrix, dtype=np.float64))
        return self

    def _refuse_batches(self, table, P):
        """A term that takes its mean, say, from the rows it gets is another function elsewhere."""
        size, differs = np.abs(P).max(axis=0, initial=0.0), np.zeros(P.shape[1], dtype=bool)
        for rows in (slice(0, None, 2), slice(1, None, 2)):
            part = take_rows(table, rows)
            if not len(part):
                continue
            with self._explained(part), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                half = self.spec_.get_model_matrix(
                    part, na_action="ignore", context=self._context()
                )
            half = np.asarray(half, dtype=np.float64)
            equal = np.isclose(half, P[rows], rtol=1e-9, atol=1e-12 * size, equal_nan=True)
            differs |= ~equal.all(axis=0)
        if differs.any():
            term = self.spec_.column_names[int(differs.argmax())]
            raise ValueError(
                f"features={self.formula!r}: {term!r} at a row depends on the other rows that "
                "come with it, so f would be another function for each set of new rows.  Use what "
                "remembers the sample, center(x), scale(x), poly(x, 2) or bs(x, df=5), or compute "
                "the column before the fit."
            )

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        table = self._as_in_fit(self._table(X, reset=False))
        self._refuse_unseen(table)
        with self._explained(table):
            matrix = self.spec_.get_model_matrix(table, na_action="ignore", context=self._context())
        return np.asarray(matrix, dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.spec_.column_names, dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "spec_")

    def _check_parameters(self):
        if not isinstance(self.formula, str) or not self.formula.strip():
            raise ValueError(f"formula={self.formula!r} must be text such as '1 + x + C(group)'.")
        if "~" in self.formula:
            right = self.formula.split("~", 1)[1].strip()
            raise ValueError(
                f"formula={self.formula!r} has a left-hand side: write {right!r}, and pass y to "
                "fit."
            )
        if "|" in self.formula:
            raise ValueError(
                f"formula={self.formula!r} has parts separated by '|': for effects that vary by "
                "group, penalized, use the kernel Categorical(columns=…); for unpenalized ones, "
                "C(group):x."
            )
        given = self.functions
        if given is not None and not (
            isinstance(given, Mapping) and all(map(callable, given.values()))
        ):
            raise TypeError(
                f"functions={given!r:.60} must be None or a dict from names to functions, "
                "such as {'hat': lambda x: abs(5 - x)}."
            )

    def _context(self):
        return {**_FUNCTIONS, **(self.functions or {})}

    def _table(self, X, reset):
        """X as a data frame that formulaic reads; the columns of an array are x0, x1, …"""
        with explained("a table, one sample a row", X=X):
            if not hasattr(X, "columns") and (np.ndim(X) != 2 or np.iscomplexobj(X)):
                raise ValueError(f"features={self.formula!r} needs a table of numbers or text.")
            validate_data(self, X, reset=reset, skip_check_array=True)
        if hasattr(X, "columns"):
            return self._numbered(_plain(X))
        import pandas as pd

        X = np.asarray(X)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])

    def _numbered(self, frame):
        """The frame, its columns also as x0, x1, …, where the formula names them so."""
        names = list(map(str, frame.columns))
        if any(map(_NUMBER.fullmatch, names)):
            return frame  # whose x1 may be any column: names are names
        for number in sorted(set(_NUMBER.findall(self.formula))):
            if (k := int(number[1:])) < len(names):
                whole = hasattr(frame, "iloc")
                entries = frame.iloc[:, k] if whole else frame[frame.columns[k]]
                frame = frame.assign if whole else frame.with_columns
                frame = frame(**{number: entries})
        return frame

    def _as_in_fit(self, table):
        """A polars frame after a pandas one, or the other way round, as formulaic needs it."""
        if _library(table) == self.frame_:
            return table
        columns = {str(name): np.asarray(table[name]) for name in table.columns}
        texts = {name: v.tolist() for name, v in columns.items() if v.dtype.kind in "OUST"}
        return import_module(self.frame_).DataFrame(columns | texts)

    @contextmanager
    def _explained(self, table):
        """formulaic's errors, with the columns that there are."""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):  # what is NaN is refused
                warnings.simplefilter("ignore", DeprecationWarning)  # formulaic's own
                yield
        except Exception as error:
            said = re.sub(r"\x1b\[[0-9;]*m|[\u29da\u29db]", "", str(error)).split("\n")[0]
            names = list(map(str, table.columns))
            lost = "" if hasattr(self, "feature_names_in_") else _NAMELESS
            for habit, here in _HABITS.items():
                if re.search(habit, said):
                    said = here
            raise ValueError(
                f"features={self.formula!r} cannot be evaluated: {said}  The columns are "
                f"{', '.join(names)}{lost}; functions beside NumPy's elementary ones "
                "go into functions={name: function}; 'constant' is the constant alone."
            ) from error

    def _refuse_unseen(self, table):
        """A level that fit has not seen has no coefficient: an error that names it."""
        for factor, (_, state) in self.spec_.encoder_state.items():
            if "categories" not in state:
                continue
            known = set(state["categories"])
            names = {node.id for node in ast.walk(ast.parse(factor)) if isinstance(node, ast.Name)}
            for column in names.intersection(map(str, table.columns)):
                refuse_missing(table, column)
                unseen = sorted(set(np.unique(np.asarray(table[column]))) - known, key=str)
                if unseen:
                    raise ValueError(
                        f"column {column!r} has the level {unseen[0]!r}, which fit has not seen: "
                        f"{self.formula!r} has no coefficient for it, only for "
                        f"{', '.join(map(repr, state['categories']))}.  Drop these rows, or let "
                        f"the kernel take the levels: Categorical(columns={column!r})."
                    )


def _plain(frame):
    """The frame, its columns of numbers that are called objects as what they are.

    Rows that were taken apart and put together have them, and so have decimals of a data base;
    formulaic would take every number for a level.
    """
    if not hasattr(frame, "iloc"):
        return frame
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        numbers = (isinstance(v, Real | Decimal) and not isinstance(v, bool) for v in frame[name])
        if dtype.kind == "O" and all(numbers):
            frame = frame.assign(**{str(name): frame[name].astype(float)})
    return frame


def _library(table):
    """pandas or polars."""
    return type(table).__module__.partition(".")[0]


def _formulaic():
    try:
        import formulaic
    except ImportError as missing:
        raise ImportError(
            "features given as a formula need the package formulaic: "
            "pip install 'kernelbook[tables]'."
        ) from missing
    return formulaic
