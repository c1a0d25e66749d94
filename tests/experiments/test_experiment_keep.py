"""The pieces of `keep` and `coil20`, against textbook formulas and other people's code."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.stats import linregress, multivariate_normal, norm
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern

from kernelbook import GRLSRegressor, Matern, Polyharmonic, SVMGBClassifier
from kernelbook.experiments import coil20_, get
from kernelbook.experiments.comparisons import effects, forecast, plates, trends
from kernelbook.solvers.grls.tuning.spectral import Choice, best_of, log_likelihoods
from tests.paths import BOOK

# ------------------------------------------------------------------- restricted likelihood


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 10, 40))[:, None]
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 0] + 0.2 * rng.normal(size=40)


def test_without_features_it_is_the_likelihood(series):
    X, y = series
    tau = 0.3
    gram = Matern(2.0)(X)
    (value,) = log_likelihoods(gram, np.empty((40, 0)), y, [tau])[1]
    s = y @ np.linalg.solve(gram + tau * np.eye(40), y) / 40
    law = multivariate_normal(np.zeros(40), s * (gram + tau * np.eye(40)))
    assert value == pytest.approx(law.logpdf(y), abs=1e-9)


@pytest.mark.parametrize("kernel", [Matern(2.0), Polyharmonic(3)])
def test_with_features_it_is_the_textbook_formula(series, kernel):
    """log|A| + log|PᵀA⁻¹P| − log|PᵀP| + yᵀGy + n log 2π, which needs no basis of ker Pᵀ."""
    X, y = series
    P, tau, n = np.hstack([np.ones_like(X), X]), 0.3, 38
    gram = kernel(X)
    (value,) = log_likelihoods(gram, P, y, [tau])[1]
    if isinstance(kernel, Polyharmonic):  # a definite representative, the same where Pᵀc = 0
        gram = gram + 1e4 * P @ P.T
    A = gram + tau * np.eye(40)
    inverse = np.linalg.inv(A)
    G = inverse - inverse @ P @ np.linalg.solve(P.T @ inverse @ P, P.T @ inverse)
    s = y @ G @ y / n
    logs = [np.linalg.slogdet(M)[1] for M in (A, P.T @ inverse @ P, P.T @ P)]
    expected = logs[0] + logs[1] - logs[2] + n * np.log(s) + n + n * np.log(2 * np.pi)
    assert value == pytest.approx(-0.5 * expected, rel=1e-6)


def test_the_best_is_the_best(series):
    X, y = series
    P = np.ones((40, 1))
    grams = {w: Matern(w)(X) for w in (0.1, 1.0, 10.0)}
    choice = best_of(grams.items(), P, y)
    tops = {w: log_likelihoods(G, P, y)[1].max() for w, G in grams.items()}
    assert choice.kernel == max(tops, key=tops.get)
    again = log_likelihoods(grams[choice.kernel], P, y, [choice.reg * 40])[1][0]
    assert again == pytest.approx(choice.log_likelihood) == pytest.approx(max(tops.values()))


# ------------------------------------------------------------------------------ forecasts


def test_the_record_and_its_features():
    t, y = forecast.load_co2()
    assert (len(t), round(t[0], 3), round(t[-1], 3)) == (521, 1958.208, 2001.958)
    assert 310 < y.min() < y.max() < 375
    assert (np.diff(t) > 0.08).all()
    P = forecast.trend_and_seasons(2)(t[:, None])
    assert P.shape == (521, 11)
    later = forecast.trend_and_seasons(2)(t[:, None] + 1)
    np.testing.assert_allclose(P[:, 3:], later[:, 3:], atol=1e-10)


def test_an_observation_has_the_noise_in_its_deviation(series):
    """The deviation of scikit-learn's process with the same covariance and a white part."""
    X, y = series
    new = np.linspace(-1, 12, 7)[:, None]
    model = GRLSRegressor(Matern(2.0), None, reg=0.01).fit(X, y)
    s = model.scale_
    kernel = ConstantKernel(s) * SklearnMatern(2.0, nu=1.5) + WhiteKernel(s * 0.01 * 40)
    oracle = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    for ours, theirs in zip(
        forecast.observed(model, X, new), oracle.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_scores():
    y = np.array([0.0, 1.0, 3.0])
    row = forecast.scores(y, np.zeros(3), np.ones(3))
    q = norm.ppf(0.9)
    assert row["covered_80"] == pytest.approx(2 / 3)
    assert row["interval_score_80"] == pytest.approx(2 * q + (2 / 0.2) * (3 - q) / 3)
    assert row["rmse"] == pytest.approx(np.sqrt(10 / 3))
    assert list(forecast.scores(y, y, np.full(3, np.nan))) == ["rmse"]


def test_of_many_draws_the_true_law_covers_and_scores_best():
    y = np.random.default_rng(0).normal(size=20_000)
    rows = [forecast.scores(y, 0.0 * y, s + 0.0 * y) for s in (0.5, 1.0, 2.0)]
    for level in forecast.LEVELS:
        assert rows[1][f"covered_{level}"] == pytest.approx(level / 100, abs=0.01)
        assert np.argmin([r[f"interval_score_{level}"] for r in rows]) == 1


@pytest.fixture(scope="module")
def forecasts():
    rows = pd.DataFrame(forecast.run({"origin": 1972, "cheap": True}))
    return rows.groupby("method")["rmse"].mean()


def test_a_trend_that_may_go_on_forecasts_better_than_none(forecasts):
    assert set(forecasts.index) == set(forecast.METHODS) - {"composite GP"}
    assert forecasts["G-RLS, quadratic"] < forecasts["plain kernel"] / 4


def test_appended_with_a_large_weight_is_free(monkeypatch):
    """T7, for mean and deviation; the estimates of scale divide by m − 1 and by m − 11."""
    t, y = forecast.load_co2()
    X, new, y = t[:120, None], t[120:144, None], y[:120]
    monkeypatch.setattr(forecast, "best_of", lambda grams, P, y: Choice((2.0, 1e6), 1e-3, 0.0))
    mean, std = forecast.appended((1e6,))(X, y, new)
    monkeypatch.setattr(forecast, "best_of", lambda grams, P, y: Choice(2.0, 1e-3, 0.0))
    free, free_std = forecast.free(2)(X, y, new)
    np.testing.assert_allclose(mean, free, atol=1e-2)
    np.testing.assert_allclose(std * np.sqrt(119 / 109), free_std, rtol=1e-2)


def test_last_year_repeats_a_pattern_that_grows():
    t = np.arange(60) / 12
    y = 2 * t + np.sin(2 * np.pi * t)
    mean, _ = forecast.last_year(t[:36, None], y[:36], t[36:, None])
    np.testing.assert_allclose(mean, y[36:], atol=1e-9)


# -------------------------------------------------------------------------------- effects


def test_least_squares_is_that_of_scipy():
    x, z, y = effects.sample("fixed", 80, 3)
    oracle = linregress(x[:, 0], y)
    estimate, std, df = effects.least_squares_alone(x, z, y)
    assert (estimate[0], std[0], df) == pytest.approx((oracle.slope, oracle.stderr, 78))
    # Beside others, by Frisch and Waugh: what they leave of y on what they leave of x.
    Z = np.column_stack([np.ones(80), z])
    left = [v - Z @ np.linalg.lstsq(Z, v, rcond=None)[0] for v in (x[:, 0], y)]
    oracle = linregress(*left)
    estimate, std, df = effects.least_squares(x, z, y)
    assert (estimate[0], df) == pytest.approx((oracle.slope, 76))
    assert std[0] * np.sqrt(76 / 78) == pytest.approx(oracle.stderr)


def test_a_column_of_large_weight_is_free_and_has_the_same_interval(monkeypatch):
    x, z, y = effects.sample("process", 60, 1)
    monkeypatch.setattr(effects, "best_of", lambda grams, P, y: Choice(2.0, 1e-2, 0.0))
    free = effects.partially_linear(x, z, y)
    monkeypatch.setattr(effects, "KAPPA", 1e6)
    appended = effects.appended(x, z, y)
    np.testing.assert_allclose(appended[0], free[0], rtol=1e-4)
    np.testing.assert_allclose(appended[1] * np.sqrt(59 / 58), free[1], rtol=1e-4)
    monkeypatch.setattr(effects, "KAPPA", 1e-6)
    assert abs(effects.appended(x, z, y)[0][0]) < 1e-2 < abs(free[0][0])


def test_the_residuals_on_residuals_know_a_linear_world():
    rows = {r["method"]: r for r in effects.simulate({"truth": "linear", "size": 200, "seed": 2})}
    for name in ("G-RLS", "double residual", "least squares on x, z"):
        assert rows[name]["estimate"] == pytest.approx(1, abs=0.25)
    assert rows["least squares on x"]["covered"] == 0
    with pytest.raises(ValueError, match="truth='x'"):
        effects.sample("x", 10, 0)


# --------------------------------------------------------------- thin plates, few functions


def test_thin_plates_do_not_notice_shift_rotation_or_scale():
    rows = pd.DataFrame(plates.moved({"seed": 0})).pivot(
        index="method", columns="change", values="moved"
    )
    assert (rows.loc["r² log r, linear free", ["shift", "rotation", "scale"]] == 0).all()
    assert rows.loc["r² log r, linear free", "units of x₁"] > 0
    assert rows.loc["SVC, Gaussian, gamma fixed", "scale"] > 0.2


def test_every_machine_runs_on_a_set(monkeypatch):
    monkeypatch.setattr(plates, "CS", np.array([1.0]))
    monkeypatch.setattr(plates, "WIDTHS", np.array([1.0]))
    rows = plates.accuracy({"set": "wine", "train": 0.5, "seed": 0})
    scores = {r["method"]: r["accuracy"] for r in rows}
    assert len(scores) == 6
    # Thirteen free columns separate the wines: both plates are the same linear machine (T3).
    assert scores["r² log r, linear free"] == scores["r³, linear free"]
    assert min(scores.values()) > 0.8


def test_ten_gaussians_and_a_line_see_beyond_the_samples(monkeypatch):
    monkeypatch.setattr(plates, "BUDGET_CS", (10.0,))
    constant, linear = plates.budget({"size": 100, "functions": 10, "seed": 0})
    assert linear["error_outside"] < constant["error_outside"] - 0.1


# -------------------------------------------------------------------------- units and costs


def test_free_features_have_no_units():
    rows = pd.DataFrame(trends.units({"seed": 0})).pivot(
        index="method", columns="change", values="largest_change"
    )
    assert (rows.loc["free"] < 1e-9).all()
    assert (rows.loc["appended", ["units", "mixing"]] > 0.01).all()
    assert rows.loc["appended, standardized", "units"] < 1e-9
    assert rows.loc["appended, standardized", "mixing"] > 0.01
    assert rows.loc["no free constant", "y + 1000"] > 1


@pytest.mark.filterwarnings("ignore:P has 81 independent columns for 100 samples")
def test_eighty_useless_free_features_cost_more_than_appended_ones():
    rows = {r["method"]: r["rmse_inside"] for r in trends.useless({"seed": 1, "features": 80})}
    assert rows["left out"] < rows["appended"] < rows["free"] / 2
    none = {r["method"]: r["rmse_inside"] for r in trends.useless({"seed": 1, "features": 0})}
    assert len(set(none.values())) == 1


def test_a_free_trend_sees_beyond_the_samples():
    rows = trends.sizes({"seed": 0, "size": 60, "truth": "linear"})
    by = {r["method"]: r["rmse_outside"] for r in rows}
    assert by["free"] < by["left out"] / 2
    with pytest.raises(ValueError, match="truth='x'"):
        trends.surface(np.zeros((1, 2)), "x")


# ---------------------------------------------------------------------------------- COIL-20


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == k)[:40] for k in range(5)])
    train = np.tile(np.arange(40) < 10, 5)
    cell = {"reading": "transductive", "itself": False, "k": 7, "objects": 5, "seed": 0}
    return coil20_.Images(X[rows] / 16, y[rows], train, cell)


