"""An effect and its interval, when everything else may be nonlinear.

The **partially linear model** y = xᵀλ + g(z) + noise: λ are the effects asked for, g is smooth and
of no interest.  G-RLS with the free features (1, x) and a kernel in z estimates λ by generalized
least squares, and `coef_cov_` is its covariance (T8).  Kernel and reg come from the restricted
likelihood, and an interval is λ ± t·√coef_cov_ with m − rank P degrees of freedom.

Beside it: least squares on (1, x, z), which takes g for linear; the same with a ridge; least
squares on (1, x) alone; and the same kernel with x *appended*, standardized and with the weight κ,
so that its coefficient is drawn towards zero.

`simulate` knows the truth: x is confounded with z, x = h(z) + noise, and the effect is 1.
"process": g and h are drawn anew, each for itself, from a Gaussian process, as G-RLS assumes.
"fixed": g = h is one given function, and smoothing g leaves a bias that no interval of this kind
knows of.  "linear": g = h is linear, and least squares is the best there is.  The remedy for the
second case is to smooth y *and* x on z and to regress the residuals: "double residual".

Reference: Robinson (1988), *Econometrica* 56.
"""

import numpy as np
from scipy.linalg import null_space
from scipy.stats import t as student
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import StandardScaler

from kernelbook import Gaussian, GRLSRegressor
from kernelbook.solvers.grls.tuning.spectral import best_of

__all__ = ["CAUSES", "diabetes", "least_squares", "partially_linear", "simulate"]

CAUSES = ("sex", "bmi", "bp")
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)
LEVEL = 0.95
KAPPA = 1.0


def diabetes(cell):
    """Effects of sex, body mass and blood pressure, given age and six blood values."""
    data = load_diabetes(scaled=False)
    names = list(data.feature_names)
    x = StandardScaler().fit_transform(data.data[:, [names.index(n) for n in CAUSES]])
    rest = [k for k, n in enumerate(names) if n not in CAUSES]
    z = StandardScaler().fit_transform(data.data[:, rest])
    rows = []
    for name, method in METHODS.items():
        estimate, std, df = method(x, z, data.target)
        half = student.ppf(0.5 + LEVEL / 2, df) * std
        rows += [
            {"method": name, "effect": n, "estimate": float(e), "std": float(s)}
            | {"low": float(e - h), "high": float(e + h)}
            for n, e, s, h in zip(CAUSES, estimate, std, half, strict=True)
        ]
    return rows


def simulate(cell):
    """One sample; for each method the estimate of an effect that is 1; is it covered?"""
    x, z, y = sample(cell["truth"], cell["size"], cell["seed"])
    rows = []
    for name, method in METHODS.items():
        estimate, std, df = (np.ravel(v)[0] for v in method(x, z, y))
        half = student.ppf(0.5 + LEVEL / 2, df) * std
        rows.append({"method": name, "estimate": float(estimate), "std": float(std)})
        rows[-1] |= {"covered": int(abs(estimate - 1) <= half), "width": float(2 * half)}
    return rows


def sample(truth, m, seed):
    """x (m, 1) confounded with z (m, 2) and y; noise of deviation ½ in x and in y."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, (m, 2))
    if truth == "process":
        root = np.linalg.cholesky(Gaussian(2.0)(z) + 1e-9 * np.eye(m))
        g, h = (root @ rng.standard_normal((m, 2))).T
    elif truth == "fixed":
        g = h = np.sin(2 * z[:, 0]) + z[:, 1] ** 2 / 2
    elif truth == "linear":
        g = h = z[:, 0] - z[:, 1] / 2
    else:
        raise ValueError(f"truth={truth!r} is not known; pass 'process', 'fixed' or 'linear'.")
    x = h + 0.5 * rng.standard_normal(m)
    y = x + g + 0.5 * rng.standard_normal(m)
    return x[:, None], z, y


# --------------------------------------------------- methods: estimates, their deviations, df


def partially_linear(x, z, y):
    """G-RLS: (1, x) free, a kernel in z."""
    P = np.column_stack([np.ones(len(y)), x])
    model = smooth(z, P, y)[0]
    return model.coef_[1:], np.sqrt(np.diag(model.coef_cov_))[1:], len(y) - P.shape[1]


def smooth(z, P, y, more=0.0):
    """G-RLS with a Gaussian kernel in z, plus `more`, by restricted likelihood; and its Gram."""
    grams = {width: Gaussian(width)(z) + more for width in WIDTHS}
    choice = best_of(grams.items(), P, y)
    model = GRLSRegressor("precomputed", None, reg=choice.reg)
    return model.fit(grams[choice.kernel], y, P=P), grams[choice.kernel]


def appended(x, z, y):
    """x in the kernel with weight κ, standardized: λ = κ uᵀc, and its variance given y."""
    scale = x.std(axis=0)
    u, P = (x - x.mean(axis=0)) / scale, np.ones((len(y), 1))
    model, gram = smooth(z, P, y, KAPPA * u @ u.T)
    Q2 = null_space(P.T)
    A = gram + model.reg * len(y) * np.eye(len(y))
    explained = np.diag(u.T @ Q2 @ np.linalg.solve(Q2.T @ A @ Q2, Q2.T @ u))
    variance = model.scale_ * (KAPPA - KAPPA**2 * explained)
    return KAPPA * u.T @ model.dual_coef_ / scale, np.sqrt(variance) / scale, len(y) - 1


def double_residual(x, z, y):
    """Robinson: what z leaves of y, regressed on what z leaves of x."""
    one = np.ones((len(y), 1))
    rest = []
    for column in (*x.T, y):
        model, gram = smooth(z, one, column)
        rest.append(column - model.predict(gram, P=one))
    A, r = np.column_stack(rest[:-1]), rest[-1]
    inverse = np.linalg.inv(A.T @ A)
    estimate, df = inverse @ A.T @ r, len(y) - 1 - A.shape[1]
    variance = np.sum((r - A @ estimate) ** 2) / df
    return estimate, np.sqrt(variance * np.diag(inverse)), df


def least_squares(x, z, y):
    """Ordinary least squares on (1, x, z); of x's effects."""
    return ordinary(np.column_stack([np.ones(len(y)), x, z]), y, x.shape[1])


def least_squares_alone(x, z, y):
    return ordinary(np.column_stack([np.ones(len(y)), x]), y, x.shape[1])


def ordinary(A, y, count):
    inverse = np.linalg.inv(A.T @ A)
    estimate, df = inverse @ A.T @ y, len(y) - A.shape[1]
    variance = np.sum((y - A @ estimate) ** 2) / df
    std = np.sqrt(variance * np.diag(inverse))
    return estimate[1 : 1 + count], std[1 : 1 + count], df


def ridge(x, z, y):
    """All of (x, z) penalized alike, as much as the likelihood of scikit-learn's model says."""
    A = np.column_stack([x, z])
    scale = A.std(axis=0)
    model = BayesianRidge().fit(A / scale, y)
    l = x.shape[1]
    return (model.coef_ / scale)[:l], (np.sqrt(np.diag(model.sigma_)) / scale)[:l], len(y) - 1


METHODS = {
    "G-RLS": partially_linear,
    "appended, κ = 1": appended,
    "ridge on x, z": ridge,
    "least squares on x, z": least_squares,
    "least squares on x": least_squares_alone,
    "double residual": double_residual,
}
