"""The G-RLS learners at home in scikit-learn: its own checks, and what users do with estimators."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import (
    Constant,
    Gaussian,
    GRLSClassifier,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Linear,
    Polynomials,
    ThinPlate,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
Z = RNG.normal(size=(9, 3))

LEARNERS = [GRLSRegressor, GRLSClassifier, GRLSRegressorCV, GRLSClassifierCV]


def target(learner):
    return LABELS if "Classifier" in learner.__name__ else Y


def output(estimator, Z=Z):
    return getattr(estimator, "decision_function", estimator.predict)(Z)


# On thirty points of noise the smallest reg may win, beyond what rounding lets it reach.
@pytest.mark.filterwarnings("ignore:solver=.* linear system is too ill-conditioned")
@parametrize_with_checks(
    [
        *(learner() for learner in LEARNERS),
        GRLSRegressor(Gaussian(2.0), None, solver="nullspace"),
        GRLSRegressor(Linear(), reg=1.0),
        GRLSClassifier(Linear(), None, reg=1.0),
        GRLSClassifierCV(scoring="misclassification"),
        GRLSRegressorCV(Linear(), scoring="gcv"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kernel", [None, Gaussian(2.0), ThinPlate()])
def test_clone_and_pickle(learner, kernel):
    estimator = learner(kernel, Polynomials(1))
    assert repr(clone(estimator)) == repr(estimator)
    estimator.fit(X, target(learner))
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(output(again), output(estimator))
    assert again.certificate_ == estimator.certificate_
    if hasattr(estimator, "decision_function"):
        return
    a = estimator.predict(Z, return_std=True)
    for loaded in (again, pickle.loads(pickle.dumps(estimator))):  # before and after factoring
        np.testing.assert_array_equal(loaded.predict(Z, return_std=True)[1], a[1])


@pytest.mark.parametrize("learner", LEARNERS)
def test_kinds_of_arrays(learner):
    y = target(learner)
    plain = output(learner(Gaussian(2.0), Polynomials(1)).fit(X, y))
    frame = pd.DataFrame(X, columns=list("uvw"))
    locked = X.copy()
    locked.flags.writeable = False
    wide = np.zeros((80, 6))
    wide[::2, ::2] = X
    series = pd.Series(y)
    for points, values in (
        (frame, series),
        (locked, y),
        (np.asfortranarray(X), y),
        (wide[::2, ::2], y),
        (X[::-1][::-1], list(y)),
        (X.tolist(), y),
    ):
        fitted = learner(Gaussian(2.0), Polynomials(1)).fit(points, values)
        at = pd.DataFrame(Z, columns=list("uvw")) if points is frame else Z
        np.testing.assert_allclose(output(fitted, at), plain, rtol=1e-12, atol=1e-12)
    single = X.astype(np.float32)
    a = learner(Gaussian(2.0), Polynomials(1)).fit(single, y)
    b = learner(Gaussian(2.0), Polynomials(1)).fit(single.astype(float), y)
    np.testing.assert_array_equal(output(a, Z.astype(np.float32)), output(b, Z.astype(np.float32)))


def test_data_is_not_written_to():
    points, values, w = X.copy(), Y.copy(), RNG.uniform(1, 2, size=40)
    G = Gaussian(2.0)(X)
    before = points.copy(), values.copy(), w.copy(), G.copy()
    GRLSRegressor().fit(points, values, w)
    GRLSRegressorCV().fit(points, values, w)
    for learner in (GRLSRegressor, GRLSRegressorCV):
        learner("precomputed").fit(G, values, w)
    for now, then in zip((points, values, w, G), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_frames_reach_the_features_by_name():
    frame = pd.DataFrame(X, columns=list("uvw"))
    features = FeatureUnion(
        [("one", Constant()), ("v", ColumnTransformer([("v", StandardScaler(), ["v"])]))]
    )
    ours = GRLSRegressor(Gaussian(2.0), features).fit(frame, Y)
    hand = GRLSRegressor(Gaussian(2.0), lambda X: np.c_[np.ones(len(X)), X[:, 1]]).fit(X, Y)
    at = pd.DataFrame(Z, columns=list("uvw"))
    for a, b in zip(
        ours.predict(at, return_std=True), hand.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(at[["v", "u", "w"]])


def test_transformers_as_features():
    features = FeatureUnion([("one", Constant()), ("pca", PCA(2))])
    ours = GRLSRegressor(Gaussian(2.0), features).fit(X, Y)
    scores = PCA(2).fit(X)
    hand = GRLSRegressor(Gaussian(2.0), lambda A: np.c_[np.ones(len(A)), scores.transform(A)]).fit(
        X, Y
    )
    np.testing.assert_allclose(ours.predict(Z), hand.predict(Z), atol=1e-10)
    as_sparse = FunctionTransformer(lambda A: sparse.csr_matrix(A[:, :1]))
    ours = GRLSRegressor(Gaussian(2.0), as_sparse).fit(X, Y)
    hand = GRLSRegressor(Gaussian(2.0), lambda A: A[:, :1]).fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), hand.predict(Z), atol=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
def test_sparse_rows(learner):
    y, points, at = target(learner), sparse.csr_matrix(X), sparse.csr_matrix(Z)
    dense = learner(Linear()).fit(X, y)
    thin = learner(Linear()).fit(points, y)
    np.testing.assert_allclose(output(thin, at), output(dense), atol=1e-10)
    if not hasattr(thin, "decision_function"):
        a, b = thin.predict(at, return_std=True), dense.predict(Z, return_std=True)
        np.testing.assert_allclose(a[1], b[1], atol=1e-9)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        learner(Gaussian(1.0)).fit(points, y)


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_grid_search_over_kernel_and_features():
    grid = GridSearchCV(
        GRLSRegressor(Gaussian(1.0), Polynomials(1)),
        {"kernel__width": [0.1, 2.0], "features__degree": [0, 1, 2], "reg": [1e-4, 1e2]},
        cv=4,
    ).fit(X, Y)
    assert grid.best_params_["reg"] == 1e-4
    assert grid.best_score_ > 0.7
    assert grid.best_estimator_.kernel_.width == grid.best_params_["kernel__width"]
    search = GridSearchCV(GRLSClassifierCV(Gaussian(1.0)), {"kernel__width": [0.1, 3.0]}, cv=3).fit(
        X, LABELS
    )
    assert search.best_score_ > 0.7


def test_precomputed_is_pairwise():
    G = Gaussian(2.0)(X)
    a = cross_val_score(GRLSRegressor("precomputed"), G, Y, cv=4)
    b = cross_val_score(GRLSRegressor(Gaussian(2.0)), X, Y, cv=4)
    np.testing.assert_allclose(a, b, atol=1e-8)


def test_pipeline_with_weights():
    w = RNG.uniform(0.1, 2, size=40)
    pipe = make_pipeline(StandardScaler(), GRLSRegressor(Gaussian(1.0)))
    pipe.fit(X, Y, grlsregressor__sample_weight=w)
    scaled = StandardScaler().fit(X)
    hand = GRLSRegressor(Gaussian(1.0)).fit(scaled.transform(X), Y, w)
    np.testing.assert_allclose(pipe.predict(Z), hand.predict(scaled.transform(Z)))
    mean, std = pipe.predict(Z, return_std=True)
    np.testing.assert_allclose(std, hand.predict(scaled.transform(Z), return_std=True)[1])
    np.testing.assert_allclose(mean, pipe.predict(Z))


def test_one_column_of_targets_keeps_its_shape():
    column = GRLSRegressor().fit(X, Y[:, None])
    flat = GRLSRegressor().fit(X, Y)
    mean, std = column.predict(Z, return_std=True)
    assert mean.shape == std.shape == (9, 1)
    assert column.scale_.shape == (1,)
    assert column.coef_cov_.shape == (1, 1, 1)
    np.testing.assert_allclose(mean[:, 0], flat.predict(Z))
    assert flat.coef_cov_.shape == (1, 1)


def test_the_fitted_learner_is_small():
    """A fit keeps m×d numbers, not m×m, until a standard deviation is asked for."""
    points = RNG.normal(size=(400, 2))
    ours = GRLSRegressor(Gaussian(1.0)).fit(points, points[:, 0])
    assert len(pickle.dumps(ours)) < 10 * points.nbytes


@pytest.mark.parametrize(
    ("learner", "m", "squares"),
    [
        (GRLSRegressor(Gaussian(1.0), Polynomials(2)), 1500, 1.2),
        (GRLSRegressor(Gaussian(1.0), Polynomials(10)), 2000, 1.2),  # 66 features
        (GRLSRegressor(ThinPlate(), Polynomials(2)), 1500, 1.2),
        (GRLSRegressorCV(Gaussian(1.0), Polynomials(2)), 1500, 3.2),  # dsyevd wants two more
    ],
)
def test_memory(learner, m, squares):
    """A fit holds one m×m array, and a fifth of one for everything else."""
    points = RNG.normal(size=(m, 2))
    values, w = np.sin(points[:, 0]), RNG.uniform(1, 2, size=m)
    clone(learner).fit(points[:200], values[:200], w[:200])
    tracemalloc.start()
    learner.fit(points, values, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < squares * 8 * m**2


def test_metadata_routing():
    w = RNG.uniform(0.1, 2, size=40)
    with config_context(enable_metadata_routing=True):
        estimator = GRLSRegressor(Gaussian(2.0)).set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        routed = cross_validate(estimator, X, Y, params={"sample_weight": w}, return_estimator=True)
    folds = KFold(5).split(X)
    for (train, _), fitted in zip(folds, routed["estimator"], strict=True):
        hand = GRLSRegressor(Gaussian(2.0)).fit(X[train], Y[train], w[train])
        np.testing.assert_allclose(fitted.predict(Z), hand.predict(Z))


@pytest.mark.parametrize("learner", LEARNERS)
def test_score_and_routing_take_given_features(learner):
    G, P, y = Gaussian(2.0)(X), np.c_[np.ones(40), X], target(learner)
    w = RNG.uniform(0.1, 2, size=40)
    ours, plain = learner("precomputed").fit(G, y, P=P), learner(Gaussian(2.0), Polynomials(1))
    plain.fit(X, y)
    np.testing.assert_allclose(ours.score(G, y, w, P=P), plain.score(X, y, w), atol=1e-9)
    folds = KFold(4, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        estimator = learner("precomputed").set_fit_request(P=True).set_score_request(P=True)
        routed = cross_val_score(estimator, G, y, cv=folds, params={"P": P})
    expected = cross_val_score(learner(Gaussian(2.0), Polynomials(1)), X, y, cv=folds)
    np.testing.assert_allclose(routed, expected, atol=1e-7)


def test_set_output_reaches_the_features():
    """A transformer that answers with data frames is as good as one that answers with arrays."""
    frame = pd.DataFrame(X, columns=list("uvw"))
    for container in ("default", "pandas"):
        ours = GRLSRegressor(Gaussian(2.0), Polynomials(1).set_output(transform=container))
        pipe = make_pipeline(StandardScaler(), ours).set_output(transform=container)
        got = pipe.fit(frame, Y).predict(frame)
        assert isinstance(got, np.ndarray)
        plain = make_pipeline(StandardScaler(), GRLSRegressor(Gaussian(2.0), Polynomials(1)))
        np.testing.assert_allclose(got, plain.fit(X, Y).predict(X), atol=1e-10)


def test_the_certificate_prints():
    text = str(GRLSClassifier().fit(X, LABELS).certificate_)
    for word in ("3 problems", "primal", "dual", "gap", "constraint", "kkt"):
        assert word in text
