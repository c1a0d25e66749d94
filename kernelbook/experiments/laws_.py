"""C, figures 1 and 2, under other laws: turns, noise and radii of the spirals varied.

C describes its spirals in words, and the law of `spirals` was fitted to one number that C reports.
What does its verdict owe to that choice?  Here sixteen laws, each with its best possible error,
and four machines: one width and two in the inner-product reading, each with LIBSVM's bias (of all
optimal ones the middle) and with the least one.  For every machine the widths and C of least 5-fold
error, and the error of that machine on fresh points.  The grids are coarser than those of
`spirals`: steps of 8 in γ, of 16 in C.
"""

import numpy as np
from scipy.spatial.distance import cdist

from kernelbook.datasets import make_spirals
from kernelbook.experiments.running import Experiment
from kernelbook.experiments.two_scales import cross_validate, error, settings

__all__ = ["EXPERIMENT", "least_possible"]

LAWS = [(2.0, noise, low) for noise in (0.45, 0.25, 0.35, 0.15) for low in (0.005, 0.05, 0.0005)]
LAWS += [(turns, noise, 0.005) for turns in (1.0, 3.0) for noise in (0.45, 0.25)]
METHODS = ("gaussian, LIBSVM", "gaussian", "inner product, LIBSVM", "inner product")
GAMMAS = 2.0 ** np.arange(-1, 24, 3)
CS = 2.0 ** np.arange(-5, 16, 4)
REPETITIONS = 5


def cells(quick):
    return [
        {
            "turns": turns,
            "noise": noise,
            "inner_radius": low,
            "repetition": r,
            "seed": 2500 + r,
            "samples": 40 if quick else 200,
        }
        for r in range(1 if quick else REPETITIONS)
        for turns, noise, low in (LAWS[:1] if quick else LAWS)
    ]


def run(cell):
    law = {"turns": cell["turns"], "noise": cell["noise"], "radii": (cell["inner_radius"], 1.0)}
    X, y = make_spirals(cell["samples"], random_state=cell["seed"], **law)
    fresh, truth = make_spirals(2000, random_state=cell["seed"] + 100_000, **law)
    least = least_possible(fresh, truth, **law)
    rows = []
    for method in METHODS:
        found = []
        for g, h in settings(method.removesuffix(", LIBSVM"), GAMMAS):
            errors = cross_validate(method, X, y, g, h, cell["seed"], Cs=CS)
            found.append((float(errors.min()), float(g), float(h), float(CS[errors.argmin()])))
        cv_error, g, h, C = min(found, key=lambda row: row[0])
        rows.append(
            {
                "method": method,
                "gamma1": g,
                "gamma2": h,
                "C": C,
                "cv_error": cv_error,
                "fresh_error": error(method, X, y, fresh, truth, g, h, C),
                "least_possible": least,
            }
        )
    return rows


def least_possible(Z, truth, turns, noise, radii, n=2000):
    """Share of Z that the best possible classifier misses: each class is a mixture over t."""
    low, high = radii
    t = (np.arange(n) + 0.5) / n
    radius = low * (high / low) ** t
    angle = 2 * np.pi * turns * t
    path = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    width = noise * radius

    def density(sign):
        squared = cdist(Z, sign * path, "sqeuclidean")
        return np.mean(np.exp(-squared / (2 * width**2)) / width**2, axis=1)

    return float(np.mean((density(-1) > density(1)) != (truth > 0)))  # the second is turned by π


EXPERIMENT = Experiment(
    "laws",
    "C figs. 1, 2: two spirals under sixteen laws, one width and two",
    cells,
    run,
    modules=("kernelbook.experiments.two_scales",),
    measures=("cv_error", "fresh_error"),
)
