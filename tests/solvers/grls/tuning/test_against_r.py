"""Restricted likelihood beside nlme and mgcv: thirteen models, their numbers stored.

`tests/reference/reml.R` made the table and the numbers.  Where R's search stops early, its optimum
is not ours to 10⁻⁶; then our numbers *at R's parameters* are compared, and ours are no worse.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from kernelbook import (
    Categorical,
    Gaussian,
    GRLSRegressor,
    Laplacian,
    Linear,
    Polyharmonic,
    RationalQuadratic,
    ThinPlate,
    Tuning,
)
from kernelbook.solvers.grls.tuning.search import criteria_at
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "reference"
TABLE = pd.read_csv(FOLDER / "reml_table.csv")
R = json.loads((FOLDER / "reml.json").read_text(encoding="utf-8"))
M, SPACE = len(TABLE), ["x", "z"]

FIELDS = {
    "exponential": ("field", "1", Laplacian(columns=SPACE)),
    "exponential, trend": ("field", "1 + x", Laplacian(columns=SPACE)),
    "exponential, plane": ("field", "1 + x + z", Laplacian(columns=SPACE)),
    "exponential, full likelihood": ("field", "1 + x", Laplacian(columns=SPACE)),
    "Gaussian": ("field", "1 + x", Gaussian(columns=SPACE)),
    "rational quadratic": ("field", "1 + x", RationalQuadratic(alpha=1.0, columns=SPACE)),
    "exponential, one column": ("line", "1 + z", Laplacian(columns=["x"])),
}
GROUP, PART = Categorical(columns=["g"]), Categorical(columns=["g", "h"])
GROUPS = {
    "group intercepts": GROUP,
    "group intercepts and slopes": GROUP + 1.0 * (GROUP * Linear(columns=["v"])),
    "nested groups": GROUP + 1.0 * PART,
}
SMOOTH = {
    "smoothing spline": ("wave", "1 + day + z", Polyharmonic(3, columns=["day"])),
    "thin plate": ("field", "1 + x + z", ThinPlate(columns=SPACE)),
    "spline and a factor": ("wave", "C(h) + day", Polyharmonic(3, columns=["day"])),
}


def features_of(model):
    return np.asarray(model.features_.transform(TABLE), dtype=float)


def difference(P, criterion="reml"):
    """What R's restricted log-likelihood lacks: log|PᵀP|/2."""
    return 0.5 * np.linalg.slogdet(P.T @ P)[1] if criterion == "reml" else 0.0


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_with_a_nugget_is_that_of_gls(name):
    column, features, kernel = FIELDS[name]
    theirs, y = R[name], TABLE[column]
    criterion = theirs["method"].lower()
    ratio = theirs["nugget"] / (1 - theirs["nugget"])
    at_theirs = kernel.tuned({"width": theirs["range"]})
    model = GRLSRegressor(at_theirs, features, reg=ratio / M).fit(TABLE, y)
    np.testing.assert_allclose(model.coef_, theirs["coef"], rtol=1e-9)
    if criterion == "reml":  # for "ML" R's variance has another denominator
        np.testing.assert_allclose(np.sqrt(np.diag(model.coef_cov_)), theirs["se"], rtol=1e-9)
        assert model.scale_ * (1 + ratio) == pytest.approx(theirs["variance"], rel=1e-9)
    P = features_of(model)
    sample = TABLE.to_numpy(float), P, y.to_numpy(float)[:, None]
    log_l = criteria_at(model.kernel_, *sample, ratio / M)[criterion]
    assert log_l - difference(P, criterion) == pytest.approx(theirs["log_likelihood"], abs=1e-8)

    fixed = ["alpha"] if name == "rational quadratic" else []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the data say next to nothing")
        best = GRLSRegressor(kernel, features, tune=Tuning(criterion, fixed)).fit(TABLE, y)
    assert log_l - 1e-9 <= best.tuning_.log_likelihood <= log_l + 2e-5
    assert best.kernel_.width == pytest.approx(theirs["range"], rel=1e-2)


@pytest.mark.parametrize("name", GROUPS)
def test_random_effects_are_those_of_lme(name):
    theirs = R[name]
    model = GRLSRegressor(GROUPS[name], "1 + v", tune="reml").fit(TABLE, TABLE["groups"])
    rho = model.reg_ * M
    ratios = np.array([1.0, *(v for n, v in model.tuning_.parameters.items() if n != "reg")]) / rho
    np.testing.assert_allclose(np.sort(ratios), np.sort(np.atleast_1d(theirs["ratios"])), rtol=1e-6)
    assert model.scale_ * rho == pytest.approx(theirs["noise"], rel=1e-6)
    np.testing.assert_allclose(model.coef_, theirs["coef"], rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(model.coef_cov_)), theirs["se"], rtol=1e-6)
    log_l = model.tuning_.log_likelihood - difference(features_of(model))
    assert log_l == pytest.approx(theirs["log_likelihood"], abs=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_splines_are_those_of_mgcv(name):
    column, features, kernel = SMOOTH[name]
    theirs = R[name]
    model = GRLSRegressor(kernel, features, tune="reml").fit(TABLE, TABLE[column])
    mean, std = model.predict(TABLE, return_std=True)
    np.testing.assert_allclose(mean, theirs["fitted"], rtol=1e-8)
    np.testing.assert_allclose(std, theirs["se"], rtol=1e-6)
    assert model.scale_ * model.reg_ * M == pytest.approx(theirs["scale"], rel=1e-8)
