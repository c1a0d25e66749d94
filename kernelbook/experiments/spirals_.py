"""C, figures 1 and 2: two spirals, one width against two, under every reading.

C's data are not available and its spiral is described in words, so the experiment runs on two
laws: radii over more than two decades (logarithmic), where points near the centre are close
together as C describes, and an Archimedean spiral for comparison.  The noise is such that one
Gaussian, by LIBSVM, errs at about 22 % and best at γ = 2⁹, as C reports.  For every pair of
widths the 5-fold error with the best C, as in C's figure, and the error on 4,000 fresh points of
the machine trained with that C on all samples: the minimum over a grid is biased, the more so the
larger the grid, and the fresh points are not.
"""

import numpy as np

from kernelbook.datasets import make_spirals
from kernelbook.experiments.running import Experiment
from kernelbook.experiments.two_scales import C_GRID, DOUBLE, SINGLE, cross_validate, error
from kernelbook.experiments.two_scales import settings as grid

__all__ = ["EXPERIMENT"]

GAMMAS = {"fine": 2.0 ** np.arange(1, 20, 2), "coarse": 2.0 ** np.arange(3, 20, 8)}
SAMPLES = {"fine": 200, "coarse": 60}
REPETITIONS = {"logarithmic": 10, "archimedean": 3}
LAWS = {"logarithmic": {"radii": (0.005, 1.0)}, "archimedean": {"radii": (0.05, 1.0), "noise": 0.1}}


def cells(quick):
    return [
        {
            "law": law,
            "repetition": r,
            "seed": 2000 + r,
            "method": method,
            "grid": "coarse" if quick else "fine",
        }
        for law in LAWS
        for r in range(1 if quick else REPETITIONS[law])
        for method in (*SINGLE, *DOUBLE)
    ]


def run(cell):
    law = {"law": cell["law"], "noise": 0.45, "turns": 2.0} | LAWS[cell["law"]]
    X, y = make_spirals(SAMPLES[cell["grid"]], random_state=cell["seed"], **law)
    fresh, y_fresh = make_spirals(2000, random_state=cell["seed"] + 100_000, **law)
    rows, method = [], cell["method"]
    for g, h in grid(method, GAMMAS[cell["grid"]]):
        errors = cross_validate(method, X, y, g, h, cell["seed"])
        best = int(np.argmin(errors))
        C = float(C_GRID[best]) if len(errors) > 1 else float("nan")
        rows.append(
            {
                "gamma1": float(g),
                "gamma2": float(h),
                "C": C,
                "cv_error": float(errors[best]),
                "fresh_error": error(method, X, y, fresh, y_fresh, g, h, C),
            }
        )
    return rows


EXPERIMENT = Experiment(
    "spirals",
    "C figs. 1, 2: two spirals, one width and two, every reading of C 3.1",
    cells,
    run,
    modules=("kernelbook.experiments.two_scales",),
)
