"""The choice of reg: exact leave-one-out, GCV and df against refits, RidgeCV and the formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeCV

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Linear,
    Multiquadric,
    Polynomials,
    ThinPlate,
)
from tests.naive import grls as naive

REGS = np.geomspace(1e-5, 10, 7)


def data(m=30, d=2, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, d))
    y = np.sin(3 * X[:, 0]) + X.sum(axis=1) ** 2 + 0.3 * rng.normal(size=m)
    if outputs:
        y = y[:, None] * rng.normal(size=outputs) + 0.2 * rng.normal(size=(m, outputs))
    return X, y, rng.uniform(-1.2, 1.2, size=(40, d))


@pytest.mark.parametrize(
    ("kernel", "features"),
    [
        (Gaussian(0.5), "constant"),
        (Gaussian(0.5), None),
        (Gaussian(0.5), Polynomials(2)),
        (Linear(), "constant"),
        (Multiquadric(1.0), Polynomials(1)),
        (ThinPlate(), Polynomials(1)),
    ],
)
@pytest.mark.parametrize("outputs", [None, 2])
def test_leave_one_out_equals_refits(kernel, features, outputs):
    X, y, Z = data(outputs=outputs)
    m = len(X)
    ours = GRLSRegressorCV(kernel, features, regs=REGS).fit(X, y)
    Phi, P = kernel(X), ours._features_at(X)
    brute = np.array([naive.leave_one_out(Phi, P, y, reg) for reg in REGS[::-1]])
    np.testing.assert_array_equal(ours.path_.reg, REGS[::-1])
    np.testing.assert_allclose(
        ours.path_.loo, np.mean(brute**2, axis=tuple(range(1, brute.ndim))), rtol=1e-8
    )
    best = np.argmin(ours.path_.loo)
    assert ours.reg_ == REGS[::-1][best]
    assert ours.best_score_ == -ours.path_.loo[best]
    np.testing.assert_allclose(ours.loo_errors_, brute[best], atol=1e-9)
    for j, reg in enumerate(ours.path_.reg):
        G = naive.G_matrix(Phi, P, reg)
        c = (G @ y).reshape(m, -1)
        gcv = m * np.mean(np.sum(c**2, axis=0)) / np.trace(G) ** 2
        np.testing.assert_allclose(ours.path_.gcv[j], gcv, rtol=1e-8)
        np.testing.assert_allclose(ours.path_.df[j], m - m * reg * np.trace(G), atol=1e-7)
    # and through the estimators themselves, with mγ held
    i = 4
    rest = np.delete(np.arange(m), i)
    one = GRLSRegressor(kernel, features, reg=ours.reg_ * m / (m - 1)).fit(X[rest], y[rest])
    np.testing.assert_allclose(ours.loo_errors_[i], y[i] - one.predict(X[[i]])[0], atol=1e-8)
    same = GRLSRegressor(kernel, features, reg=ours.reg_).fit(X, y)
    np.testing.assert_array_equal(ours.predict(Z), same.predict(Z))
    np.testing.assert_array_equal(ours.scale_, same.scale_)


@pytest.mark.parametrize("intercept", [False, True])
def test_linear_kernel_equals_ridge_cv(intercept):
    X, y, Z = data(m=50, d=4)
    alphas = 50 * REGS
    ridge = RidgeCV(alphas, fit_intercept=intercept, store_cv_results=True).fit(X, y)
    ours = GRLSRegressorCV(Linear(), "constant" if intercept else None, regs=REGS).fit(X, y)
    np.testing.assert_allclose(50 * ours.reg_, ridge.alpha_)
    np.testing.assert_allclose(ours.best_score_, ridge.best_score_)
    chosen = int(np.argmin(np.abs(alphas - ridge.alpha_)))
    np.testing.assert_allclose(ours.loo_errors_**2, ridge.cv_results_[:, chosen], rtol=1e-8)
    np.testing.assert_allclose(ours.predict(Z), ridge.predict(Z), atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), ThinPlate()])
def test_weights_leave_out_one_observation(kernel):
    """Of weight w, min(1, w) is left out and ρ = W·reg is held."""
    X, y, _ = data()
    rng = np.random.default_rng(1)
    w = rng.choice([0.3, 0.9, 1.0, 1.5, 3.0], size=len(X))
    reg = 1e-2
    ours = GRLSRegressorCV(kernel, Polynomials(1), regs=[reg]).fit(X, y, w)
    Phi, P = kernel(X), ours._features_at(X)
    for i in range(len(X)):
        rest = w.copy()
        rest[i] -= min(1.0, w[i])
        kept = np.flatnonzero(rest > 1e-12)
        held = reg * w.sum() / rest[kept].sum()
        c, lam = naive.saddle(Phi[np.ix_(kept, kept)], P[kept], y[kept], held, rest[kept])
        residual = y[i] - Phi[i, kept] @ c - P[i] @ lam
        np.testing.assert_allclose(ours.loo_errors_[i], residual, atol=1e-9)
    np.testing.assert_allclose(ours.path_.loo, np.sum(w * ours.loo_errors_**2) / w.sum())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([Gaussian(0.5), ThinPlate(), Linear()]),
    st.sampled_from(["loo", "gcv"]),
)
def test_weights_are_duplicates(seed, kernel, scoring):
    rng = np.random.default_rng(seed)
    X, y, Z = data(m=20, seed=seed)
    counts = rng.integers(0, 4, size=20)
    counts[:5] += 1
    again = np.repeat(np.arange(20), counts)
    a = GRLSRegressorCV(kernel, Polynomials(1), scoring=scoring).fit(X, y, sample_weight=counts)
    b = GRLSRegressorCV(kernel, Polynomials(1), scoring=scoring).fit(X[again], y[again])
    np.testing.assert_allclose(a.path_.reg, b.path_.reg, rtol=1e-8)
    for name in ("loo", "gcv", "df"):
        # The smallest reg of the grid are at the edge of what rounding leaves of the spectrum.
        ours, theirs = getattr(a.path_, name)[:40], getattr(b.path_, name)[:40]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(a.reg_, b.reg_, rtol=1e-8)
    np.testing.assert_allclose(a.predict(Z), b.predict(Z), atol=1e-6)
    assert np.isnan(a.loo_errors_[counts == 0]).all()
    np.testing.assert_allclose(a.loo_errors_[again], b.loo_errors_, atol=1e-6)


def test_classifier_leaves_labels_out():
    X, _, _ = data(m=40)
    rng = np.random.default_rng(0)
    for classes in (2, 3):
        score = X[:, 0] + 0.3 * rng.normal(size=40)
        labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
        ours = GRLSClassifierCV(Gaussian(0.7), regs=REGS, scoring="misclassification")
        ours.fit(X, labels)
        wrong, square = np.zeros(len(REGS)), np.zeros(len(REGS))
        for j, reg in enumerate(REGS[::-1]):
            for i in range(40):
                rest = np.delete(np.arange(40), i)
                one = GRLSClassifier(Gaussian(0.7), reg=reg * 40 / 39).fit(X[rest], labels[rest])
                wrong[j] += one.predict(X[[i]])[0] != labels[i]
                f = np.ravel(one.decision_function(X[[i]]))
                target = np.where(np.arange(classes) == labels[i], 1.0, -1.0)
                square[j] += np.mean((f - (target if classes > 2 else target[1])) ** 2)
        np.testing.assert_allclose(ours.path_.misclassification, wrong / 40)
        np.testing.assert_allclose(ours.path_.loo, square / 40, rtol=1e-8)
        # ties go to the largest reg, which comes first
        assert ours.reg_ == REGS[::-1][np.argmin(wrong)]
        np.testing.assert_allclose(ours.best_score_, -wrong.min() / 40)
        assert (
            GRLSClassifierCV(Gaussian(0.7), regs=REGS).fit(X, labels).reg_
            == (REGS[::-1][np.argmin(square)])
        )


def test_undefined_where_a_feature_sees_one_sample_only():
    X, y, _ = data()

    def features(X):
        return np.c_[np.ones(len(X)), np.abs(X[:, 0] - X0) < 1e-12]

    X0 = X[7, 0]
    ours = GRLSRegressorCV(Gaussian(0.5), features, regs=REGS)
    with pytest.warns(UserWarning, match=r"undefined for 1 of 30 samples \(\[7\]"):
        ours.fit(X, y)
    assert np.flatnonzero(np.isnan(ours.loo_errors_)).tolist() == [7]
    rest = np.delete(np.arange(30), 7)
    # without the sample, its feature is zero and λ does not matter elsewhere
    other = GRLSRegressorCV(Gaussian(0.5), regs=REGS * 30 / 29).fit(X[rest], y[rest])
    np.testing.assert_allclose(ours.path_.loo, other.path_.loo, rtol=1e-9)
    # two observations of that sample: now one of them can be left out
    w = np.ones(30)
    w[7] = 2
    defined = GRLSRegressorCV(Gaussian(0.5), features, regs=REGS).fit(X, y, w)
    assert np.isfinite(defined.loo_errors_).all()
    with pytest.raises(ValueError, match="n_samples=1"):
        GRLSRegressorCV().fit(X[:1], y[:1])


def test_the_default_grid_moves_with_the_units():
    X, y, Z = data(m=60)
    plain = GRLSRegressorCV(Gaussian(0.5), Polynomials(1)).fit(X, y)
    scaled = GRLSRegressorCV(1e6 * Gaussian(0.5), Polynomials(1)).fit(X, 1e-4 * y)
    assert len(plain.path_.reg) == 50
    np.testing.assert_allclose(scaled.reg_, 1e6 * plain.reg_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict(Z), 1e-4 * plain.predict(Z), atol=1e-12)
    assert plain.path_.reg[0] > plain.reg_ > plain.path_.reg[-1]
    thin = GRLSRegressorCV(ThinPlate(), Polynomials(1)).fit(X, y)
    far = GRLSRegressorCV(ThinPlate(), Polynomials(1)).fit(1e3 * X, y)
    np.testing.assert_allclose(thin.predict(Z), far.predict(1e3 * Z), atol=1e-7)


def test_gcv_and_loo_choose_by_their_own_criterion():
    X, y, _ = data(m=40)
    for scoring in ("loo", "gcv"):
        ours = GRLSRegressorCV(Gaussian(0.3), scoring=scoring).fit(X, y)
        criterion = getattr(ours.path_, scoring)
        assert ours.reg_ == ours.path_.reg[np.argmin(criterion)]
        assert ours.best_score_ == -criterion.min()


def test_features_that_explain_y_leave_nothing_to_choose():
    X, _, Z = data()
    ours = GRLSRegressorCV(Gaussian(0.5), Polynomials(1)).fit(X, 1 + X[:, 0])
    np.testing.assert_allclose(ours.predict(Z), 1 + Z[:, 0], atol=1e-12)
    np.testing.assert_allclose(ours.loo_errors_, 0, atol=1e-12)
    flat = GRLSRegressorCV(Linear(), Polynomials(1)).fit(X, X[:, 0] ** 2)
    np.testing.assert_allclose(flat.dual_coef_ @ Linear()(X), 0, atol=1e-7)


def test_precomputed_path():
    X, y, Z = data()
    k = ThinPlate()
    features = Polynomials(1).fit(X)
    a = GRLSRegressorCV(k, Polynomials(1), regs=REGS).fit(X, y)
    b = GRLSRegressorCV("precomputed", regs=REGS).fit(k(X), y, P=features.transform(X))
    assert a.reg_ == b.reg_
    np.testing.assert_allclose(a.predict(Z), b.predict(k(Z, X), P=features.transform(Z)), atol=1e-9)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        GRLSRegressorCV("precomputed").fit(k(X), y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regs": []}, "regs"),
        ({"regs": [1.0, 0.0]}, "positive"),
        ({"regs": [1.0, np.nan]}, "positive"),
        ({"regs": [[1.0]]}, "list of numbers"),
        ({"scoring": "r2"}, "scoring='r2'"),
        ({"solver": "cg"}, "solver='cg'"),
        ({"regs": 1.0}, "list of numbers"),
    ],
)
def test_what_is_refused(change, message):
    X, y, _ = data()
    with pytest.raises(ValueError, match=message):
        GRLSRegressorCV(**change).fit(X, y)


def test_gcv_needs_enough_observations():
    X, y, _ = data()
    with pytest.raises(ValueError, match="count observations"):
        GRLSRegressorCV(features=Polynomials(2), scoring="gcv").fit(X, y, np.full(30, 1e-3))


def test_a_grid_of_words_is_refused():
    X, y, _ = data()
    with pytest.raises(TypeError, match="regs must be a list of numbers; got 'auto'"):
        GRLSRegressorCV(regs="auto").fit(X, y)
