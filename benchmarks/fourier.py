"""A million points in the plane: the Fourier solver beside Nystroem(300) + Ridge.

The truth is a quadratic trend and a wavy surface; six polynomials go free.  Both sides see the
same Gaussian and the same noise, and are judged by their mean squared distance from the truth at
points they have not seen: scikit-learn's 300 centres are its approximation, `tol` is ours.

The cases without a peer are the solver's growth with m, and one and three dimensions.  The summary
gives the exponent of the time in m, the memory that the largest fit takes with its data, and the
distance from an exact solution where there is one.
"""

import json

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, GRLSRegressor, Polynomials

QUESTION = 'GRLSRegressor(solver="fourier"), six free features, beside Nystroem(300) + Ridge'
TARGETS = {"Nystroem+Ridge": Target(median=4.0, worst=4.0)}

WIDTH, REG, TOL = 0.15, 1e-6, 1e-3
NEW = 20_000
EXACT = 5_000  # samples for which the exact solution is at hand
BESIDE = {True: [50_000], False: [100_000, 1_000_000]}  # quick or not
ALONE = {
    True: [],
    False: [
        *[(100_000, 2), (100_000, 1), (100_000, 3)],
        *[(1_000_000, 2), (10_000_000, 2), (1_000_000, 1), (1_000_000, 3)],
    ],
}


def truth(X):
    s = X.sum(axis=1)
    return (
        3 + s - 2 * X[:, 0] ** 2 + np.sin(9 * X[:, 0]) * np.cos(7 * X[:, -1]) + np.sin(11 * s) / 2
    )


def data(m, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(m, d))
    return X, truth(X) + 0.1 * rng.normal(size=m), rng.uniform(size=(NEW, d))


def cases(quick):
    for m in BESIDE[quick]:
        X, y, new = data(m, 2)
        yield Case(
            f"m={m} d=2",
            lambda X=X, y=y: ours(X, y).predict,
            {"Nystroem+Ridge": lambda X=X, y=y: theirs(X, y).predict},
            lambda f, X=new: float(np.mean((f(X) - truth(X)) ** 2)),
            {"m": m, "d": 2, "peer": True},
        )
    for m, d in ALONE[quick]:
        X, y, _ = data(m, d)
        yield Case(f"m={m} d={d}", lambda X=X, y=y: ours(X, y), facts={"m": m, "d": d})


def ours(X, y, reg=REG, tol=TOL):
    width = WIDTH if X.shape[1] < 3 else 2 * WIDTH
    return GRLSRegressor(Gaussian(width), Polynomials(2), reg, "fourier", tol).fit(X, y)


def theirs(X, y):
    features = Nystroem(gamma=WIDTH**-2, n_components=300, random_state=0)
    return make_pipeline(features, Ridge(alpha=REG * len(X))).fit(X, y)


def summary(rows):
    facts = [json.loads(row.facts) for row in rows]
    plane = [
        (fact["m"], row.seconds, row.cpu_seconds, row.peak_mb)
        for row, fact in zip(rows, facts, strict=True)
        if fact["d"] == 2 and "peer" not in fact
    ]
    lines = []
    if len(plane) > 1:
        m, seconds, cpu = np.log(plane)[:, :3].T
        slopes = np.polyfit(m, seconds, 1)[0], np.polyfit(m, cpu, 1)[0]
        lines.append(
            f"→ d=2: seconds grow like m^{slopes[0]:.2f}, those of the processors like "
            f"m^{slopes[1]:.2f}; asked: at most 1.1"
        )
        most, _, cpu, peak = plane[-1]
        data_mb = most * 3 * 8 / 2**20  # two columns and y
        lines.append(
            f"→ d=2, m={most}: {(peak + data_mb) / 1024:.2f} GiB at the most, {data_mb / 1024:.2f} "
            "of them data; asked: at most 4 for m=10000000"
        )
        lines.append(
            f"→ 10⁹ points at the rate of the last {most}: {1e9 / most * cpu / 3600:.2f} processor "
            "hours, which Dask divides by the number of processors"
        )
    lines += [
        f"→ m={EXACT} d={d}: {distance(EXACT, d):.1e} of y's spread from the exact f"
        + ("; asked: 1e-5" if d == 2 else "")
        for d in (2, 1, 3)
        if any(fact["d"] == d for fact in facts)
    ]
    return lines


def distance(m=EXACT, d=2):
    """The largest difference from the exact solution at new points, in units of y's spread."""
    X, y, new = data(m, d)
    fourier = ours(X, y)
    exact = GRLSRegressor(fourier.kernel, Polynomials(2), REG, "cholesky").fit(X, y)
    return float(np.abs(fourier.predict(new) - exact.predict(new)).max() / np.ptp(y))
