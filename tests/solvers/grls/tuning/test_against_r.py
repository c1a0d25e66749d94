"""Restricted likelihood, coefficients, errors and edf beside nlme and mgcv: thirteen models.

`tests/reference/reml.R` made the table and the numbers, which are stored.  Where R's search stops
early, its optimum is not ours to 10⁻⁶; then our numbers *at R's parameters* are compared, and ours
are no worse.
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


LEVELS = {  # for each coefficient of mgcv's linear part, the columns to change, and to what
    "smoothing spline": [{"z": 0.0}, {"z": 1.0}],
    "thin plate": [{}],
    "spline and a factor": [{"h": 0}, {"h": 1}, {"h": 2}],
}


@pytest.fixture(scope="module", params=list(SMOOTH))
def spline(request):
    column, features, kernel = SMOOTH[request.param]
    model = GRLSRegressor(kernel, features, tune="reml").fit(TABLE, TABLE[column])
    return request.param, model, R[request.param]


def test_splines_are_those_of_mgcv(spline):
    _, model, theirs = spline
    mean, std = model.predict(TABLE, return_std=True)
    np.testing.assert_allclose(mean, theirs["fitted"], rtol=1e-8)
    np.testing.assert_allclose(std, theirs["se"], rtol=1e-6)
    assert model.scale_ * model.reg_ * M == pytest.approx(theirs["scale"], rel=1e-8)


def test_effective_degrees_of_freedom_are_those_of_mgcv(spline):
    name, model, theirs = spline
    assert model.leave_one_out().leverage.sum() == pytest.approx(theirs["edf"], rel=1e-6)
    said = dict(model.summary().facts)["Effective df"]
    assert said == f"{theirs['edf']:.2f} of {M}"
    column, features, kernel = SMOOTH[name]
    stiff = GRLSRegressor(kernel, features, reg=10 * model.reg_).fit(TABLE, TABLE[column])
    edf = stiff.leave_one_out().leverage.sum()
    assert edf == pytest.approx(theirs["edf_at_tenfold_penalty"], rel=1e-6)


def test_restricted_likelihoods_differ_as_those_of_mgcv(spline):
    """Its score has a constant that depends on the basis; differences have none."""
    _, model, theirs = spline
    best, stiff = (model.criteria({"reg": f * model.reg_})["reml"] for f in (1.0, 10.0))
    loss = theirs["reml_at_tenfold_penalty"] - theirs["reml"]
    assert best - stiff == pytest.approx(loss, rel=1e-7)


def test_linear_coefficients_are_those_of_mgcv(spline):
    """mgcv's smooth has the mean zero over the sample: its intercept is the mean of f elsewhere.

    A kernel that is only conditionally definite has no standard errors of coefficients; those of
    the functionals of f, which mgcv's coefficients are, come from the joint covariance.
    """
    name, model, theirs = spline
    tables = [TABLE.assign(**change) for change in LEVELS[name]]
    f, V = model.predict(pd.concat(tables), return_cov=True)
    levels = len(tables)
    contrast = np.eye(levels) - np.outer(np.arange(levels) > 0, np.eye(levels)[0])
    rows = np.kron(contrast, np.full(M, 1 / M))
    np.testing.assert_allclose(rows @ f, np.atleast_1d(theirs["coef"]), rtol=1e-8)
    se = np.sqrt(np.einsum("ki,ij,kj->k", rows, V, rows))
    np.testing.assert_allclose(se, np.atleast_1d(theirs["coef_se"]), rtol=1e-6)
