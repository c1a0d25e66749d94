"""Optima, their curvature and what is said of them, beside other programs and brute force."""

import re

import numpy as np
import openturns as ot
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from statsmodels.datasets import macrodata
from statsmodels.regression.mixed_linear_model import MixedLM

from kernelbook import Categorical, Gaussian, Laplacian, Linear, Matern, Polyharmonic
from kernelbook.solvers.grls.tuning import checks, search
from kernelbook.solvers.grls.tuning.boxes import box_of, redundant_weights
from kernelbook.solvers.grls.tuning.search import criteria_at, tune
from kernelbook.solvers.grls.tuning.settings import Tuning
from tests.solvers.grls.tuning.test_criteria import textbook

RNG = np.random.default_rng(5)
M = 60
X = RNG.uniform(0, 5, (M, 2))
FIELD = np.linalg.cholesky(Matern(1.5)(X) + 1e-10 * np.eye(M)) @ RNG.normal(size=M)
Y = (1 + 0.3 * X[:, 0] + FIELD + 0.3 * RNG.normal(size=M))[:, None]
P = np.column_stack([np.ones(M), X])
ONES = np.ones((M, 1))
TWO = Tuning(starts=2)


def test_the_optimum_is_that_of_the_textbook_formula():
    kernel, reg, result = tune(Matern(), X, P, Y, 1e-3)

    def minus(point):
        return -textbook(Matern(np.exp(point[0]))(X), P, Y[:, 0], np.exp(point[1]))

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
    oracle = minimize(minus, [0.5, -1.0], method="Nelder-Mead", options=options)
    np.testing.assert_allclose(np.log([kernel.width, reg * M]), oracle.x, atol=1e-5)
    assert result.log_likelihood == pytest.approx(-oracle.fun, abs=1e-9)
    assert result.parameters == {"width": kernel.width, "reg": reg}
    # The curvature by second differences of values only.
    h = 1e-3
    steps = h * np.eye(2)
    hessian = [
        [
            sum(s * t * minus(oracle.x + s * a + t * b) for s in (1, -1) for t in (1, -1))
            for b in steps
        ]
        for a in steps
    ]
    covariance = np.linalg.inv(np.array(hessian) / (4 * h * h))
    np.testing.assert_allclose(result.log_cov, covariance, rtol=1e-4)
    low, high = result.interval()["width"]
    assert np.log(high / low) == pytest.approx(2 * 1.959964 * np.sqrt(covariance[0, 0]), rel=1e-4)


@pytest.mark.parametrize("criterion", ["ml", "loo", "gcv"])
def test_the_other_criteria_end_where_no_neighbour_is_better(criterion):
    kernel, reg, result = tune(Matern(), X, P, Y, 1e-3, settings=Tuning(criterion, starts=2))
    sign = -1 if criterion == "ml" else 1
    here = sign * result.criteria[criterion]
    assert here == pytest.approx(sign * criteria_at(kernel, X, P, Y, reg)[criterion], rel=1e-12)
    for width in (0.98, 1.0, 1.02):
        for noise in (0.98, 1.0, 1.02):
            near = criteria_at(Matern(kernel.width * width), X, P, Y, reg * noise)
            assert sign * near[criterion] >= here - 1e-9 * abs(here)
    assert np.isnan(result.standard_errors).all() == (criterion != "ml")


def test_scikit_learn_ends_at_the_same_parameters():
    y = Y[:, 0] - Y.mean()
    white = ConstantKernel(1.0) * SklearnMatern(1.0, nu=1.5) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(white, alpha=0.0, n_restarts_optimizer=2, random_state=0)
    oracle = process.fit(X, y)
    kernel, reg, result = tune(Matern(), X, np.empty((M, 0)), y[:, None], 1e-3)
    assert result.log_likelihood == pytest.approx(oracle.log_marginal_likelihood_value_, abs=1e-6)
    assert kernel.width == pytest.approx(oracle.kernel_.k1.k2.length_scale, rel=1e-3)
    variance, noise = oracle.kernel_.k1.k1.constant_value, oracle.kernel_.k2.noise_level
    assert reg * M == pytest.approx(noise / variance, rel=1e-3)


