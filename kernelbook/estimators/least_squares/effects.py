"""Effects of a fitted regressor: components, tests, residuals, intervals, draws and the summary.

`kernelbook.inference` does the work; here are names, checks and shapes.
"""

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelbook.estimators._validation import check_flags
from kernelbook.features import feature_groups, feature_names
from kernelbook.inference import components as parts_of
from kernelbook.inference.functionals import draws, of_values
from kernelbook.inference.model import Model
from kernelbook.inference.needed import ComponentTest
from kernelbook.inference.residuals import LeaveOneOut
from kernelbook.inference.summary import Summary, summarize
from kernelbook.numeric.arrays import explained
from kernelbook.numeric.memory import room_for_gram

__all__ = ["Effects", "check_level"]


class Effects:
    """Mixed into a G-RLS regressor."""

    # ---------------------------------------------------------------------------------- names

    @property
    def coef_names_(self) -> list[str]:
        """A name for each entry of `coef_`, such as Intercept, year, district[T.3]."""
        check_is_fitted(self, "coef_")
        columns = getattr(self, "feature_names_in_", None)
        return feature_names(self.features_, np.shape(self.coef_)[-1], columns)

    def _components(self):
        if self._pairwise:
            raise ValueError(
                "kernel='precomputed' has no components: the summands of the matrix, and its "
                "columns, are not known.  Pass the kernel itself."
            )
        if not hasattr(self._solution.predictor, "centers"):
            raise ValueError(
                f"solver={self.solver_!r} does not know the components of f; fit with "
                "solver='cholesky', 'nullspace', 'cg' or 'nystrom'."
            )
        groups = feature_groups(self.features_, self.coef_names_)
        return parts_of.split(self.kernel_, groups, self._column_names())

    def _exact(self, what):
        """The posterior of a fit by an exact solver, or an error."""
        posterior = self._solution.posterior
        if not hasattr(posterior, "factored"):
            raise ValueError(
                f"{what} is not available for a learner fitted with solver={self.solver_!r}: it "
                "needs 'cholesky' or 'nullspace', on part of the sample if that is too large."
            )
        self._require_std()
        return posterior

    def _single(self, what):
        if np.ndim(self.scale_):
            count = np.size(self.scale_)
            given = f"a table with {count} column{'s' * (count > 1)}"
            remedy = "pass it as a vector, y.squeeze()" if count == 1 else "fit a learner for each"
            raise ValueError(f"{what} is for one output, and y was {given}: {remedy}.")

    def _kernel_in_words(self):
        if self._pairwise:
            return "precomputed"
        return repr(parts_of.named(self.kernel_, self._column_names()))

    def _column_names(self):
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(map(str, names))

    def _model(self, what):
        """The fit as `kernelbook.inference` sees it."""
        posterior, solution = self._exact(what), self._solution
        deviation = solution.deviation(self._observations)
        components = () if self._pairwise else self._components()
        return Model(posterior, solution.lam, deviation, self.df_resid_, components, self.tuning_)

    def _room_for_matrices(self, count):
        return room_for_gram(
            len(self._solution.c), count, "ask a learner that was fitted to part of the sample."
        )

    @property
    def df_resid_(self) -> float:
        """The degrees of freedom of `scale_` and of Student's t, W − rank P."""
        check_is_fitted(self, "coef_")
        return float(self._observations - self.rank_)

    def _deviations(self):
        return self._solution.deviation(self._observations).reshape(np.shape(self.scale_))

    # ----------------------------------------------------------------------------- components

    def predict_components(
        self, X: Any, return_std: bool = False, centered: bool = False
    ) -> dict[str, np.ndarray] | tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What each part of the model adds to f(X), by its name; the parts sum to `predict(X)`.

        The parts are the terms of a formula, or the features one by one, and the summands of the
        kernel.

        Parameters
        ----------
        X : (n, d) array or data frame
        return_std : bool
            Their standard deviations as well, as a second dictionary, kernel and reg as known.
        centered : bool
            Measure every part from its mean over the sample; the constant takes what is left.
            A level that two parts can exchange makes both uncertain; these standard deviations
            are those of shapes.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> f = GRLSRegressor(Gaussian(0.2), features="1 + x0").fit(X, 2 + 3 * X[:, 0])
        >>> {name: value.round(3) for name, value in f.predict_components([[0.5]]).items()}
        {'Intercept': array([2.]), 'x0': array([1.5]), 'Gaussian': array([0.])}
        """
        check_is_fitted(self, "coef_")
        check_flags(return_std=return_std, centered=centered)
        components = self._components()
        points = self._points(X)
        X, P = points.X, self._features_at(points.given)
        if centered or return_std:
            return self._components_as_functionals(components, X, P, return_std, centered)
        c, lam = self._solution.predictor.c, self._solution.lam
        values = {}
        for part in components:
            if part.kernel is None:
                f = P[:, list(part.columns)] @ lam[list(part.columns)]
            else:
                f = part.kernel.matvec(X, self._solution.predictor.original_centers, c)
            values[part.name] = f.reshape(len(P), *np.shape(self.scale_))
        return values

    def _components_as_functionals(self, components, X, P, return_std, centered):
        model = self._model("centered=True" if centered else "return_std")
        posterior, centers = model.posterior, model.centers
        if posterior.predictor.shift is not None:
            raise ValueError(
                "X is so far from the origin that the parts of a linear kernel lose their digits: "
                "center the columns (StandardScaler)."
            )
        if return_std and self.kernel_.cpd_order:
            raise ValueError(
                f"{self.kernel_!r} is only conditionally positive definite: what belongs to it and "
                "what to the polynomials is a convention, so a part has no standard deviation.  "
                "predict(X, return_std=True) has that of the sum."
            )
        if centered:
            shares = posterior.weights / posterior.weights.sum()
            found = parts_of.centered(components, X, centers, P, posterior.P, shares)
        else:
            found = {c.name: parts_of.plain(c, X, centers, P) for c in components}
        shape = len(P), *np.shape(self.scale_)
        values = {name: model.mean(L).reshape(shape) for name, L in found.items()}
        if not return_std:
            return values
        std = self._std_of(model, found.values()).reshape(len(found), *shape)
        return values, dict(zip(found, std, strict=True))

    def _std_of(self, model, functionals):
        std, warning = model.std(functionals)
        if warning is not None:
            warnings.warn(warning, UserWarning, stacklevel=4)
        return std

    # ------------------------------------------------------------------- intervals and draws

    def _interval(self, X, f, P, diag, level, noise):
        check_level("interval", level)
        std = self._std(X, P, diag)
        if noise:
            std = np.hypot(std, self._noise_deviation())
        half = student.ppf(0.5 + level / 2, self.df_resid_) * std
        return f, f - half, f + half

    def _noise_deviation(self):
        """The standard deviation of the noise of an observation of weight one."""
        reg = self.reg_
        return np.sqrt(reg * self._observations) * self._deviations()

    def _covariance(self, X, noise=False, what="return_cov"):
        """The joint posterior covariance of f at the rows of X, per unit of scale."""
        if self._pairwise:
            raise ValueError(
                f"{what} needs the kernel between new points, which kernel='precomputed' does not "
                "have: pass the kernel itself."
            )
        model = self._model(what)
        predictor, rows = model.posterior.predictor, self._points(X)
        points, P = predictor.from_origin(rows.X), self._features_at(rows.given)
        L = of_values(predictor.kernel, points, predictor.centers, P, joint=True)
        V = model.posterior.factored().covariance(L.prior, L.k, L.p)
        V = (V + V.T) / 2
        if noise:
            V[np.diag_indices(len(V))] += model.noise_variance
        return V

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = None, noise: bool = False
    ) -> np.ndarray:
        """Draws of f at the rows of X, jointly, from its posterior: (n, n_samples).

        The scale is drawn, too, from its own posterior: the values at one point have Student's t
        distribution with W − rank P degrees of freedom.  Kernel and reg are taken as known.

        Parameters
        ----------
        X : (n, d) array or data frame
        n_samples : int
        random_state : int, RandomState instance or None
        noise : bool
            Draw observations y in place of f.
        """
        check_is_fitted(self, "coef_")
        self._single("sample_y")
        check_flags(noise=noise)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} must be an integer ≥ 1.")
        with explained(
            "None, an integer from 0 to 2³² − 1, or a RandomState", random_state=random_state
        ):
            rng = check_random_state(random_state)
        X = self._points(X)
        mean, V = self._values(X), self._covariance(X, noise, "sample_y")
        free = self.df_resid_
        scale = self._deviations() * np.sqrt(free / rng.chisquare(free, size=(n_samples, 1)))
        return (mean + scale * draws(np.zeros(len(mean)), V, n_samples, rng)).T

    # --------------------------------------------------------------------- residuals and tests

    def leave_one_out(self) -> LeaveOneOut:
        """Residuals of each sample against the fit without it, plain and standardized.

        From one factorization; kernel and reg·W, the variance of the noise relative to the
        kernel, are held.  Rows of zero weight are left out of the answer.
        """
        check_is_fitted(self, "coef_")
        found, outputs = self._model("leave_one_out").leave_one_out(), np.shape(self.scale_)
        return LeaveOneOut(
            **{
                name: value if value.ndim == 1 else value.reshape(len(value), *outputs)
                for name, value in vars(found).items()
            }
        )

    def criteria(self, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
        """Values of "reml", "ml", "loo" and "gcv", with the free features of the fit.

        Parameters
        ----------
        parameters : dict of str to float, optional
            Other values, by the names of `kernel_.tunable()` and "reg"; by default those fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> f = GRLSRegressor(Gaussian(0.2)).fit(X, np.sin(9 * X[:, 0]))
        >>> f.criteria({"width": 0.5})["reml"] > f.criteria({"width": 0.02})["reml"]
        True
        """
        check_is_fitted(self, "coef_")
        self._components()  # refuses a precomputed matrix, which has no parameters
        parameters = {} if parameters is None else parameters
        known = ["reg", *self.kernel_.tunable()]
        good = isinstance(parameters, Mapping) and all(
            name in known and isinstance(value, Real) and 0 < value < np.inf
            for name, value in parameters.items()
        )
        if not good:
            raise ValueError(
                f"parameters={parameters!r:.80} must be a dict from some of {', '.join(known)} to "
                "positive numbers."
            )
        with self._room_for_matrices(4):
            return self._model("criteria").criteria(parameters)

    def test_component(self, name: str) -> ComponentTest:
        """Whether a component is needed: `name` is one of those of `predict_components`.

        For free features the F test; for a summand of the kernel the score test.  Both are exact
        if the rest of the model is known.  After `tune` they do not count the choice, as the t of
        `summary()` does, and a width that was chosen on the same y tends to make the p-value of
        its kernel too small (`kernelbook.inference.needed`).

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> y = np.sin(9 * X[:, 0]) + 0.1 * np.cos(np.arange(50.0) ** 2)
        >>> f = GRLSRegressor(Gaussian(0.2), features="1 + x0").fit(X, y)
        >>> bool(f.test_component("Gaussian").pvalue < 1e-6)
        True
        """
        check_is_fitted(self, "coef_")
        self._single("test_component")
        known = {component.name: component for component in self._components()}
        if not isinstance(name, str) or name not in known:
            raise ValueError(f"name={name!r} is no component; use one of {', '.join(known)}.")
        with self._room_for_matrices(4):
            return self._model("test_component").test(known[name])

    # --------------------------------------------------------------------------------- summary

    def summary(self, level: float = 0.95) -> Summary:
        """The table of a fit: coefficients with standard errors, and what the kernel does.

        Parameters
        ----------
        level : float
            Of the intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelbook import GRLSRegressor, Gaussian
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> y = 2 + 3 * X[:, 0] + 0.1 * np.cos(np.arange(30.0) ** 2)
        >>> table = GRLSRegressor(Gaussian(0.2), features="1 + x0").fit(X, y).summary()
        >>> table.coefficients.names
        ('Intercept', 'x0')
        """
        check_is_fitted(self, "coef_")
        check_level("level", level)
        self._single("summary")
        names = self.coef_names_
        facts = [
            ("Observations", f"{self._observations:g}"),
            ("Free features", f"{len(names)}, of rank {self.rank_}"),
            ("Kernel", self._kernel_in_words()),
            ("reg", f"{self.reg_:.4g}"),
        ]
        return summarize(self._model("summary"), names, facts, level)


def check_level(name: str, value: Any) -> None:
    """A probability strictly between 0 and 1, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1; pass 0.95 for 95 %.")
