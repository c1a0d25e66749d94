"""Time against the number of samples: what each solver of G-RLS costs as m grows.

One smooth function with a linear trend, in the plane and in ten dimensions; the same kernel, the
same free features, the same `reg` for all solvers.  Each is asked for as many samples as it
can take in some ten seconds.  The slopes, of log time over log m on the larger half, are what the
chapter "Beyond m³" draws.
"""

import json

import numpy as np

from benchmarks.harness import Case
from kernelbook import Gaussian, GRLSRegressor, Polynomials
from kernelbook.solvers.grls.methods import METHODS

QUESTION = "GRLSRegressor: seconds against m, solver by solver"
TARGETS = {}

REG = 1e-4
LIMITS = {  # solver → the largest m, quick and in full
    "cholesky": (2_000, 8_000),
    "cg": (2_000, 16_000),
    "nystrom": (2_000, 256_000),
    "fourier": (2_000, 1_024_000),
}
SMALLEST = 1_000
N_CENTERS = 300


def data(m, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, d))
    return X, 1 + X.sum(axis=1) + np.sin(4 * X[:, 0]) * X[:, -1] + 0.1 * rng.normal(size=m)


def cases(quick):
    for d in (2,) if quick else (2, 10):
        for solver, limits in LIMITS.items():
            if d > METHODS[solver].columns:
                continue
            m, largest = SMALLEST, limits[0 if quick else 1]
            while m <= largest:
                X, y = data(m, d)
                yield Case(
                    f"{solver} m={m} d={d}",
                    lambda X=X, y=y, solver=solver: fitted(X, y, solver),
                    facts={"solver": solver, "m": m, "d": d},
                )
                m *= 2


def fitted(X, y, solver):
    options = {"n_centers": N_CENTERS, "random_state": 0} if solver in ("nystrom", "cg") else {}
    kernel = Gaussian(0.5 * X.shape[1] ** 0.5)
    return GRLSRegressor(kernel, Polynomials(1), REG, solver, 1e-6, **options).fit(X, y)


def summary(rows):
    """The slope of each curve."""
    curves = {}
    for row in rows:
        facts = json.loads(row.facts)
        points = curves.setdefault((facts["solver"], facts["d"]), [])
        points.append((facts["m"], row.seconds))
    for (solver, d), points in curves.items():
        upper = np.log(points[len(points) // 2 - 1 :])
        if len(upper) > 1:
            yield f"→ {solver}, d={d}: m^{np.polyfit(upper[:, 0], upper[:, 1], 1)[0]:.2f}"