def test_openturns_has_the_same_likelihood():
    """Its trend is estimated by generalized least squares, so its likelihood is the full one."""
    A = Matern(2.0)(X) + 0.1 * np.eye(M)
    inverse = np.linalg.inv(A)
    left = inverse - inverse @ P @ np.linalg.solve(P.T @ inverse @ P, P.T @ inverse)
    s = float(Y[:, 0] @ left @ Y[:, 0]) / M
    covariance = ot.MaternModel([2.0, 2.0], [float(np.sqrt(s))], 1.5)
    covariance.setNuggetFactor(0.1)
    sample = ot.Sample(X), ot.Sample(Y), covariance, ot.LinearBasisFactory(2).build()
    fit = ot.GaussianProcessFitter(*sample)
    fit.setOptimizeParameters(False)
    fit.run()
    ours = criteria_at(Matern(2.0), X, P, Y, 0.1 / M)["ml"]
    assert ours == pytest.approx(fit.getResult().getOptimalLogLikelihood(), abs=1e-7)


def test_statsmodels_has_the_same_group_variance():
    groups = RNG.integers(0, 12, M)
    y = Y[:, 0] + RNG.normal(size=12)[groups]
    rows = np.column_stack([X, groups])
    kernel = Categorical(columns=[2])
    _, reg, result = tune(kernel, rows, P, y[:, None], 1e-3)
    fit = MixedLM(y, P, groups).fit(reml=True, method=["bfgs"], gtol=1e-10)
    assert 1 / (reg * M) == pytest.approx(float(np.asarray(fit.cov_re)[0, 0] / fit.scale), rel=1e-4)
    assert result.log_likelihood - 0.5 * np.linalg.slogdet(P.T @ P)[1] == pytest.approx(
        fit.llf, abs=1e-6
    )


def test_several_starts_find_the_better_of_two_optima():
    """A wave read as noise, or as a wave: with one start from afar the first."""
    x = np.linspace(0, 10, 60)[:, None]
    y = (np.sin(6 * x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60))[:, None]
    ones = np.ones((60, 1))
    one = tune(Gaussian(100.0), x, ones, y, 1.0, settings=Tuning(starts=1))[2]
    five = tune(Gaussian(100.0), x, ones, y, 1.0)[2]
    assert five.log_likelihood > one.log_likelihood + 40
    assert five.parameters["width"] < 1
    assert len(five.optima) > 1
    values = [value for value, _ in five.optima]
    assert values == sorted(values)


def test_fixed_parameters_stay_and_bounds_hold():
    kernel = Matern([3.0, 3.0]) + 0.5 * Laplacian(1.0, columns=[0])
    settings = Tuning(fixed=["width[1]", "factor"], bounds={"right__kernel__width": (0.5, 0.6)})
    chosen, _, result = tune(kernel, X, P, Y, 1e-3, settings=settings)
    assert result.names == ("left__width[0]", "right__kernel__width", "reg")
    assert chosen.left.width[1] == 3.0
    assert chosen.right.factor == 0.5
    assert 0.5 <= chosen.right.kernel.width <= 0.6
    chosen, reg, result = tune(
        kernel, X, P, Y, 0.02, settings=Tuning(fixed=["width", "factor", "reg"])
    )
    assert (chosen, reg, result.names) == (kernel, 0.02, ())
    with pytest.raises(ValueError, match=r"fixed has 'range', which is no parameter; use some of"):
        tune(kernel, X, P, Y, 0.02, settings=Tuning(fixed="range"))
    with pytest.raises(ValueError, match="bounds has 'range'"):
        tune(kernel, X, P, Y, 0.02, settings=Tuning(bounds={"range": (1, 2)}))


@pytest.mark.parametrize(
    ("kernel", "held"),
    [
        (2.0 * Matern(), ["factor"]),
        (Matern() + 2.0 * Gaussian(), []),
        (3.0 * Matern() + 2.0 * Gaussian(), ["left__factor"]),
        (3.0 * (2.0 * Matern()), ["kernel__factor", "factor"]),
        ((3.0 * Matern()) * (2.0 * Gaussian()), ["right__factor", "left__factor"]),
        (Matern() + (3.0 * Linear()) * (2.0 * Gaussian()), ["right__right__factor"]),
    ],
)
def test_weights_that_change_nothing_are_held(kernel, held):
    assert redundant_weights(kernel) == held
    others = [n for n in kernel.tunable() if n not in held]
    box = box_of(kernel, X, 1e-3, lambda k: 1.0, Tuning())
    assert box.names == [*others, "reg"]


