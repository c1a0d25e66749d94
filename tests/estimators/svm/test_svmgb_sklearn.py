"""SVMGBClassifier at home in scikit-learn: its checks, its tools, its containers, its errors."""

import pickle
import sys

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import Gaussian, Linear, Multiquadric, Polynomials, SVMGBClassifier
from tests.samples.xor import xor


@parametrize_with_checks(
    [
        SVMGBClassifier(),
        SVMGBClassifier(multiclass="ovr", class_weight="balanced"),
        SVMGBClassifier(kernel=Linear()),
        SVMGBClassifier(kernel=Multiquadric()),
        SVMGBClassifier(solver="cvxopt"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    if estimator.solver == "cvxopt":
        pytest.importorskip("cvxopt")
        if check.func.__name__ == "check_class_weight_classifiers":
            # C_i from 1e-4 to 1e3: cvxopt is exact to its tolerance times the largest.
            with pytest.warns(ConvergenceWarning, match="gap_tol=0.001"):
                return check(estimator)
    check(estimator)


def test_pickle_clone_grid_search_pipeline():
    X, y = xor(80)
    pipe = make_pipeline(StandardScaler(), SVMGBClassifier(Gaussian(1.0), Polynomials(1)))
    search = GridSearchCV(
        pipe,
        {"svmgbclassifier__C": [0.1, 1, 10], "svmgbclassifier__kernel__width": [0.5, 2.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.6
    model = search.best_estimator_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert (
        clone(model).get_params()["svmgbclassifier__C"] == search.best_params_["svmgbclassifier__C"]
    )


def test_weights_and_frames_travel_through_a_pipeline():
    pytest.importorskip("pandas")
    X, y = xor(60)
    w = np.random.default_rng(0).uniform(0.5, 2, size=60)
    scaler = StandardScaler().set_output(transform="pandas")
    model = SVMGBClassifier(Gaussian(1.5), lambda frame: frame[["x0"]].to_numpy())
    pipe = make_pipeline(scaler, model).fit(X, y, svmgbclassifier__sample_weight=w)
    scaled = StandardScaler().fit_transform(X)
    direct = SVMGBClassifier(Gaussian(1.5), lambda X: X[:, :1]).fit(scaled, y, w)
    np.testing.assert_allclose(pipe.decision_function(X), direct.decision_function(scaled))


def test_cross_validation_slices_a_precomputed_gram_both_ways():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(3)
    direct = cross_val_predict(SVMGBClassifier(Gaussian(2.0)), X, y, cv=folds)
    gram = cross_val_predict(SVMGBClassifier("precomputed"), Gaussian(2.0)(X), y, cv=folds)
    np.testing.assert_array_equal(direct, gram)


def test_scikit_learn_transformers_are_features():
    X, y = xor(80)
    for features in (PolynomialFeatures(2), SplineTransformer(4, degree=2)):
        model = SVMGBClassifier(Gaussian(1.5), features).fit(X, y)
        assert model.certificate_.kkt < 1e-9
        assert model.predict(X).shape == (80,)


def test_features_may_select_columns_of_a_data_frame():
    pd = pytest.importorskip("pandas")
    X, y = xor(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = SVMGBClassifier(Gaussian(1.5), lambda F: F[["a"]].to_numpy()).fit(frame, y)
    by_position = SVMGBClassifier(Gaussian(1.5), lambda X: X[:, :1]).fit(X, y)
    np.testing.assert_allclose(by_name.decision_function(frame), by_position.decision_function(X))


def test_sparse_rows_with_a_linear_kernel():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 40, 0.2, "csr", rng=rng)
    y = np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.4
    dense = SVMGBClassifier(Linear(), C=10.0).fit(X.toarray(), y)
    for S in (X, X.tocsc(), X.tocoo()):
        model = SVMGBClassifier(Linear(), C=10.0).fit(S, y)
        np.testing.assert_allclose(
            model.decision_function(S), dense.decision_function(X.toarray()), atol=1e-9
        )
    features = SVMGBClassifier(Linear(), lambda X: X[:, :2]).fit(X, y)
    assert features.rank_ == [2]
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        SVMGBClassifier(Gaussian(1.0)).fit(X, y)


@pytest.mark.parametrize("features", [None, "constant"])
def test_precomputed_gram(features):
    X, y = load_iris(return_X_y=True)
    K = Gaussian(2.0)(X)
    before = K.copy()
    direct = SVMGBClassifier(Gaussian(2.0), features).fit(X, y)
    model = SVMGBClassifier("precomputed", features).fit(K, y)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(model.decision_function(K), direct.decision_function(X), atol=1e-9)
    absent = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    a = SVMGBClassifier(Gaussian(2.0), features).fit(X, y, absent)
    b = SVMGBClassifier("precomputed", features).fit(K, y, absent)
    np.testing.assert_array_equal(a.support_, b.support_)
    assert np.all(absent[a.support_] == 1)
    np.testing.assert_allclose(b.decision_function(K), a.decision_function(X), atol=1e-9)


def test_precomputed_with_its_own_feature_matrix():
    X, y = load_iris(return_X_y=True)
    K, P = Gaussian(2.0)(X), Polynomials(1).fit_transform(X)
    direct = SVMGBClassifier(Gaussian(2.0), Polynomials(1)).fit(X, y)
    model = SVMGBClassifier("precomputed").fit(K, y, P=P)
    np.testing.assert_allclose(
        model.decision_function(K, P=P), direct.decision_function(X), atol=1e-8
    )
    np.testing.assert_array_equal(model.predict(K, P=P), direct.predict(X))
    with pytest.raises(ValueError, match="P="):
        model.predict(K)


def test_score_takes_the_feature_matrix_too():
    X, y = load_iris(return_X_y=True)
    K, P = Gaussian(2.0)(X), Polynomials(1).fit_transform(X)
    w = np.linspace(0, 1, 150)
    model = SVMGBClassifier("precomputed").fit(K, y, P=P)
    right = model.predict(K, P=P) == y
    assert model.score(K, y, P=P) == right.mean()
    assert model.score(K, y, sample_weight=w, P=P) == pytest.approx(np.average(right, weights=w))
    with pytest.raises(ValueError, match="P="):
        model.score(K, y)


def test_feature_matrix_and_weights_are_routed_through_a_search():
    X, y = xor(60)
    K, P = Gaussian(1.5)(X), Polynomials(1).fit_transform(X)
    w = np.random.default_rng(0).uniform(0.5, 2, size=60)
    folds = StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVMGBClassifier("precomputed")
        model = model.set_fit_request(P=True, sample_weight=True)
        model = model.set_score_request(P=True, sample_weight=False)
        search = GridSearchCV(model, {"C": [0.1, 10.0]}, cv=folds, refit=False)
        search.fit(K, y, P=P, sample_weight=w)
    by_hand = []
    for train, test in folds.split(K, y):
        fitted = SVMGBClassifier("precomputed", C=0.1)
        fitted.fit(K[np.ix_(train, train)], y[train], w[train], P=P[train])
        by_hand.append(fitted.score(K[np.ix_(test, train)], y[test], P=P[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand))


def test_what_was_fitted_does_not_change_with_the_parameters():
    X, y = load_iris(return_X_y=True)
    model = SVMGBClassifier(Gaussian(2.0), Polynomials(1)).fit(X, y)
    before = model.decision_function(X)
    model.set_params(multiclass="ovr", C=1e-3, features=None, class_weight="balanced")
    np.testing.assert_array_equal(model.decision_function(X), before)
    for kernel in ("precomputed", Linear(), None):
        model.set_params(kernel=kernel)
        np.testing.assert_array_equal(model.decision_function(X), before)


def test_cvxopt_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxopt", None)
    X, y = xor(30)
    with pytest.raises(ImportError, match=r"kernelbook\[reference\]"):
        SVMGBClassifier(solver="cvxopt").fit(X, y)


def test_a_failed_fit_leaves_no_half_fitted_model():
    X, y = xor(40)
    model = SVMGBClassifier().fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(40))
    with pytest.raises(AttributeError):
        model.classes_  # noqa: B018


def test_later_changes_do_not_reach_a_fitted_model():
    X, y = xor(40)
    kernel = Gaussian(1.0)
    model = SVMGBClassifier(kernel).fit(X, y)
    before = model.decision_function(X[:5])
    fresh = X[:5].copy()
    kernel.width = 7.0
    X *= 3
    np.testing.assert_array_equal(model.decision_function(fresh), before)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"C": 0}, ValueError, "C=0"),
        ({"C": np.nan}, ValueError, "C=nan"),
        ({"C": "big"}, TypeError, "C must be a number"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"gap_tol": 0.0}, ValueError, "gap_tol"),
        ({"solver": "magic"}, ValueError, "solver='magic'"),
        ({"multiclass": "all"}, ValueError, "multiclass='all'"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"max_iter": 1.5}, ValueError, "max_iter"),
        ({"max_iter": True}, ValueError, r"max_iter=True .* or -1"),
        ({"max_iter": -1.0}, ValueError, r"max_iter=-1.0"),
        ({"C": 5e-324}, ValueError, r"C=5e-324 .* 2e-308 at least"),
        ({"class_weight": {0: 0, 1: 1}}, ValueError, r"class_weight=.* class 0 the weight 0"),
        ({"class_weight": {0: 1, 1: -2}}, ValueError, r"class_weight=.* class 1 the weight -2"),
        ({"features": "linear"}, ValueError, "features"),
        ({"kernel": "rbf"}, TypeError, r"'precomputed'.*'rbf'.*Gaussian\(width=1/√gamma\)"),
        ({"kernel": Gaussian}, TypeError, r"Gaussian is a class"),
        ({"features": Polynomials}, TypeError, r"features=Polynomials\(…\)"),
        ({"kernel": lambda x, z: float(x[0] @ z[0])}, ValueError, r"two arrays of rows"),
        ({"class_weight": "even"}, ValueError, "class_weight"),
        ({"features": lambda X: np.ones((len(X), 41))}, ValueError, "41 free features"),
    ],
)
def test_errors_name_the_argument(parameters, error, match):
    X, y = xor(40)
    with pytest.raises(error, match=match):
        SVMGBClassifier(**parameters).fit(X, y)


