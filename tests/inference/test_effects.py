"""Effects beside independent results: the saddle system, statsmodels, refits, differences."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from kernelbook import Categorical, Gaussian, GRLSRegressor, Laplacian, Matern, Polyharmonic
from kernelbook.inference.components import summands

M = 60


def table(seed=0, m=M):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(size=m),
            "dist": rng.uniform(0.1, 1.0, size=m),
            "soil": rng.integers(0, 3, size=m),
        }
    )
    signal = 2 * np.sqrt(frame["dist"]) + 0.5 * (frame["soil"] == 1) + np.sin(6 * frame["x"])
    return frame, (signal + 0.3 * rng.standard_normal(m)).to_numpy()


KERNEL = Matern(0.3, 2.5, columns="x") + 0.5 * Gaussian(0.4, columns=["x", "dist"])
FORMULA = "1 + sqrt(dist) + C(soil)"


@pytest.fixture(scope="module", params=[None, "weights"])
def fitted(request):
    frame, y = table()
    w = None if request.param is None else np.random.default_rng(5).integers(1, 4, M).astype(float)
    return GRLSRegressor(KERNEL, FORMULA, reg=3e-3).fit(frame, y, w), frame, y, w


def saddle(model, frame, w):
    """The matrix of (2), and the feature matrix."""
    P = model.features_.transform(frame)
    noise = model.reg * (M if w is None else w.sum()) / (np.ones(M) if w is None else w)
    A = model.kernel_(frame.to_numpy(float)) + np.diag(noise)
    return np.block([[A, P], [P.T, np.zeros((P.shape[1],) * 2)]]), P


def spread(model, S, k, p, prior):
    """Standard deviations of functionals from the saddle system, without any factor of ours."""
    right = np.hstack([k, p])
    return np.sqrt(
        model.scale_ * (prior - np.einsum("ij,ji->i", right, np.linalg.solve(S, right.T)))
    )


def test_components_sum_to_f_and_have_the_deviations_of_the_saddle_system(fitted):
    model, frame, _, w = fitted
    new = table(1, 9)[0]
    values, std = model.predict_components(new, return_std=True)
    assert list(values) == [
        "Intercept",
        "sqrt(dist)",
        "C(soil)",
        "Matern(x)",
        "Gaussian(x, dist)",
    ]
    np.testing.assert_allclose(sum(values.values()), model.predict(new), atol=1e-12)
    S, P = saddle(model, frame, w)
    p, l = model.features_.transform(new), P.shape[1]
    X, Z = new.to_numpy(float), frame.to_numpy(float)
    for name, term in zip(["Matern(x)", "Gaussian(x, dist)"], summands(model.kernel_), strict=True):
        expected = spread(model, S, term(X, Z), np.zeros((9, l)), term.diag(X))
        np.testing.assert_allclose(std[name], expected, rtol=1e-8)
        np.testing.assert_allclose(values[name], term(X, Z) @ model.dual_coef_, atol=1e-12)
    soil = np.zeros_like(p)
    soil[:, 2:] = p[:, 2:]
    expected = spread(model, S, np.zeros((9, M)), soil, np.zeros(9))
    np.testing.assert_allclose(std["C(soil)"], expected, rtol=1e-7, atol=1e-9)


def test_centered_components_have_mean_zero_and_the_same_sum(fitted):
    model, frame, _, w = fitted
    values, std = model.predict_components(frame, return_std=True, centered=True)
    np.testing.assert_allclose(sum(values.values()), model.predict(frame), atol=1e-12)
    shares = np.full(M, 1 / M) if w is None else w / w.sum()
    for name, value in values.items():
        if name != "Intercept":
            assert abs(shares @ value) < 1e-12
    plain = model.predict_components(frame, return_std=True)[1]
    assert std["Intercept"].max() < 0.5 * plain["Intercept"].max()
    S, P = saddle(model, frame, w)
    Z = frame.to_numpy(float)
    term = summands(model.kernel_)[0]
    C = np.eye(M) - shares
    K = term(Z)
    expected = spread(model, S, C @ K, np.zeros_like(P), np.diag(C @ K @ C.T))
    np.testing.assert_allclose(std["Matern(x)"], expected, rtol=1e-7)


def test_summary_is_generalized_least_squares(fitted):
    model, frame, y, w = fitted
    S, P = saddle(model, frame, w)
    gls = sm.GLS(y, P, sigma=S[:M, :M]).fit()
    table = model.summary().coefficients
    factor = 1.0
    if w is not None:  # weights count observations: W - rank degrees of freedom
        factor = np.sqrt((M - 4) / (w.sum() - 4))
    np.testing.assert_allclose(table.estimate, gls.params, rtol=1e-9)
    np.testing.assert_allclose(table.std, gls.bse * factor, rtol=1e-9)
    if w is None:
        np.testing.assert_allclose(table.pvalue, gls.pvalues, rtol=1e-7)
        np.testing.assert_allclose(table.interval, gls.conf_int(), rtol=1e-7, atol=1e-9)
        restriction = np.eye(4)[2:]
        test = model.test_component("C(soil)")
        np.testing.assert_allclose(test.pvalue, gls.f_test(restriction).pvalue, rtol=1e-7)
        assert test.df == (2, M - 4)


def test_the_summary_prints_names_and_parts(fitted):
    text = str(fitted[0].summary())
    for word in ("Intercept", "sqrt(dist)", "C(soil)[T.1]", "Matern(x)", "edf", "[0.025", "reg"):
        assert word in text
    assert max(map(len, text.splitlines())) < 110


def test_the_head_has_the_restricted_likelihood(fitted):
    model, frame, y, w = fitted
    if w is not None:  # a row of weight w is w equal rows
        times = w.astype(int)
        frame, y = frame.loc[frame.index.repeat(times)], np.repeat(y, times)
        rho = model.reg * w.sum()
    else:
        rho = model.reg * M
    P = model.features_.transform(frame)
    A = model.kernel_(frame.to_numpy(float)) + rho * np.eye(len(frame))
    Q2 = null_space(P.T)
    inside = Q2.T @ A @ Q2 * model.scale_
    expected = multivariate_normal(cov=inside).logpdf(Q2.T @ y)
    assert f"Log-likelihood (REML)  {expected:.4f}" in str(model.summary())


def test_degrees_of_freedom_add_up(fitted):
    model = fitted[0]
    loo, summary = model.leave_one_out(), model.summary()
    total = model.rank_ + sum(part.df for part in summary.kernel_parts)
    np.testing.assert_allclose(loo.leverage.sum(), total, rtol=1e-9)


def test_intervals_covariances_and_draws_agree():
    frame, y = table()
    X = frame[["x"]].to_numpy()
    model = GRLSRegressor(Gaussian(0.5), features=None, reg=2e-3).fit(X, y)
    new = np.linspace(0, 1, 5)[:, None]
    kernel = ConstantKernel(model.scale_) * RBF(0.5 / np.sqrt(2))
    gpr = GaussianProcessRegressor(kernel, alpha=model.scale_ * 2e-3 * M, optimizer=None)
    mean, cov = gpr.fit(X, y).predict(new, return_cov=True)
    f, V = model.predict(new, return_cov=True)
    np.testing.assert_allclose(f, mean, atol=1e-9)
    np.testing.assert_allclose(V, cov, atol=1e-9)
    std = model.predict(new, return_std=True, noise=True)[1]
    noise = model.scale_ * 2e-3 * M
    np.testing.assert_allclose(std**2, np.diag(V) + noise, rtol=1e-9)
    np.testing.assert_allclose(
        model.predict(new, return_cov=True, noise=True)[1], V + noise * np.eye(5), atol=1e-12
    )
    f, low, high = model.predict(new, interval=0.5, noise=True)
    inside = (model.sample_y(new, 4000, random_state=0, noise=True).T > low) & (
        model.sample_y(new, 4000, random_state=0, noise=True).T < high
    )
    np.testing.assert_allclose(inside.mean(axis=0), 0.5, atol=0.04)
    np.testing.assert_allclose(np.cov(model.sample_y(new, 4000, 1)), V, atol=0.15 * V.max())


@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (KERNEL, FORMULA),
        (Polyharmonic(3, columns=["x", "dist"]), "1 + x + dist + C(soil)"),
        (Matern(0.4, 1.5, columns="x") * Categorical("soil"), "1 + dist + cos(3 * dist):x"),
    ],
)
def test_gradients_and_their_deviations_are_limits_of_differences(kernel, features):
    frame, y = table()
    model, new = GRLSRegressor(kernel, features, reg=3e-3).fit(frame, y), table(2, 6)[0]
    slope, std = model.predict_gradient(new, columns=["x", "dist"], return_std=True)
    for k, column in enumerate(["x", "dist"]):
        h = 1e-4
        right, left = new.copy(), new.copy()
        right[column] += h
        left[column] -= h
        both = pd.concat([right, left], ignore_index=True)
        f, V = model.predict(both, return_cov=True)
        D = np.hstack([np.eye(6), -np.eye(6)]) / (2 * h)
        np.testing.assert_allclose(slope[:, k], D @ f, rtol=1e-4, atol=1e-5)
        difference = np.sqrt(np.maximum(np.diag(D @ V @ D.T), 0.0))
        np.testing.assert_allclose(std[:, k], difference, rtol=2e-3, atol=1e-4)


def test_average_marginal_effects_are_limits_of_differences():
    frame, y = table()
    for kernel in (KERNEL, Matern(0.3, 1.5, columns="x")):
        model = GRLSRegressor(kernel, FORMULA, reg=3e-3).fit(frame, y)
        effects = model.marginal_effects(frame, columns=["x", "dist"])
        assert effects.names == ("x", "dist")
        for k, column in enumerate(effects.names):
            h = 1e-4
            right, left = frame.copy(), frame.copy()
            right[column] += h
            left[column] -= h
            f, V = model.predict(pd.concat([right, left], ignore_index=True), return_cov=True)
            d = np.r_[np.ones(M), -np.ones(M)] / (2 * h * M)
            np.testing.assert_allclose(effects.estimate[k], d @ f, rtol=1e-4)
            np.testing.assert_allclose(effects.std[k], np.sqrt(d @ V @ d), rtol=1e-3)


def test_a_process_without_derivative_has_infinite_deviations():
    frame, y = table()
    model = GRLSRegressor(Laplacian(0.5, columns="x"), FORMULA, reg=3e-3).fit(frame, y)
    assert np.isinf(model.predict_gradient(frame[:3], "x", return_std=True)[1]).all()
    assert np.isinf(model.marginal_effects(frame, "x").std).all()


def test_leave_one_out_is_a_refit(fitted):
    model, frame, y, w = fitted
    loo, W = model.leave_one_out(), M if w is None else w.sum()
    for k in (0, 7, 31):
        rest, own = np.arange(M) != k, 1.0 if w is None else w[k]
        weights = None if w is None else w[rest]
        reg = model.reg * W / (W - own)
        other = GRLSRegressor(model.kernel, model.features, reg=reg).fit(
            frame[rest], y[rest], weights
        )
        f, std = other.predict(frame[k : k + 1], return_std=True)
        noise = other.scale_ * model.reg * W / own
        np.testing.assert_allclose(loo.residual[k], y[k] - f[0], rtol=1e-8)
        studentized = (y[k] - f[0]) / np.sqrt(std[0] ** 2 + noise)
        np.testing.assert_allclose(loo.studentized[k], studentized, rtol=1e-7)


def test_a_sample_that_a_feature_sees_alone_has_no_leave_one_out_residual():
    X = np.arange(10.0)[:, None]
    model = GRLSRegressor(Gaussian(2.0), lambda X: np.hstack([X**0, X == 3]), reg=0.1)
    loo = model.fit(X, np.sin(X[:, 0])).leave_one_out()
    assert np.flatnonzero(np.isnan(loo.residual)).tolist() == [3]


def test_dependent_and_absent_features_are_named():
    frame, y = table()
    frame["none"], frame["twice"] = 0.0, 2 * frame["dist"]
    model = GRLSRegressor(Gaussian(0.4, columns="x"), "1 + none + dist + twice")
    with pytest.warns(UserWarning, match="every row: none; .*each other: dist, twice"):
        model.fit(frame, y)
    said = model.summary()
    assert said.notes == [
        "Zero on the sample: none.",
        "Dependent on the sample, so that their coefficients are not unique: dist, twice.",
    ]
    assert np.isnan(said.coefficients.std[1:]).all()
    assert np.isfinite(said.coefficients.std[0])


def test_a_model_without_level_says_so():
    frame, y = table()
    model = GRLSRegressor(Gaussian(0.4, columns="x"), "0 + dist").fit(frame, y)
    assert model.summary().notes == [
        "The constant is not in the span of the features: f has no free level."
    ]
    values = model.predict_components(frame, centered=True)
    np.testing.assert_allclose(sum(values.values()), model.predict(frame), atol=1e-12)


def test_conditionally_positive_definite_kernels_have_components_but_no_deviations_of_them():
    frame, y = table()
    model = GRLSRegressor(Polyharmonic(3, columns="x"), "1 + x + dist").fit(frame, y)
    parts = model.predict_components(frame)
    np.testing.assert_allclose(sum(parts.values()), model.predict(frame), atol=1e-9)
    with pytest.raises(ValueError, match="convention"):
        model.predict_components(frame, return_std=True)
    assert np.isnan(model.summary().coefficients.std).all()
    assert model.test_component("Polyharmonic(x)").pvalue < 0.01


REFUSALS = {
    "is no component; use one of Intercept": lambda m, X: m.test_component("soil"),
    "interval=1.5 must lie between": lambda m, X: m.predict(X, interval=1.5),
    "pass one of them": lambda m, X: m.predict(X, return_std=True, interval=0.9),
    "noise=True changes how sure": lambda m, X: m.predict(X, noise=True),
    "X has no column 'y'; choose from x, dist, soil": lambda m, X: m.predict_gradient(X, ["y"]),
    "has levels, and no derivative": lambda m, X: m.predict_gradient(X),
    "n_samples=0": lambda m, X: m.sample_y(X, 0),
    "level must be a number": lambda m, X: m.summary("x"),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals_name_the_argument(message):
    frame, y = table()
    model = GRLSRegressor(KERNEL, FORMULA, reg=3e-3).fit(frame, y)
    with pytest.raises((ValueError, TypeError), match=message):
        REFUSALS[message](model, frame)


def test_methods_without_a_posterior_and_several_outputs_say_what_to_do():
    X, y = np.linspace(0, 1, 80)[:, None], np.linspace(0, 1, 80)
    quick = GRLSRegressor(Gaussian(0.3), solver="nystrom", n_centers=20, random_state=0).fit(X, y)
    assert set(quick.predict_components(X)) == {"Intercept", "Gaussian"}
    with pytest.raises(ValueError, match="needs 'cholesky' or 'nullspace'"):
        quick.summary()
    two = GRLSRegressor(Gaussian(0.3)).fit(X, np.column_stack([y, y**2]))
    assert two.predict_components(X)["Gaussian"].shape == (80, 2)
    assert two.leave_one_out().residual.shape == (80, 2)
    with pytest.raises(ValueError, match="fit a learner for each"):
        two.summary()


def test_estimates_as_a_data_frame():
    frame, y = table()
    model = GRLSRegressor(Gaussian(0.4, columns="x"), "1 + dist").fit(frame, y)
    found = model.summary(0.9).coefficients
    numbers = found.to_frame()
    assert numbers.index.tolist() == ["Intercept", "dist"]
    assert numbers.columns.tolist() == ["coef", "std err", "t", "P>|t|", "[0.05", "0.95]", "df"]
    np.testing.assert_array_equal(numbers["P>|t|"], found.pvalue)
    np.testing.assert_array_equal(numbers[["[0.05", "0.95]"]], found.interval)
