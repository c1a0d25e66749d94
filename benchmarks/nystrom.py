"""Many samples in many dimensions: Nyström beside scikit-learn's, on the very same centres.

`Nystroem` with `Ridge` minimizes the same objective over the same functions (its intercept is our
constant feature), so the held-out errors agree and the clocks can be compared.  The last cases let
all coordinates go free on top, which that pipeline cannot: our error is then smaller.
"""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, GRLSRegressor, Polynomials

QUESTION = 'GRLSRegressor(solver="nystrom") beside Nystroem + Ridge, the same centres'
TARGETS = {"Nystroem+Ridge": Target(median=1.0, worst=1.0)}

D = 50
REG = 1e-6
HELD_OUT = 5000
SIZES = (
    [(20_000, 300, "constant"), (20_000, 300, "coordinates")],
    [
        (20_000, 1000, "constant"),
        (200_000, 300, "constant"),
        (200_000, 1000, "constant"),
        (200_000, 300, "coordinates"),
    ],
)


def data(m, seed=0):
    """A trend, two bends that only a kernel sees, noise; the last rows are held out."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m + HELD_OUT, D))
    trend = X @ (rng.normal(size=D) / np.sqrt(D))
    y = trend + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    return X[:m], y[:m], X[m:], y[m:]


def cases(quick):
    for m, n, features in SIZES[0] if quick else SIZES[0] + SIZES[1]:
        X, y, X_new, y_new = data(m)
        width = 2 * D**0.5
        yield Case(
            f"m={m} d={D} n={n} free: {features}",
            lambda X=X, y=y, n=n, f=features, w=width: ours(X, y, n, f, w),
            {"Nystroem+Ridge": lambda X=X, y=y, n=n, w=width: theirs(X, y, n, w)},
            lambda f, X=X_new, y=y_new: float(np.mean((f(X) - y) ** 2)),
            {"m": m, "d": D, "n": n, "features": features},
        )


def ours(X, y, n, features, width):
    rows = check_random_state(0).permutation(len(X))[:n]  # as Nystroem draws them
    free = Polynomials(1) if features == "coordinates" else features
    model = GRLSRegressor(Gaussian(width), free, REG, "nystrom", centers=X[rows])
    return model.fit(X, y).predict


def theirs(X, y, n, width):
    features = Nystroem(gamma=width**-2, n_components=n, random_state=0)
    return make_pipeline(features, Ridge(alpha=REG * len(X))).fit(X, y).predict