def test_errors_about_a_gram_matrix_and_its_features():
    X, y = xor(40)
    K = Gaussian(1.0)(X)
    with pytest.raises(TypeError, match=r"P='constant'.*features='constant'"):
        SVMGBClassifier("precomputed").fit(K, y, P="constant")
    model = SVMGBClassifier("precomputed").fit(K, y)
    with pytest.raises(ValueError, match=r"39 features.*column for each sample of the fit"):
        model.predict(K[:5, :39])
    with pytest.raises(ValueError, match="square"):
        SVMGBClassifier("precomputed").fit(K[:, :39], y)
    with pytest.raises(TypeError, match=r"Gaussian\(width=1.0\).*toarray"):
        SVMGBClassifier(Gaussian(1.0)).fit(sparse.csr_matrix(X), y)


@pytest.mark.parametrize("weight", [None, "of one class"])
def test_one_class_is_refused_in_one_wording(weight):
    X, y = xor(20)
    w = None if weight is None else (y == 1).astype(float)
    for labels, rows in (
        (y, y == 1),
        (y, np.flatnonzero(y == 1)[:1]),
        (np.array(["a"] * 20), y < 2),
    ):
        with pytest.raises(ValueError, match=r"y has one class only, \[(1|'a')\]; a classifier"):
            SVMGBClassifier().fit(X[rows], labels[rows], None if w is None else w[rows])
