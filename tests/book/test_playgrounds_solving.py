"""Losses, the path in C, likelihood and SMO in the playgrounds, beside independent results."""

import numpy as np
import pytest
from scipy import linalg, stats

from kernelbook import (
    Gaussian,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
    SVMGBClassifier,
    svm_path,
)
from tests.book.test_playgrounds import answers, assert_close, needs_node, points

pytestmark = needs_node


def two_classes(rng, m, noise=0.5):
    X = rng.uniform((-2, -1.5), (2, 1.5), (m, 2))
    y = np.where(X[:, 1] - 0.4 * X[:, 0] + noise * rng.standard_normal(m) > 0, 1.0, -1.0)
    return X, y


NAMES = {"bias": 0, "linear": 1, "quadratic": 2}


@pytest.mark.parametrize(
    ("m", "features", "width", "reg"),
    [(24, "linear", 1.0, 1.0), (40, "bias", 0.5, 0.1), (60, "quadratic", 2.0, 1e-2)],
)
def test_the_two_losses_are_the_two_learners(m, features, width, reg):
    X, y = two_classes(np.random.default_rng(m), m)
    settings = dict(features=features, width=width, reg=reg)
    [js] = answers([dict(kind="losses", points=points(X, y, "label"), settings=settings)])
    free = Polynomials(NAMES[features])
    squared = GRLSRegressor(Gaussian(width), free, reg=reg).fit(X, y)
    hinge = SVMGBClassifier(Gaussian(width), free, C=1 / (2 * reg * m)).fit(X, y)
    assert_close(js["squared"]["values"], squared.predict(X))
    assert_close(js["squared"]["c"], squared.dual_coef_)
    assert_close(js["hinge"]["values"], hinge.decision_function(X))
    beta = np.zeros(m)
    beta[hinge.support_] = hinge.dual_coef_[0]
    assert_close(js["hinge"]["c"], beta, scale=1 / (2 * reg * m))


@pytest.mark.parametrize("features", ["bias", "linear"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_breakpoints_are_those_of_the_path_by_pivots(features, seed):
    X, y = two_classes(np.random.default_rng(seed), 20, noise=0.8)
    settings = dict(features=features, width=0.5)
    at = np.geomspace(0.011, 990, 15).tolist()
    case = dict(kind="path", points=points(X, y, "label"), settings=settings, at=at)
    [js] = answers([case])
    kernel, free = Gaussian(0.5), Polynomials(NAMES[features])
    path = svm_path(kernel(X), free.fit(X).transform(X), y, C_max=1e3)
    assert js["unclear"] == 0
    ends = path.C[(path.C > 0.01) & (path.C < 1e3)]
    assert len(ends) >= 5
    np.testing.assert_allclose(js["breakpoints"], ends, rtol=1e-6)
    for C, alpha in zip(at, js["alpha"], strict=True):
        model = SVMGBClassifier(kernel, free, C=C).fit(X, y)
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        assert_close(alpha, y * beta, scale=C)


@pytest.mark.parametrize("degree", [-1, 0, 2])
@pytest.mark.parametrize(("width", "reg"), [(0.7, 1e-3), (3.0, 1e-1)])
def test_the_likelihood_is_the_density_of_the_contrasts(degree, width, reg):
    rng = np.random.default_rng(degree + 5)
    m = 18
    x = rng.uniform(0, 10, m)
    y = np.sin(x) + 0.3 * rng.standard_normal(m)
    case = dict(
        kind="likelihood", points=points(x[:, None], y), degree=degree, width=width, reg=reg
    )
    [js] = answers([case])
    P = np.vander(x, degree + 1, increasing=True)
    Q = linalg.null_space(P.T) if degree >= 0 else np.eye(m)
    covariance = Q.T @ (Gaussian(width)(x[:, None]) + m * reg * np.eye(m)) @ Q
    z = Q.T @ y
    scale = z @ np.linalg.solve(covariance, z) / len(z)
    density = stats.multivariate_normal(cov=scale * covariance)
    assert_close(js["deviance"], -2 * density.logpdf(z))
    features = Polynomials(degree) if degree >= 0 else None
    model = GRLSRegressorCV(Gaussian(width), features, regs=[reg]).fit(x[:, None], y)
    assert_close(js["error"], np.mean(model.loo_errors_**2))


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(("features", "rounds"), [("bias", 1), ("linear", 12)])
def test_smo_ends_at_the_optimum(second, features, rounds):
    X, y = two_classes(np.random.default_rng(7), 24, noise=1.0)
    settings = dict(features=features, width=0.5, C=1.0, rho=1.0)
    case = dict(
        kind="smo",
        points=points(X, y, "label"),
        settings=settings,
        second=second,
        rounds=rounds,
    )
    [js] = answers([case])
    model = SVMGBClassifier(Gaussian(0.5), Polynomials(NAMES[features]), C=1.0).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    assert_close(js["best"], -model.certificate_.dual)
    assert_close(js["beta"], beta, scale=10)
    P = np.column_stack([np.ones(len(y)), X])[:, : len(js["lam"])]
    values = Gaussian(0.5)(X) @ beta + P @ js["lam"]
    assert_close(values, model.decision_function(X), scale=10)
