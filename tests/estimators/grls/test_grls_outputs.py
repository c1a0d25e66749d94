"""Several outputs, classes, precomputed kernels: the same mathematics through other doors."""

import numpy as np
import pytest

from kernelbook import Gaussian, GRLSClassifier, GRLSRegressor, Polynomials, ThinPlate
from kernelbook.solvers.grls.dense import System


def data(m=60, outputs=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(m, 2))
    y = np.sin(3 * X[:, 0]) + X.sum(axis=1) ** 2 + 0.3 * rng.normal(size=m)
    if outputs:
        y = y[:, None] * rng.normal(size=outputs) + 0.2 * rng.normal(size=(m, outputs))
    return X, y, rng.uniform(-1.2, 1.2, size=(40, 2))


def waves(X):
    return np.c_[np.ones(len(X)), np.sin(3 * X[:, 0]), np.exp(X[:, 1])]


def test_outputs_share_a_factorization_and_equal_single_fits(monkeypatch):
    X, Y, Z = data(outputs=3)
    calls = []
    init = System.__init__
    monkeypatch.setattr(System, "__init__", lambda *a, **k: (calls.append(1), init(*a, **k))[1])
    joint = GRLSRegressor(Gaussian(0.5), waves).fit(X, Y)
    assert len(calls) == 1
    mean, std = joint.predict(Z, return_std=True)
    assert joint.coef_.shape == (3, 3)
    assert joint.coef_cov_.shape == (3, 3, 3)
    assert len(joint.certificate_.parts) == 3
    for j in range(3):
        single = GRLSRegressor(Gaussian(0.5), waves).fit(X, Y[:, j])
        a, b = single.predict(Z, return_std=True)
        np.testing.assert_allclose(mean[:, j], a, atol=1e-12)
        np.testing.assert_allclose(std[:, j], b, atol=1e-12)
        np.testing.assert_allclose(joint.coef_cov_[j], single.coef_cov_)
        assert isinstance(single.scale_, float)


def test_classifier_is_one_against_the_rest_on_one_factorization(monkeypatch):
    X, _, Z = data()
    labels = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)]
    calls = []
    init = System.__init__
    monkeypatch.setattr(System, "__init__", lambda *a, **k: (calls.append(1), init(*a, **k))[1])
    ours = GRLSClassifier(Gaussian(0.5), waves).fit(X, labels)
    assert len(calls) == 1
    values = ours.decision_function(Z)
    for j, label in enumerate(ours.classes_):
        target = np.where(labels == label, 1.0, -1.0)
        one = GRLSRegressor(Gaussian(0.5), waves).fit(X, target)
        np.testing.assert_allclose(values[:, j], one.predict(Z), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(Z), ours.classes_[values.argmax(axis=1)])
    assert ours.score(X, labels) > 0.9


def test_two_classes_have_one_column():
    X, _, Z = data()
    labels = np.where(X[:, 0] > 0, 7, -2)
    ours = GRLSClassifier(Gaussian(0.5)).fit(X, labels)
    values = ours.decision_function(Z)
    assert values.shape == (len(Z),)
    assert ours.dual_coef_.shape == (1, len(X))
    np.testing.assert_array_equal(ours.predict(Z), np.where(values > 0, 7, -2))
    regressor = GRLSRegressor(Gaussian(0.5)).fit(X, np.where(labels == 7, 1.0, -1.0))
    np.testing.assert_allclose(values, regressor.predict(Z), atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), ThinPlate()])
def test_precomputed_equals_the_kernel(kernel):
    X, y, Z = data()
    w = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    features = Polynomials(1).fit(X[w > 0])
    G, P = kernel(X), features.transform(X)
    G.flags.writeable = False
    ours = GRLSRegressor(kernel, Polynomials(1), reg=1e-2).fit(X, y, w)
    given_ = GRLSRegressor("precomputed", reg=1e-2).fit(G, y, w, P=P)
    Gz, Pz = kernel(Z, X), features.transform(Z)
    mean, std = given_.predict(Gz, P=Pz, return_std=True, diag=kernel.diag(Z))
    expected = ours.predict(Z, return_std=True)
    np.testing.assert_allclose(mean, expected[0], atol=1e-9)
    np.testing.assert_allclose(std, expected[1], atol=1e-8)
    if kernel.cpd_order:
        with pytest.raises(AttributeError, match="not positive semidefinite"):
            _ = given_.coef_cov_
    else:
        np.testing.assert_allclose(given_.coef_cov_, ours.coef_cov_, atol=1e-9)


def test_precomputed_with_named_features():
    X, y, Z = data()
    k = Gaussian(0.5)
    for features in ("constant", None):
        ours = GRLSRegressor("precomputed", features).fit(k(X), y)
        same = GRLSRegressor(k, features).fit(X, y)
        np.testing.assert_allclose(ours.predict(k(Z, X)), same.predict(Z), atol=1e-10)
    classes = (y > 0).astype(int)
    a = GRLSClassifier("precomputed").fit(k(X), classes, P=waves(X))
    b = GRLSClassifier(k, waves).fit(X, classes)
    np.testing.assert_allclose(
        a.decision_function(k(Z, X), P=waves(Z)), b.decision_function(Z), atol=1e-10
    )


def test_coefficient_covariance_is_refused_for_conditional_kernels():
    X, y, _ = data()
    ours = GRLSRegressor(ThinPlate(), Polynomials(1)).fit(X, y)
    with pytest.raises(AttributeError, match="conditionally"):
        _ = ours.coef_cov_
