"""Forecasts of the Mauna Loa CO₂ record, with intervals, years ahead.

The record (Keeling & Whorf; it ships inside statsmodels) is averaged by month.  At each **origin**
a method sees all months before it and forecasts the next six years; a row is scored for each year
ahead, by the root of the mean squared error and by its central 50, 80 and 95 % intervals of a new
*observation*, so the noise is part of them: how often they cover, how wide they are, and the score

    (high − low) + (2/α)·(low − y)₊ + (2/α)·(y − high)₊,

which is least, on average, for the true quantiles.

The same features for every method: 1, t, perhaps t², and four harmonics of the year.

    G-RLS            free features beside a Matérn process; kernel, reg by restricted likelihood
    smoothing spline kernel |t−t'|³, which *needs* 1 and t free; harmonics free
    spline + Matérn  the sum of both kernels: a trend that bends, and years that are unusual
    appended         the Matérn process plus κ·(the features, standardized), only 1 free: κ = 1,
                     what a column costs that is simply appended, or κ by likelihood
    ridge            the features alone, all but 1 penalized (scikit-learn's BayesianRidge)
    plain kernel     the Matérn process with a free constant
    composite GP     scikit-learn's GaussianProcessRegressor with the kernel of its own CO₂
                     example: long trend + decaying period + irregularities + noise
    last year        the same month a year ago, plus the mean growth of a year

Reference: Gneiting & Raftery (2007), *J. Amer. Statist. Assoc.* 102.
"""

import warnings

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, RationalQuadratic, WhiteKernel
from sklearn.linear_model import BayesianRidge

from kernelbook import GRLSRegressor, Matern, Polyharmonic
from kernelbook.solvers.grls.tuning.spectral import best_of

__all__ = ["LEVELS", "METHODS", "load_co2", "run", "trend_and_seasons"]

YEARS_AHEAD, HARMONICS, LEVELS = 6, 4, (50, 80, 95)
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
KAPPAS = 10.0 ** np.arange(-1, 6, 2)
BENDS = 10.0 ** np.arange(-6, 1)


def load_co2():
    """(t, y): the middle of each month in years, and its mean in ppm; no gaps filled."""
    from statsmodels.datasets import co2

    months = co2.load_pandas().data["co2"].resample("MS").mean().dropna()
    index = months.index
    return index.year.to_numpy() + (index.month.to_numpy() - 0.5) / 12, months.to_numpy()


def trend_and_seasons(degree):
    """φ: 1, t, …, t^degree (in decades from 1980) and sines and cosines of the year."""

    def features(X):
        t = np.asarray(X)[:, 0]
        angle = 2 * np.pi * np.arange(1, HARMONICS + 1) * t[:, None]
        powers = ((t[:, None] - 1980.0) / 10.0) ** np.arange(degree + 1)
        return np.hstack([powers, np.cos(angle), np.sin(angle)])

    return features


def run(cell):
    t, y = load_co2()
    train = t < cell["origin"]
    ahead = (t >= cell["origin"]) & (t < cell["origin"] + YEARS_AHEAD)
    X, X_new, truth = t[train, None], t[ahead, None], y[ahead]
    names = [n for n in METHODS if not (cell["cheap"] and n == "composite GP")]
    rows = []
    for name in names:
        mean, std = METHODS[name](X, y[train], X_new)
        year = (X_new[:, 0] - cell["origin"]).astype(int) + 1
        for h in range(1, YEARS_AHEAD + 1):
            of = year == h
            rows.append({"method": name, "years_ahead": h} | scores(truth[of], mean[of], std[of]))
    return rows


def scores(y, mean, std):
    row = {"rmse": float(np.sqrt(np.mean((y - mean) ** 2)))}
    if not np.isfinite(std).all():
        return row
    for level in LEVELS:
        alpha = 1 - level / 100
        half = norm.ppf(1 - alpha / 2) * std
        low, high = mean - half, mean + half
        missed = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        row[f"covered_{level}"] = float(np.mean(missed == 0))
        row[f"width_{level}"] = float(np.mean(high - low))
        row[f"interval_score_{level}"] = float(np.mean(high - low + 2 / alpha * missed))
    return row


# ------------------------------------------------------------------- methods: (mean, std) at X_new


def matern_grams(X):
    return [(width, Matern(width)(X)) for width in WIDTHS]


