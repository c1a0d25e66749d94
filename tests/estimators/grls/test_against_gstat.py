"""Kriging beside gstat, the R package: predictions and variances, its numbers stored.

`tests/reference/gstat.R` made them, with given variograms, on the table of `reml.R`.  gstat knows
the sill; a learner estimates `scale_`, so variances are compared per unit of it.
"""

import json

import numpy as np
import pandas as pd
import pytest

from kernelbook import Gaussian, GRLSRegressor, Laplacian, Matern
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "reference"
TABLE = pd.read_csv(FOLDER / "reml_table.csv")[["x", "z", "field"]]
G = json.loads((FOLDER / "gstat.json").read_text(encoding="utf-8"))
SPACE, PLACES = TABLE[["x", "z"]], pd.DataFrame(G["places"])


def matern(nu):
    """gstat's range, by our own hint for `range=`: width = √(2·nu)·range."""
    return lambda a: Matern(np.sqrt(2 * nu) * a, nu)


MODELS = {
    "exponential": (Laplacian, "1"),
    "exponential, new measurements": (Laplacian, "1"),
    "exponential, trend": (Laplacian, "1 + x"),
    "exponential, two directions": (lambda a: Laplacian([a, 0.4 * a]), "1 + x"),
    "Gaussian, plane": (Gaussian, "1 + x + z"),
    "Matern 3/2, trend": (matern(1.5), "1 + x"),
    "Matern 5/2, square": (matern(2.5), "1 + x + I(x**2)"),
    "Matern 0.8": (matern(0.8), "1"),
}


def test_every_model_of_the_script_is_here():
    assert set(MODELS) == set(G) - {"places", "versions"}


@pytest.mark.parametrize("solver", ["cholesky", "nullspace"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_variances_are_those_of_gstat(name, solver):
    kernel, features = MODELS[name]
    theirs = G[name]
    reg = theirs["nugget"] / theirs["sill"] / len(TABLE)  # as the hint for `nugget=` says
    model = GRLSRegressor(kernel(theirs["range"]), features, reg=reg, solver=solver)
    model.fit(SPACE, TABLE["field"])
    noise = theirs["noise"] == "Nug"
    f, std = model.predict(PLACES, return_std=True, noise=noise)
    np.testing.assert_allclose(f, theirs["prediction"], rtol=1e-9)
    variance = std**2 / model.scale_ * theirs["sill"]
    np.testing.assert_allclose(variance, theirs["variance"], rtol=1e-9)
