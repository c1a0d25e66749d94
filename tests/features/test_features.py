"""Feature maps: their span, their arithmetic, their manners; and the range of P on a sample."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import SVMGBClassifier
from kernelbook.features import (
    Constant,
    Polynomials,
    as_features,
    check_feature_matrix,
    check_order,
    evaluate,
)
from kernelbook.kernels import Gaussian, Linear, Multiquadric, Polyharmonic, ThinPlate
from kernelbook.numeric import column_space as module
from kernelbook.numeric.column_space import column_space

EPS = np.finfo(float).eps


@parametrize_with_checks(
    [Constant(), Polynomials(), Polynomials(0), Polynomials(3), Polynomials(2, scaled=False)]
)
def test_scikit_learn_accepts_the_feature_maps(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------------- Polynomials


def points(seed, m, d, scale=1.0, shift=0.0):
    return shift + scale * np.random.default_rng(seed).normal(size=(m, d))


@pytest.mark.parametrize(("d", "degree"), [(1, 0), (1, 5), (2, 3), (3, 2), (5, 1)])
def test_polynomials_span_what_scikit_learn_spans(d, degree):
    X = points(0, 80, d, scale=3.0, shift=2.0)
    P = Polynomials(degree).fit_transform(X)
    S = PolynomialFeatures(degree).fit_transform(X)
    assert P.shape == S.shape == (80, comb(d + degree, degree))
    # Each is a linear combination of the other, so the spans agree.
    S = S / np.abs(S).max(axis=0)
    for A, B in [(P, S), (S, P)]:
        assert np.abs(A @ np.linalg.lstsq(A, B, rcond=None)[0] - B).max() < 1e-11


def test_unscaled_polynomials_are_scikit_learns():
    X = points(1, 30, 3)
    P = Polynomials(3, scaled=False).fit_transform(X)
    np.testing.assert_allclose(P, PolynomialFeatures(3).fit_transform(X), rtol=1e-14)


def test_scaling_only_changes_the_basis_also_at_new_points():
    X, new = points(2, 60, 2, 10.0, 50.0), points(3, 40, 2, 20.0, 40.0)
    plain, scaled = Polynomials(2, scaled=False).fit(X), Polynomials(2).fit(X)
    target = np.random.default_rng(4).normal(size=6)
    values = plain.transform(X) @ target
    fitted = np.linalg.lstsq(scaled.transform(X), values, rcond=None)[0]
    expected = plain.transform(new) @ target
    np.testing.assert_allclose(scaled.transform(new) @ fitted, expected, rtol=1e-9)
    assert np.linalg.cond(scaled.transform(X)) < 1e-4 * np.linalg.cond(plain.transform(X))
    assert np.abs(scaled.transform(X)).max() == pytest.approx(1.0, abs=4 * EPS)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_polynomials_do_not_care_for_the_unit(scale):
    X = points(5, 40, 2)
    P = Polynomials(3).fit_transform(X * scale)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P, Polynomials(3).fit_transform(X), rtol=1e-12, atol=1e-14)


def test_polynomials_over_the_whole_range_of_doubles():
    big = np.finfo(float).max
    P = Polynomials(2).fit_transform(np.array([[-big], [0.0], [big]]))
    np.testing.assert_array_equal(P, [[1, -1, 1], [1, 0, 0], [1, 1, 1]])


def test_constant_column_gives_no_nan_and_is_reported_as_rank():
    X = np.column_stack([np.linspace(0, 1, 9), np.full(9, 7.0)])
    features = Polynomials(1).fit(X)
    P = features.transform(X)
    assert column_space(P).rank == 2
    # The coordinate that never moved is still a function of x, in its own unit.
    np.testing.assert_array_equal(features.transform([[0.5, 9.0]])[0], [1.0, 0.0, 2.0])


def test_degree_zero_is_the_constant():
    X = points(6, 7, 3)
    np.testing.assert_array_equal(Polynomials(0).fit_transform(X), Constant().fit_transform(X))


@pytest.mark.parametrize("degree", [-1, 1.5, "2", None])
def test_a_degree_that_is_none_is_refused(degree):
    with pytest.raises(ValueError, match=r"degree must be an integer ≥ 0, not"):
        Polynomials(degree).fit(np.ones((3, 1)))


def test_names():
    X = points(7, 5, 2)
    assert list(Constant().fit(X).get_feature_names_out()) == ["1"]
    poly = Polynomials(2).fit(X)
    assert list(poly.get_feature_names_out()) == ["1", "x0", "x1", "x0^2", "x0 x1", "x1^2"]
    assert list(poly.get_feature_names_out(["u", "v"]))[-2:] == ["u v", "v^2"]
    assert list(poly.get_feature_names_out()) == list(
        PolynomialFeatures(2).fit(X).get_feature_names_out()
    )
    with pytest.raises(ValueError, match="input_features"):
        poly.get_feature_names_out(["u"])
    frame = pd.DataFrame(X, columns=["height", "age"])
    poly = Polynomials(2).set_output(transform="pandas").fit(frame)
    assert list(poly.transform(frame).columns)[3:] == ["height^2", "height age", "age^2"]


def test_a_read_only_strided_float32_array_is_fine():
    X = points(8, 40, 4).astype(np.float32)[::2, ::2]
    X.flags.writeable = False
    P = Polynomials(2).fit_transform(X)
    assert P.dtype == np.float64
    np.testing.assert_allclose(P, Polynomials(2).fit_transform(X.astype(float)), rtol=1e-12)


# ------------------------------------------------------------- anything else as a feature map


def test_none_is_no_feature():
    X = points(9, 6, 2)
    assert evaluate(as_features(None).fit(X), X).shape == (6, 0)


def test_constant_of_sparse_rows_and_of_words():
    S = sparse.random(8, 50, 0.1, format="csr", random_state=0)
    np.testing.assert_array_equal(evaluate(as_features("constant").fit(S), S), np.ones((8, 1)))
    frame = pd.DataFrame({"a": [1.0, 2.0], "word": ["u", "v"]})
    np.testing.assert_array_equal(Constant().fit(frame).transform(frame), np.ones((2, 1)))
    with pytest.raises(ValueError, match="feature names"):
        Constant().fit(frame).transform(frame[["a"]])


def test_constant_does_not_look_at_numbers():
    """NaN or not, 1 is 1; how many columns there are is still asked."""
    X = np.array([[1.0, np.nan], [np.inf, 2.0], [-0.0, 1e30]])
    for rows in (X, X.astype(np.float32), np.asfortranarray(X), X[::2]):
        map_ = Constant().fit(rows)
        np.testing.assert_array_equal(map_.transform(rows), np.ones((len(rows), 1)))
        assert map_.n_features_in_ == 2
        with pytest.raises(ValueError, match="3 features"):
            map_.transform(np.ones((4, 3)))
    for bad in (np.empty((0, 2)), np.empty((3, 0)), np.ones(3), np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match=r"minimum|2D|dim"):
            Constant().fit(bad)
    # Learners look at them all the same.
    with pytest.raises(ValueError, match="NaN"):
        SVMGBClassifier(Linear()).fit(X, [0, 1, 0])


def test_a_function_of_X():
    X = points(10, 20, 2)
    features = as_features(lambda X: np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])).fit(X)
    np.testing.assert_array_equal(evaluate(features, X)[:, 0], np.sin(X[:, 0]))


def test_scikit_learns_transformers_as_they_are():
    X = points(11, 50, 1)
    spline = SplineTransformer(n_knots=5, degree=3)
    P = evaluate(as_features(spline).fit(X), X)
    np.testing.assert_array_equal(P, SplineTransformer(n_knots=5, degree=3).fit_transform(X))
    assert not hasattr(spline, "bsplines_"), "the user's own object is left unfitted"
    log = FunctionTransformer(np.log1p)
    np.testing.assert_array_equal(evaluate(as_features(log).fit(X**2), X**2), np.log1p(X**2))


def test_sparse_output_becomes_dense():
    X = np.array([["a"], ["b"], ["a"], ["c"]], dtype=object)
    P = evaluate(as_features(OneHotEncoder()).fit(X), X)
    assert isinstance(P, np.ndarray)
    np.testing.assert_array_equal(P, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])


def test_a_column_transformer_may_select_by_name():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "kind": [0.0, 1.0, 1.0], "unused": [9.0, 9, 9]})
    features = ColumnTransformer([("trend", Polynomials(1), ["x"]), ("level", "drop", ["kind"])])
    P = evaluate(as_features(features).fit(frame), frame)
    np.testing.assert_array_equal(P, [[1, -1], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (
            "bias",
            ValueError,
            r"features='bias' cannot be evaluated.*columns are x0, x1.*'constant'",
        ),
        (3.0, TypeError, r"features=3.0: for the constant write features='constant'"),
        ({1, 2}, TypeError, r"features=\{1, 2\} is neither"),
    ],
)
def test_what_is_no_feature_map_is_refused(bad, error, says):
    with pytest.raises(error, match=says):
        as_features(bad).fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda X: X[:, 0], r"has shape \(4,\); it must be a matrix with one row"),
        (lambda X: X[:2], r"has shape \(2, 2\)"),
        (lambda X: X / np.array([[1.0, 0.0]]), r"features\(X\) is inf at sample 0, feature 1"),
        (lambda X: X * 1j, "is complex"),
    ],
)
def test_what_a_feature_map_may_not_return(function, says):
    X = np.ones((4, 2))
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=says):
        evaluate(as_features(function).fit(X), X)


def test_the_matrix_is_a_copy_because_learners_keep_it():
    P = np.ones((5, 2))
    kept = check_feature_matrix(P, 5, "P")
    P[:] = 7.0
    assert (kept == 1.0).all()


# ------------------------------------------------------------------- the range of P on a sample


def coefficients(P, target, weights=None):
    """The λ that `column_space` chooses for the weighted least-squares fit of `target`."""
    root = np.ones(len(P)) if weights is None else np.sqrt(weights)
    r = column_space(P, weights)
    return r.T @ (r.Q.T @ (root * target))


def low_rank(seed, m=25, l=6, rank=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, l))


@given(
    seed=st.integers(0, 10**6),
    l=st.integers(1, 7),
    rank=st.integers(0, 7),
    weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_range_and_way_back(seed, l, rank, weighted):
    rank = min(rank, l)
    P = low_rank(seed, l=l, rank=rank) if rank else np.zeros((25, l))
    rng = np.random.default_rng(seed + 1)
    w = rng.uniform(0.01, 100.0, 25) if weighted else np.ones(25)
    r = column_space(P, w if weighted else None)
    assert r.rank == rank == np.linalg.matrix_rank(P)
    root = np.sqrt(w)[:, None]
    np.testing.assert_allclose(r.Q.T @ r.Q, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(root * P @ r.T, r.Q, atol=1e-10)
    np.testing.assert_allclose(r.Q @ (r.Q.T @ (root * P)), root * P, atol=1e-10)
    target = rng.normal(size=25)
    best = np.linalg.lstsq(root * P, root[:, 0] * target, rcond=1e-10)[0]
    np.testing.assert_allclose(P @ coefficients(P, target, w), P @ best, atol=1e-9)


@given(seed=st.integers(0, 10**6), log_unit=st.floats(-100, 100))
@settings(max_examples=40, deadline=None)
def test_the_choice_of_lambda_follows_units_and_order(seed, log_unit):
    rng = np.random.default_rng(seed)
    P, target = low_rank(seed), rng.normal(size=25)
    lam = coefficients(P, target)
    order = rng.permutation(6)
    np.testing.assert_allclose(coefficients(P[:, order], target), lam[order], atol=1e-9)
    units = 10.0 ** (log_unit * rng.uniform(size=6))
    np.testing.assert_allclose(units * coefficients(P * units, target), lam, atol=1e-9)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_weights_are_duplicates_also_for_the_choice_of_lambda(seed):
    rng = np.random.default_rng(seed)
    P, target = low_rank(seed), rng.normal(size=25)
    w = rng.integers(1, 4, 25)
    twice = np.repeat(np.arange(25), w)
    np.testing.assert_allclose(
        coefficients(P, target, w.astype(float)), coefficients(P[twice], target[twice]), atol=1e-9
    )


def test_a_feature_that_never_fires_gets_nothing():
    P = np.column_stack([np.zeros(9), np.ones(9), np.zeros(9), np.arange(9.0)])
    lam = coefficients(P, 3.0 + 2.0 * np.arange(9.0))
    np.testing.assert_allclose(lam, [0, 3, 0, 2], atol=1e-13)
    assert lam[0] == lam[2] == 0.0


def test_equal_features_share():
    P = np.column_stack([np.ones(5), np.ones(5), np.full(5, 4.0)])
    np.testing.assert_allclose(coefficients(P, np.full(5, 6.0)), [2.0, 2.0, 0.5], atol=1e-14)


def test_no_features_no_rank():
    for weights in (None, np.ones(4)):
        r = column_space(np.empty((4, 0)), weights)
        assert (r.rank, r.Q.shape, r.T.shape) == (0, (4, 0), (0, 0))
    r = column_space(np.zeros((4, 2)))
    assert (r.rank, r.Q.shape, r.T.shape) == (0, (4, 0), (2, 0))


def test_more_features_than_samples_and_one_sample():
    P = np.random.default_rng(0).normal(size=(3, 8))
    assert column_space(P).rank == 3
    assert column_space(P[:1]).rank == 1


def test_rtol_decides_what_counts_as_zero():
    P = np.column_stack([np.ones(50), 1.0 + 1e-9 * np.arange(50)])
    assert column_space(P).rank == 2
    assert column_space(P, rtol=1e-6).rank == 1


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_extreme_units(unit):
    P, target = low_rank(3, rank=6), np.random.default_rng(3).normal(size=25)
    r = column_space(P * unit)
    assert r.rank == 6
    np.testing.assert_allclose(unit * coefficients(P * unit, target), coefficients(P, target))


# ------------------------------------------------------------ the polynomials that a kernel needs


@pytest.mark.parametrize(
    ("kernel", "degree"), [(Multiquadric(), 0), (ThinPlate(), 1), (Polyharmonic(5), 2)]
)
def test_conditional_kernels_need_their_polynomials(kernel, degree):
    X = points(12, 40, 2, scale=2.0, shift=100.0)
    check_order(Polynomials(degree).fit_transform(X), X, kernel)
    check_order(Polynomials(degree + 1, scaled=False).fit_transform(X), X, kernel)
    # A change of basis changes nothing, and further features do not hurt.
    P = Polynomials(degree).fit_transform(X)
    mixed = np.hstack([P, np.sin(X)]) @ np.random.default_rng(0).normal(size=(P.shape[1] + 2,) * 2)
    check_order(mixed, X, kernel)
    too_few = Polynomials(degree - 1).fit_transform(X) if degree else np.sin(X)
    remedy = rf"Polynomials\({degree}\)" if degree else "'constant'"
    with pytest.raises(ValueError, match=f"Use features={remedy}"):
        check_order(too_few, X, kernel)


def test_definite_kernels_need_none():
    check_order(np.empty((5, 0)), np.ones((5, 1)), Gaussian())


def test_polynomials_too_many_to_name_are_not_built():
    with pytest.raises(ValueError, match="on points with 1000 columns these are 501501"):
        check_order(np.ones((9, 1)), np.ones((9, 1000)), Polyharmonic(5))


def test_degrees_that_are_refused():
    for degree in (-1, 2.0, "2", True, None):
        with pytest.raises(ValueError, match="degree must be an integer ≥ 0"):
            Polynomials(degree).fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"degree=10 on 30 columns means 847660528 monomials"):
        Polynomials(10).fit(np.ones((3, 30)))


def singular(*values):
    """A feature matrix whose columns have largest entry about one and these singular values."""
    Q, l = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0], len(values)
    return Q[:, :l] * values @ np.linalg.qr(np.random.default_rng(1).normal(size=(l, l)))[0]


@pytest.mark.parametrize(
    ("values", "doubtful"),
    [
        ((1.0, 0.5, 1e-2), False),
        ((1.0, 0.5, 1e-2, 0.0), False),
        ((1.0, 1e-5, 1e-17), False),
        ((1.0, 1e-3, 1e-6, 1e-9, 1e-12), False),  # no gap, but all of them are there
        ((1.0, 1e-4, 1e-8, 1e-12, 1e-16), True),
        ((1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16), True),
        ((1.0, 1e-9, 1e-18), True),
    ],
)
def test_a_rank_that_rounding_decides_is_doubtful(values, doubtful):
    r = column_space(singular(*values))
    assert r.rank_is_ambiguous == doubtful
    assert not column_space(np.ones((5, 2))).rank_is_ambiguous
    assert not column_space(np.empty((5, 0))).rank_is_ambiguous
    assert len(r.values) == len(values)
    assert r.values[0] == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_tall_matrices_have_the_same_range_by_triangles(weighted, monkeypatch):
    """CholeskyQR2 beside the decomposition, up to the condition number from which that decides."""
    rng = np.random.default_rng(0)
    w = rng.uniform(0.1, 4, size=6000) if weighted else None
    root = np.sqrt(w)[:, None] if weighted else 1.0
    decided = []
    svd = module.linalg.svd
    monkeypatch.setattr(module.linalg, "svd", lambda *a, **k: decided.append(1) or svd(*a, **k))
    for spread, quick in ((0, True), (2, True), (5, False), (9, False)):
        turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        P = rng.normal(size=(6000, 20)) * np.logspace(0, -spread, 20) @ turn * 1e3
        decided.clear()
        ours = column_space(P, w)
        assert (not decided) == quick
        U, s, _ = np.linalg.svd(root * P / np.abs(P).max(axis=0), full_matrices=False)
        np.testing.assert_allclose(ours.Q.T @ ours.Q, np.eye(20), atol=1e-14)
        np.testing.assert_allclose(ours.Q @ (ours.Q.T @ U), U, atol=1e-13 * 10**spread)
        np.testing.assert_allclose(root * P @ ours.T, ours.Q, atol=1e-12 * 10**spread)
        np.testing.assert_allclose(ours.values, s / s[0], rtol=1e-10 * 10**spread)
        assert (ours.rank, ours.rank_is_ambiguous) == (20, False)


def test_tall_dependent_matrices_go_to_the_decomposition():
    rng = np.random.default_rng(0)
    P = np.asfortranarray(rng.normal(size=(9000, 12)))
    kept = P.copy()
    P[:, 3] = P[:, 4] + P[:, 5]
    P[:, 7] = 0.0
    r = column_space(P)
    assert r.rank == 10
    assert not r.T[7].any()
    np.testing.assert_allclose(P @ r.T, r.Q, atol=1e-13)
    np.testing.assert_array_equal(P[:, 8:], kept[:, 8:])