def test_a_weight_is_not_redundant_where_reg_is_fixed():
    assert redundant_weights(2.0 * Matern(), {"reg"}) == []
    assert redundant_weights(3.0 * Matern() + 2.0 * Gaussian(), {"right__factor"}) == []


def test_the_units_of_the_columns_do_not_matter():
    plain = tune(Matern(), X, P, Y, 1e-3, settings=TWO)
    for unit in (1e-120, 1e120):
        scaled = tune(Matern(), unit * X, P, Y, 1e-3, settings=TWO)
        assert scaled[0].width / unit == pytest.approx(plain[0].width, rel=1e-6)
        assert scaled[2].log_likelihood == pytest.approx(plain[2].log_likelihood, abs=1e-8)


@pytest.mark.parametrize("width", [1e-300, 1e300])
def test_a_start_at_the_end_of_the_range_finds_back(width):
    kernel, _, result = tune(Matern(width), X, P, Y, 1e-3, settings=TWO)
    plain = tune(Matern(), X, P, Y, 1e-3, settings=TWO)
    assert kernel.width == pytest.approx(plain[0].width, rel=1e-5)
    assert result.messages == plain[2].messages


# ---------------------------------------------------------------------------- what is said


def test_noise_has_no_width():
    y = np.random.default_rng(5).normal(size=(M, 1))
    result = tune(Matern(), X, ONES, y, 1e-3)[2]
    assert result.flat or result.on_bound
    assert any("next to nothing" in text or "bound" in text for text in result.messages)


def test_a_sample_without_noise_is_said():
    y = np.sin(X[:, :1])
    result = tune(Gaussian(columns=[0]), X, ONES, y, 1e-3)[2]
    assert "reg" in result.on_bound
    assert any("the data look free of noise" in text for text in result.messages)
    assert np.isnan(result.standard_errors[-1])
    assert np.isfinite(result.standard_errors[0])


def test_duplicated_rows_with_equal_values_look_free_of_noise():
    twice = np.tile(np.arange(M), 2)
    result = tune(Matern(), X[twice], P[twice], Y[twice], 1e-3)[2]
    assert result.on_bound == ("reg",)


def test_duplicated_rows_with_other_values_are_replicates():
    twice = np.tile(np.arange(M), 2)
    y = Y[twice] + 0.3 * np.random.default_rng(1).normal(size=(2 * M, 1))
    _, reg, result = tune(Matern(), X[twice], P[twice], y, 1e-3)
    assert not result.on_bound
    assert 0 < reg * 2 * M < 1


def test_one_observation_more_than_features_says_nothing():
    rows = slice(0, 4)
    result = tune(Matern(), X[rows], P[rows], Y[rows], 1e-3)[2]
    assert set(result.flat) | set(result.on_bound) == {"width", "reg"}
    assert result.messages
    with pytest.raises(ValueError, match="needs more observations than free features"):
        tune(Matern(), X[:3], P[:3], Y[:3], 1e-3)


def test_a_constant_column_has_no_width():
    still = np.column_stack([X[:, 0], np.full(M, 7.0)])
    kernel, _, result = tune(Matern([1.0, 5.0]), still, ONES, Y, 1e-3)
    assert kernel.width[1] == 5.0
    assert result.names == ("width[0]", "reg")
    assert "width[1] has no effect" in result.messages[0]


def test_features_that_explain_everything_leave_nothing_to_choose():
    with pytest.raises(ValueError, match="explain y to rounding"):
        tune(Matern(), X, P, P @ [[1.0], [2.0], [3.0]], 1e-3)


def test_the_full_likelihood_needs_a_definite_kernel():
    with pytest.raises(ValueError, match="use tune='reml'"):
        tune(Polyharmonic(3), X, P, Y, 1e-3, settings=Tuning("ml"))


