"""B, figure 1: noisy |5 − x|, a Gaussian kernel, quadratic features free or not.

B fits one sample with three widths ("large", "small", cross-validated), γ by cross-validation, and
sees that the curves of G-RLS hardly differ while those of ridge regression do.  B gives neither
widths nor noise nor size.  Here: seven widths over three decades, many samples, γ by exact
leave-one-out from a grid, and for each width the error inside the data's range and outside, and the
distance from the same method's curve at the best width, which is what "stable" means.  Beside
G-RLS and ridge regression stand B's printed formula (26)(27), with γ by the same leave-one-out, and
ridge regression with a free constant, the smallest change a user would make.
"""

import numpy as np

from kernelbook import (
    ConditionalKernel,
    Constant,
    Gaussian,
    GRLSRegressorCV,
    Polynomials,
    papers,
)
from kernelbook.datasets import make_abs
from kernelbook.experiments.running import Experiment

__all__ = ["EXPERIMENT"]

WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
REGS = np.logspace(-8, 2, 41)
SIZE, NOISE, INTERVAL, OUTSIDE = 60, 0.5, (0.0, 10.0), 3.0
METHODS = {"ridge": None, "ridge, free constant": Constant(), "G-RLS": Polynomials(2)}


def cells(quick):
    return [{"repetition": r, "seed": 1000 + r} for r in range(5 if quick else 100)]


def run(cell):
    X, y = make_abs(SIZE, NOISE, INTERVAL, random_state=cell["seed"])
    order = np.random.default_rng(cell["seed"]).permutation(SIZE)  # (26) depends on it
    low, high = INTERVAL
    inside = np.linspace(low, high, 401)
    beyond = np.linspace(OUTSIDE / 100, OUTSIDE, 100)
    grid = np.concatenate([inside, low - beyond, high + beyond])[:, None]
    truth, curves, rows = np.abs(5 - grid[:, 0]), {}, []
    for width in WIDTHS:
        fits = {}
        for method, features in METHODS.items():
            model = GRLSRegressorCV(Gaussian(width), features, regs=REGS).fit(X, y)
            fits[method] = model.predict(grid), model.reg_, -model.best_score_
        reg, loo = fits["G-RLS"][1:]
        fits["B (26)(27) as printed"] = printed(X[order], y[order], width, reg, grid), reg, loo
        for method, (curve, reg, loo) in fits.items():
            curves[method, width] = curve
            rows.append({"method": method, "width": width, "reg": float(reg), "loo": float(loo)})
    for row in rows:
        same = [r for r in rows if r["method"] == row["method"]]
        best = min(same, key=lambda r: r["loo"])["width"]
        curve, reference = curves[row["method"], row["width"]], curves[row["method"], best]
        for place, part in (("inside", slice(0, 401)), ("outside", slice(401, None))):
            row[f"rmse_{place}"] = rms(curve[part] - truth[part])
            row[f"from_best_{place}"] = rms(curve[part] - reference[part])
    return rows


def printed(X, y, width, reg, grid):
    """f by B (26)(27), with the first three samples as anchors."""
    space = ConditionalKernel(Gaussian(width), Polynomials(2, scaled=False), X[:3])
    E, H = space.cardinal(X[3:]).T, space.H(X[3:])
    return space.function(*papers.b26_27_printed(H, E, y, reg), X[3:])(grid)


def rms(v):
    return float(np.sqrt(np.mean(v**2)))


EXPERIMENT = Experiment(
    "abs",
    "B fig. 1: noisy |5 − x|, seven widths, free quadratic features",
    cells,
    run,
    measures=("rmse_inside", "rmse_outside", "from_best_inside", "from_best_outside"),
)