def test_other_rules_contain_the_rule_of_the_machine(digits):
    P = digits.features(digits.train)[0]
    train, test = digits.train, digits.test
    gram, cross = digits.gram(train, train, 3.0), digits.gram(test, train, 3.0)
    model = SVMGBClassifier("precomputed", C=10.0).fit(gram, digits.y[train], P=P[train])
    F = cross[:, model.support_] @ model.dual_coef_.T + P[test] @ model.coef_.T
    np.testing.assert_array_equal(coil20_.by_votes(F, 5, 1.0, 0.0), model.predict(cross, P=P[test]))
    first, shared = (coil20_.by_votes(np.zeros((1, 3)), 3, *v)[0] for v in ((1, 0), (0.5, 0.5)))
    assert (first, shared) == (0, 0)
    assert coil20_.by_votes(np.zeros((1, 3)), 3, 0.0, 1.0)[0] == 2


def test_the_kernel_part_is_zero_where_a_linear_program_separates(digits):
    row = coil20_.fit(
        digits, "SVM-GB", digits.train, digits.test, digits.features(digits.train)[0], 3, 10, True
    )
    P, y = digits.features(digits.train)[0][digits.train], digits.y[digits.train]
    separated = 0
    for a, b in combinations(range(5), 2):
        rows = (y == a) | (y == b)
        signed = np.where(y[rows] == b, -1.0, 1.0)[:, None] * P[rows]
        # The largest margin with |λ| ≤ 1: positive, or there is none.
        A = np.column_stack([signed, np.ones(len(signed))])
        bounds = [(-1, 1)] * 5 + [(None, None)]
        separated += -linprog([0] * 5 + [-1], A, np.zeros(len(A)), bounds=bounds).fun > 1e-9
    assert row["pairs_separated"] == row["kernel_part_zero"] == separated
    assert 0 < row["ties"] < 1
    assert row["largest_violation"] < 1e-3


def test_figure_2_has_a_row_for_each_group(digits):
    rows = coil20_.fixed(digits, coil20_.FIXED[:2])
    assert [r["method"] for r in rows] == ["3-NN"] + 2 * ["SVM", "SVM-GB"]


def test_the_committed_table_obeys_the_theorem():
    """T3, for every fit of the committed run that its own certificate vouches for."""
    results = BOOK / "results"
    table = pd.read_csv(results / "coil20.csv")
    fits = table[(table["method"] == "SVM-GB") & (table["largest_violation"] <= coil20_.TOL)]
    assert len(fits) > 100
    assert (fits["kernel_part_zero"] == fits["pairs_separated"]).all()


def test_the_committed_tables_are_of_the_whole_protocol():
    results = BOOK / "results"
    for name in ("coil20", "keep"):
        record = json.loads((results / f"{name}.json").read_text())
        cells = get(name).cells(False)
        assert record["cells"] == record["cells_of_the_protocol"] == len(cells)
        assert record["rows"] == len(pd.read_csv(results / f"{name}.csv"))