def observed(model, X, X_new, P=None, P_new=None, diag=None):
    """Mean and deviation of an observation: that of f, and the noise scale_·reg·m."""
    mean, std = model.predict(X_new, return_std=True, P=P_new, diag=diag)
    return mean, np.sqrt(std**2 + model.scale_ * model.reg * len(X))


def free(degree):
    def forecast(X, y, X_new):
        features = trend_and_seasons(degree)
        choice = best_of(matern_grams(X), features(X), y)
        model = GRLSRegressor(Matern(choice.kernel), features, reg=choice.reg).fit(X, y)
        return observed(model, X, X_new)

    return forecast


def spline(X, y, X_new):
    features, kernel = trend_and_seasons(1), Polyharmonic(3)
    choice = best_of([(None, kernel(X))], features(X), y)
    return observed(GRLSRegressor(kernel, features, reg=choice.reg).fit(X, y), X, X_new)


def spline_and_matern(X, y, X_new):
    features, cubic = trend_and_seasons(1), Polyharmonic(3)
    R = cubic(X)
    grams = (((w, b), G + b * R) for w, G in matern_grams(X)[:-2] for b in BENDS)
    choice = best_of(grams, features(X), y)
    width, bend = choice.kernel
    model = GRLSRegressor(Matern(width) + bend * cubic, features, reg=choice.reg).fit(X, y)
    return observed(model, X, X_new)


def appended(kappas):
    def forecast(X, y, X_new):
        features = trend_and_seasons(2)
        P, P_new = features(X)[:, 1:], features(X_new)[:, 1:]
        center, scale = P.mean(axis=0), P.std(axis=0)
        P, P_new = (P - center) / scale, (P_new - center) / scale
        one, one_new = np.ones((len(P), 1)), np.ones((len(P_new), 1))
        grams = [((w, k), G + k * P @ P.T) for w, G in matern_grams(X) for k in kappas]
        choice = best_of(grams, one, y)
        width, kappa = choice.kernel
        model = GRLSRegressor("precomputed", None, reg=choice.reg)
        model.fit(Matern(width)(X) + kappa * P @ P.T, y, P=one)
        cross = Matern(width)(X_new, X) + kappa * P_new @ P.T
        return observed(model, X, cross, None, one_new, 1 + kappa * np.sum(P_new**2, axis=1))

    return forecast


def ridge(X, y, X_new):
    features = trend_and_seasons(2)
    P, P_new = features(X)[:, 1:], features(X_new)[:, 1:]
    center, scale = P.mean(axis=0), P.std(axis=0)
    model = BayesianRidge().fit((P - center) / scale, y)
    return model.predict((P_new - center) / scale, return_std=True)  # its std has the noise in it


def plain(X, y, X_new):
    choice = best_of(matern_grams(X), np.ones((len(X), 1)), y)
    model = GRLSRegressor(Matern(choice.kernel), "constant", reg=choice.reg).fit(X, y)
    return observed(model, X, X_new)


def composite(X, y, X_new):
    kernel = (
        50.0**2 * RBF(50.0)
        + 2.0**2 * RBF(100.0) * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
        + 0.5**2 * RationalQuadratic(1.0, 1.0)
        + 0.1**2 * RBF(0.1)
        + WhiteKernel(0.1**2, (1e-5, 1e5))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound
        model = GaussianProcessRegressor(kernel, normalize_y=False).fit(X, y - y.mean())
    mean, std = model.predict(X_new, return_std=True)  # the WhiteKernel puts the noise in
    return mean + y.mean(), std


def last_year(X, y, X_new):
    t = X[:, 0]
    growth = (y[-12:].mean() - y[:12].mean()) / (t[-12:].mean() - t[:12].mean())
    phase = np.round((X_new - t) * 12).astype(int) % 12  # months between, modulo a year
    last = np.array([np.flatnonzero(row == 0)[-1] for row in phase])
    return y[last] + growth * (X_new[:, 0] - t[last]), np.full(len(X_new), np.nan)


METHODS = {
    "G-RLS, quadratic": free(2),
    "G-RLS, linear": free(1),
    "smoothing spline": spline,
    "spline + Matérn": spline_and_matern,
    "appended, κ = 1": appended((1.0,)),
    "appended, κ chosen": appended(KAPPAS),
    "ridge": ridge,
    "plain kernel": plain,
    "composite GP": composite,
    "last year": last_year,
}