@pytest.fixture(scope="module")
def quarters():
    """203 quarters of the American economy, from statsmodels: time in years, and the series."""
    table = macrodata.load_pandas().data
    return (table["year"] + (table["quarter"] - 1) / 4).to_numpy()[:, None], table


@pytest.mark.parametrize(
    ("series", "criterion", "said"),
    [
        ("unemp", "loo", "restricted log-likelihood at the optimum of 'loo' is "),
        ("m1", "reml", "mean squared leave-one-out residual, "),
        ("infl", "loo", None),
        ("infl", "reml", None),
    ],
)
def test_criteria_disagree_on_some_series_and_agree_on_others(quarters, series, criterion, said):
    """Unemployment rises in jumps, money grows ever faster: one width does not fit all years.

    Inflation is as rough in one decade as in the next, and both criteria choose about the same.
    """
    years, table = quarters
    y, ones = table[[series]].to_numpy(), np.ones((len(years), 1))

    def search_by(criterion):
        return tune(Gaussian(), years, ones, y, 1e-3, settings=Tuning(criterion, starts=2))

    kernel, _, found = search_by(criterion)
    rival, _, best = search_by("reml" if criterion == "loo" else "loo")
    disputes = [text for text in found.messages if text.startswith("criteria disagree")]
    loss = best.criteria["reml"] - found.criteria["reml"]
    if said is None:
        assert disputes == []
        assert max(kernel.width, rival.width) < 1.3 * min(kernel.width, rival.width)
        assert abs(loss) < 2.0
        return
    assert len(disputes) == 1
    assert said in disputes[0]
    values = re.search(r"at width = ([\d.e+-]+), reg = ([\d.e+-]+?)\.? ", disputes[0]).groups()
    named = criteria_at(
        Gaussian(float(values[0])), years, ones, y, float(values[1])
    )  # to the three digits of the message
    if criterion == "loo":
        assert float(disputes[0].split("'loo' is ")[1].split()[0]) > 10 + 2 * 2
        assert named["reml"] > found.criteria["reml"] + 10 + 2 * 2
    else:
        assert named["loo"] < 0.9 * found.criteria["loo"]


def test_a_rival_that_is_far_better_is_named(monkeypatch):
    """With a threshold that any difference passes, the warning names values and remedy."""
    monkeypatch.setattr(checks, "LARGE_LOSS", -5.0)
    messages = tune(Matern(), X, P, Y, 1e-3, settings=Tuning("loo", starts=1))[2].messages
    assert any("below that at width = " in text for text in messages)
    monkeypatch.setattr(checks, "LARGE_PART", -1.0)
    monkeypatch.setattr(checks, "MANY_ERRORS", -1e9)
    messages = tune(Matern(), X, P, Y, 1e-3, settings=Tuning(starts=1))[2].messages
    assert any("mean squared leave-one-out residual" in text for text in messages)


def test_large_samples_are_searched_on_some_rows():
    settings = Tuning(starts=1, max_rows=50)
    kernel, reg, result = tune(Matern(), X, P, Y, 1e-3, settings=settings)
    rows = result.rows
    assert rows.size == 50
    assert (np.diff(rows) > 0).all()
    again = tune(Matern(), X[rows], P[rows], Y[rows], 1e-3, settings=settings)
    assert (kernel.width, reg * M) == pytest.approx((again[0].width, again[1] * 50), rel=1e-3)


def test_it_is_said_when_nobody_asked_for_fewer_rows(monkeypatch):
    monkeypatch.setattr(search, "MAX_ROWS", 50)
    result = tune(Matern(), X, P, Y, 1e-3, settings=Tuning(starts=1))[2]
    assert "chosen on 50 of 60 rows" in result.messages[0]


def test_a_screening_on_few_rows_ends_where_a_search_on_all_does(monkeypatch):
    whole = tune(Matern(), X, P, Y, 1e-3)
    monkeypatch.setattr(search, "SCREEN_ROWS", 40)
    screened = tune(Matern(), X, P, Y, 1e-3)
    assert screened[0].width == pytest.approx(whole[0].width, rel=1e-5)
    assert screened[2].n_evaluations < whole[2].n_evaluations
