"""Weights count rows, for transformers that learn from the rows too."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from kernelbook import Gaussian, GRLSRegressor, SVMGBClassifier
from kernelbook.features import evaluate


@pytest.mark.parametrize(
    "features",
    [
        StandardScaler(),
        PCA(2, whiten=True),
        SplineTransformer(4, degree=2, knots="quantile"),
        make_pipeline(StandardScaler(), SplineTransformer(4, degree=2, knots="quantile")),
        make_pipeline(PCA(2), PolynomialFeatures(2)),
        make_union(PCA(1), StandardScaler(with_std=False)),
    ],
    ids=lambda f: type(f).__name__,
)
@pytest.mark.parametrize("learner", [GRLSRegressor, SVMGBClassifier])
def test_weights_are_duplicates_for_transformers_that_learn(learner, features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) ** 3
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    y = y if learner is GRLSRegressor else y > 0
    w = rng.integers(0, 4, size=40)
    model = learner(Gaussian(2.0), features)
    weighted, twice = (
        clone(model).fit(X, y, w),
        clone(model).fit(np.repeat(X, w, 0), np.repeat(y, w)),
    )
    f, g = (getattr(m, "decision_function", m.predict)(X) for m in (weighted, twice))
    np.testing.assert_allclose(f, g, atol=1e-7)
    assert_same_span(weighted.features_, twice.features_, X)


def assert_same_span(one, other, X):
    P, Q = evaluate(one, X), evaluate(other, X)
    np.testing.assert_allclose(P, Q, atol=1e-8 * np.abs(P).max())


def test_weights_that_are_no_counts_go_where_they_are_taken():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(30, 2)), rng.uniform(0.1, 3.0, size=30)
    w[:3] = 0.0
    y = X[:, 0]
    scaler = GRLSRegressor(features=StandardScaler()).fit(X, y, w).features_
    np.testing.assert_allclose(scaler.mean_, np.average(X, axis=0, weights=w), rtol=1e-12)
    # Principal components take none: rows of weight zero are absent, the others count once.
    components = GRLSRegressor(features=PCA(1)).fit(X, y, w).features_
    np.testing.assert_allclose(components.mean_, X[3:].mean(axis=0), rtol=1e-12)
    # Weights whose sum is astronomical are no reason to repeat rows.
    GRLSRegressor(features=PCA(1)).fit(X, y, np.full(30, 1e12))


def test_the_steps_of_a_pipeline_that_take_weights_get_them():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(30, 2)), rng.uniform(0.1, 3.0, size=30)
    steps = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
    fitted = GRLSRegressor(features=steps).fit(X, X[:, 0], w).features_
    mean = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(fitted[0].mean_, mean, rtol=1e-12)
    with config_context(enable_metadata_routing=True):
        unasked = GRLSRegressor(features=steps).fit(X, X[:, 0], w).features_
        np.testing.assert_allclose(unasked[0].mean_, X.mean(axis=0), atol=1e-12)
        steps[0].set_fit_request(sample_weight=True)
        asked = GRLSRegressor(features=steps).fit(X, X[:, 0], w).features_
        np.testing.assert_allclose(asked[0].mean_, mean, rtol=1e-12)
