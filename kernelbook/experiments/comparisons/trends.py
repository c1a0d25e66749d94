"""What free features are immune to, what they bring, and what they cost, in regression.

`units`: predictions of the diabetes data when the features are measured in other units, shifted or
mixed (and when y is), for free features, for appended ones, for appended and standardized ones.

`sizes`: a surface with a trend, from 20 samples to 500, inside the square of the samples and in a
frame around it.  Once the trend is there ("linear"), once the surface levels off outside
("saturating"), so that a free trend is a wrong promise.

`useless`: features that are pure noise, free, appended or left out, beside 100 samples.

Width and reg by exact leave-one-out, for every method; of appended features the weight κ too.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from kernelbook import Gaussian, GRLSRegressor, GRLSRegressorCV

__all__ = ["sizes", "surface", "units", "useless"]

WIDTHS = (0.5, 1.0, 2.0, 4.0)
KAPPAS = (0.01, 0.1, 1.0, 10.0, 100.0)
REGS = np.logspace(-7, 2, 37)
NOISE = 0.3


class Sample:
    """Training and new points with their features; the constant is always free."""

    def __init__(self, X, P, X_new, P_new):
        self.X, self.P, self.X_new, self.P_new = X, P, X_new, P_new

    def grams(self, width, kappa=0.0):
        kernel = Gaussian(width)
        return (
            kernel(self.X) + kappa * self.P @ self.P.T,
            kernel(self.X_new, self.X) + kappa * self.P_new @ self.P.T,
        )

    def free(self, with_features):
        one, one_new = np.ones((len(self.X), 1)), np.ones((len(self.X_new), 1))
        if not with_features:
            return one, one_new
        return np.hstack([one, self.P]), np.hstack([one_new, self.P_new])

    def predict(self, y, free, kappas=(0.0,), widths=WIDTHS):
        """f at the new points, by the width, κ and reg of least leave-one-out error."""
        P, P_new = self.free(free)
        found = []
        for width in widths:
            for kappa in kappas:
                gram, cross = self.grams(width, kappa)
                model = GRLSRegressorCV("precomputed", None, regs=REGS, tol=1e-6)
                model.fit(gram, y, P=P)
                found.append((model.best_score_, model, cross))
        _, model, cross = max(found, key=lambda f: f[0])
        return model.predict(cross, P=P_new)

    def all_ways(self, y):
        return {
            "left out": self.predict(y, False),
            "appended": self.predict(y, False, KAPPAS),
            "free": self.predict(y, True),
        }


# ------------------------------------------------------------------------------------- units


def units(cell):
    """Largest change of a prediction, in units of y's deviation, at fixed width and reg."""
    data = load_diabetes(scaled=False)
    rng = np.random.default_rng(cell["seed"])
    order = rng.permutation(len(data.target))
    train, new = order[:221], order[221:]
    X = StandardScaler().fit(data.data[train]).transform(data.data)
    raw = data.data
    mix = np.linalg.qr(rng.standard_normal((10, 10)))[0] * rng.uniform(0.1, 10, 10)
    changes = {
        "units": lambda Z: Z * 10.0**rng_units,
        "shift": lambda Z: Z + 1000.0,
        "mixing": lambda Z: Z @ mix,
        "y + 1000": lambda Z: Z,
    }
    rng_units = rng.integers(-2, 3, 10)
    gram, cross = Gaussian(4.0)(X[train]), Gaussian(4.0)(X[new], X[train])

    def predictions(kind, Z, y):
        one = np.ones((len(Z), 1))
        if kind == "free":
            P, more, more_new = np.hstack([one, Z]), 0.0, 0.0
        else:
            if kind == "appended, standardized":
                Z = StandardScaler().fit(Z[train]).transform(Z)
            P, more, more_new = one, Z[train] @ Z[train].T, Z[new] @ Z[train].T
            if kind == "no free constant":
                P, more, more_new = one[:, :0], 0.0, 0.0
        model = GRLSRegressor("precomputed", None, reg=1e-2, tol=1e-4)
        model.fit(gram + more, y[train], P=P[train])
        return model.predict(cross + more_new, P=P[new])

    rows, spread = [], data.target.std()
    for kind in ("free", "appended, standardized", "appended", "no free constant"):
        before = predictions(kind, raw, data.target)
        for name, change in changes.items():
            up = 1000.0 if name == "y + 1000" else 0.0
            after = predictions(kind, change(raw), data.target + up) - up
            moved = float(np.abs(after - before).max() / spread)
            rows.append({"method": kind, "change": name, "largest_change": moved})
    return rows


# ------------------------------------------------------------------------------------- sizes


def surface(X, truth):
    wave = 0.5 * np.sin(4 * X[:, 0]) * np.cos(2 * X[:, 1])
    if truth == "linear":
        return 2 * X[:, 0] - X[:, 1] + wave
    if truth == "saturating":
        return 2 * np.tanh(1.5 * X[:, 0]) - np.tanh(1.5 * X[:, 1]) + wave
    raise ValueError(f"truth={truth!r} is not known; pass 'linear' or 'saturating'.")


def sizes(cell):
    rng = np.random.default_rng(cell["seed"])
    X = rng.uniform(-1, 1, (cell["size"], 2))
    y = surface(X, cell["truth"]) + NOISE * rng.standard_normal(len(X))
    new = rng.uniform(-2, 2, (2000, 2))
    outside = np.abs(new).max(axis=1) > 1
    truth, rows = surface(new, cell["truth"]), []
    for name, f in Sample(X, X, new, new).all_ways(y).items():
        error = (f - truth) ** 2
        rows.append({"method": name, "rmse_inside": float(np.sqrt(error[~outside].mean()))})
        rows[-1]["rmse_outside"] = float(np.sqrt(error[outside].mean()))
    return rows


# ----------------------------------------------------------------------------------- useless


def useless(cell):
    rng = np.random.default_rng(cell["seed"])
    m, l = 100, cell["features"]
    X, new = rng.uniform(-1, 1, (m, 2)), rng.uniform(-1, 1, (1000, 2))
    P, P_new = rng.standard_normal((m, l)), rng.standard_normal((1000, l))
    y = surface(X, "linear") + NOISE * rng.standard_normal(m)
    truth = surface(new, "linear")
    return [
        {"method": name, "rmse_inside": float(np.sqrt(np.mean((f - truth) ** 2)))}
        for name, f in Sample(X, P, new, P_new).all_ways(y).items()
    ]
