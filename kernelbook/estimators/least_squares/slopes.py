"""Derivatives of a fitted f, and their averages: `kernelbook.inference.derivatives` with names."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelbook.estimators._validation import check_flags
from kernelbook.estimators.least_squares.effects import Effects, check_level
from kernelbook.features import feature_slopes, replaced, take_rows
from kernelbook.inference import derivatives
from kernelbook.inference.table import Estimates

__all__ = ["EffectsAndSlopes"]


class EffectsAndSlopes(Effects):
    """Mixed into a G-RLS regressor."""

    def predict_gradient(
        self, X: Any, columns: Any = None, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """∂f/∂x_k at the rows of X, (n, number of columns).

        That of the kernel part is exact.  Features are differentiated by differences of order
        eight, to rounding for polynomials.  Where the kernel's process has no derivative
        (`Laplacian`), the standard deviation is infinite.

        Parameters
        ----------
        X : (n, d) array or data frame
        columns : list of numbers or names, optional
            With respect to which columns; by default all.
        return_std : bool
            Their standard deviations as well.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> f = GRLSRegressor(Gaussian(0.2), features="1 + x0").fit(X, 2 + 3 * X[:, 0])
        >>> f.predict_gradient([[0.5]]).round(6)
        array([[3.]])
        """
        check_flags(return_std=return_std)
        found = self._slopes(X, columns, "predict_gradient")[1]
        c, lam = self._solution.predictor.c, self._solution.lam
        values = np.column_stack([L.mean(c, lam)[:, 0] for L in found])
        if not return_std:
            return values
        std = self._std_of(self._model("return_std"), found)
        return values, std.reshape(len(found), -1).T

    def marginal_effects(self, X: Any, columns: Any = None, level: float = 0.95) -> Estimates:
        """The average of ∂f/∂x_k over the rows of X, with its standard error, t, p and interval.

        Parameters
        ----------
        X : (n, d) array or data frame
        columns : list of numbers or names, optional
            With respect to which columns; by default all.
        level : float
            Of the interval.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> y = X[:, 0] ** 2 + 0.1 * np.cos(40 * X[:, 0])
        >>> GRLSRegressor(Gaussian(0.5), reg=1e-3).fit(X, y).marginal_effects(X).estimate.round(1)
        array([1.])
        """
        check_level("level", level)
        model = self._model("marginal_effects")
        rows, found, numbers = self._slopes(X, columns, "marginal_effects")
        predictor, shares = self._solution.predictor, np.full(len(rows), 1 / len(rows))
        points = predictor.from_origin(rows)
        means = [
            derivatives.average_slope(predictor.kernel, k, points, shares, L)
            for k, L in zip(numbers, found, strict=True)
        ]
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(rows.shape[1])])
        return Estimates(
            tuple(str(names[k]) for k in numbers),
            np.array([model.mean(L)[0, 0] for L in means]),
            self._std_of(model, means)[:, 0],
            np.full(len(means), self.df_resid_),
            level,
            "dy/dx",
        )

    def _slopes(self, X, columns, what):
        """The checked rows, a functional for each column that is asked for, and their numbers."""
        check_is_fitted(self, "coef_")
        self._single(what)
        self._components()  # refuses what has no kernel to differentiate
        numbers, points = self._column_numbers(columns, self.n_features_in_), self._points(X)
        self._refuse_levels(numbers, what)
        X, given, found = points.X, points.given, []
        predictor = self._solution.predictor
        points = predictor.from_origin(X)
        for k in numbers:
            slopes = feature_slopes(self._features_along(given, X, k, what), X[:, k])
            if not np.isfinite(slopes).all():
                row = int(np.flatnonzero(~np.isfinite(slopes).all(axis=1))[0])
                raise ValueError(
                    f"{what}: the features have no derivative in column {k} at row {row} of X, "
                    f"where it is {X[row, k]:g}."
                )
            found.append(
                derivatives.of_slopes(predictor.kernel, k, points, predictor.centers, slopes)
            )
        return X, found, numbers

    def _refuse_levels(self, numbers, what):
        """An error where a derivative is asked for along a column of text."""
        if texts := [k for k in numbers if k in self.levels_]:
            raise ValueError(self._no_derivative(texts, what))

    def _no_derivative(self, numbers, what):
        names = self._column_names() or range(self.n_features_in_)
        without = {*numbers, *self.levels_}
        rest = [name for k, name in enumerate(names) if k not in without]
        listed = ", ".join(f"{names[k]!r}" for k in numbers)
        return f"{what}: column {listed} has levels, and no derivative; pass columns={rest}."

    def _features_along(self, given, X, k, what):
        """The function from entries of column k to the feature matrix; NaN where undefined."""

        def evaluate(entries):
            try:
                return self._features_at(replaced(given, k, entries))
            except ValueError as error:
                if np.array_equal(entries, X[:, k]):
                    raise
                if "has the level" in str(error):
                    raise ValueError(self._no_derivative([k], what)) from error
                return self._features_row_by_row(given, k, entries)

        return evaluate

    def _features_row_by_row(self, given, k, entries):
        moved, P = replaced(given, k, entries), np.full((len(entries), self._n_free), np.nan)
        for i in range(len(entries)):
            try:
                P[i] = self._features_at(take_rows(moved, slice(i, i + 1)))[0]
            except ValueError:
                continue
        return P

    def _column_numbers(self, columns, d):
        if columns is None:
            return list(range(d))
        several = np.iterable(columns) and not isinstance(columns, str)
        wanted = list(columns) if several else [columns]
        names = list(map(str, getattr(self, "feature_names_in_", [])))
        known = ", ".join(names) if names else f"0 to {d - 1}"
        if not wanted:
            raise ValueError(f"columns={columns!r} selects none; choose from {known}.")
        numbers = []
        for column in wanted:
            k = names.index(column) if isinstance(column, str) and column in names else column
            if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 <= k < d:
                raise ValueError(
                    f"columns={columns!r}: X has no column {column!r}; choose from {known}."
                )
            numbers.append(int(k))
        return numbers
