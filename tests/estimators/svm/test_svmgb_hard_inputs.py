"""Inputs that break solvers: the answer is right, or there is a warning, or a clear error."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from kernelbook import Gaussian, Laplacian, Linear, Polynomials, SVMGBClassifier, ThinPlate
from tests.samples.xor import xor


def fit_honestly(model, X, y, **fit):
    """Fit; unless it warns, the certificate must stand up to a recomputation from scratch."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **fit)
    of_the_data = "is practically", "independent columns for"  # what these tests are about
    caught = [w for w in caught if not any(text in str(w.message) for text in of_the_data)]
    assert all(issubclass(w.category, ConvergenceWarning) for w in caught), caught
    warned = bool(caught)
    proof = model.certificate_
    assert np.isfinite([proof.primal, proof.dual, proof.constraint, proof.kkt]).all()
    assert proof.gap >= 0
    assert proof.constraint < 1e-8
    given = {"P": fit["P"]} if "P" in fit else {}
    assert np.isfinite(model.decision_function(X, **given)).all()
    assert warned == (proof.kkt > model.tol or proof.relative_gap > 0.1)
    return proof, warned


@pytest.mark.parametrize("features", [None, "constant", Polynomials(1)])
@pytest.mark.parametrize("C", [1e-6, 1e-2, 1e4, 1e8])
def test_prices_over_fourteen_decades(C, features):
    X, y = xor(80)
    proof, warned = fit_honestly(SVMGBClassifier(Gaussian(1.5), features, C=C), X, y)
    assert not warned
    assert proof.kkt < 1e-7
    assert proof.relative_gap < 1e-5


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
@pytest.mark.parametrize("width", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_widths_over_twelve_decades(kernel, width, C):
    X, y = xor(70)
    proof, warned = fit_honestly(SVMGBClassifier(kernel(width), Polynomials(1), C=C), X, y)
    assert not warned
    assert proof.relative_gap < 1e-5


@pytest.mark.filterwarnings("ignore:.* is practically (the identity|constant)")
def test_a_width_so_small_that_nothing_is_alike_gives_the_formula():
    """K = I and no feature: α_i = min(1, C), one sample at a time."""
    X, y = xor(30)
    for C in (0.3, 5.0):
        model = SVMGBClassifier(Gaussian(1e-6), None, C=C).fit(X, y)
        np.testing.assert_allclose(np.abs(model.dual_coef_[0]), min(1.0, C), rtol=1e-14)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), ThinPlate()])
def test_data_of_any_size(size, kernel):
    X, y = xor(40, d=2)
    X = X * size
    model = SVMGBClassifier(kernel, Polynomials(1))
    if size == 1e300 and not isinstance(kernel, Gaussian):
        with pytest.raises(ValueError, match="overflows"):
            model.fit(X, y)
        return
    proof, warned = fit_honestly(model, X, y)
    if isinstance(kernel, Gaussian) or size < 1:
        assert not warned
        assert proof.relative_gap < 1e-6
    # The features see the data in their own scale, so the problem is never trivial.
    assert model.rank_ == [3]


@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e20, 1e100])
def test_a_change_of_units_is_paid_for_by_C(size):
    X, y = xor(50)
    one = SVMGBClassifier(Linear(), C=1.0).fit(X, y)
    other = SVMGBClassifier(Linear(), C=1.0 / size**2).fit(X * size, y)
    np.testing.assert_allclose(
        other.decision_function(X * size), one.decision_function(X), atol=1e-8
    )


def test_a_box_too_large_to_reach_is_no_excuse():
    """C beyond 10¹⁵ units of the kernel: right when the margin is hard, a warning otherwise."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    hard = SVMGBClassifier(Linear(), C=1e300).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(hard.decision_function(X), [-2, -1, 1, 2], atol=1e-9)
    with pytest.warns(ConvergenceWarning):
        SVMGBClassifier(Linear(), C=1e300).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("C", [1e8, 1e20, 1e300])
def test_a_small_violation_at_a_huge_price_is_no_proof(C):
    """1e-15 below the margin costs C: so stay above it, or say that the gap is the objective."""
    X, y = xor(30, noise=0.0)
    proof, warned = fit_honestly(SVMGBClassifier(Gaussian(1.0), C=C), X, y)
    assert not warned
    assert proof.relative_gap < 1e-6
    for features in (None, "constant", Polynomials(1)):  # no kernel and no feature separates these
        twice, labels = np.vstack([X, X[:5]]), np.append(y, 1 - y[:5])
        fit_honestly(SVMGBClassifier(Gaussian(1.0), features, C=C), twice, labels)


def test_features_that_hardly_separate_are_certified_too():
    """λ of 10⁹, and f right to seven digits: the objective is zero, not C·10⁻⁷."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, size=20)
    near = X[:, 0] * (1 + 1e-9 * (2 * y - 1) * rng.uniform(1, 2, size=20))
    P = np.c_[X[:, 0], near]
    model = SVMGBClassifier("precomputed", C=100.0)
    _, warned = fit_honestly(model, Gaussian(1.0)(X), y, P=P)
    assert not warned


def test_one_sample_one_class():
    X, y = xor(20)
    for rows in (slice(0, 1), y == 1):
        with pytest.raises(ValueError, match="class"):
            SVMGBClassifier().fit(X[rows], y[rows])
    with pytest.raises(ValueError, match="one class"):
        SVMGBClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="zero"):
        SVMGBClassifier().fit(X, y, sample_weight=np.zeros(20))


def test_two_samples():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    for features in (None, "constant", Polynomials(1)):
        proof, _ = fit_honestly(SVMGBClassifier(Gaussian(1.0), features), X, y)
        assert proof.kkt < 1e-9
    # β = (−t, t), t = min(C, 2/(2 − 2e⁻¹)): the SVM of two points by hand
    model = SVMGBClassifier(Gaussian(1.0), C=10.0).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_[0], [-1 / (1 - 1 / np.e), 1 / (1 - 1 / np.e)])
    np.testing.assert_allclose(model.decision_function(X), [-1, 1], atol=1e-12)


@pytest.mark.parametrize("l", [19, 20])
def test_as_many_features_as_samples(l):
    X, y = xor(20)
    directions = np.random.default_rng(0).normal(size=(3, l))
    model = SVMGBClassifier(Gaussian(1.0), lambda X: np.cos(X @ directions))
    proof, warned = fit_honestly(model, X, y)
    assert not warned
    if l == 20:  # P is invertible: the features separate any labels
        assert model.support_.size == 0
        assert proof.primal == 0


def test_more_features_than_samples_is_an_error_but_not_for_a_pair_of_classes():
    X, y = xor(20)
    with pytest.raises(ValueError, match="21 free features on 20 samples"):
        SVMGBClassifier(Gaussian(1.0), lambda X: np.ones((len(X), 21))).fit(X, y)
    many = np.arange(20) // 2  # ten classes of two: each pair has four samples
    directions = np.random.default_rng(0).normal(size=(3, 6))
    model = SVMGBClassifier(Gaussian(1.0), lambda X: np.cos(X @ directions)).fit(X, many)
    assert np.all(model.rank_ == 4)
    assert np.all(model.dual_coef_ == 0)
    np.testing.assert_array_equal(model.predict(X), many)


def test_indicator_features_of_the_papers_experiment():
    """0/1 neighbour features: rank 2, the pair separated; λ by the rule and not by noise."""
    P = np.zeros((24, 20))
    P[:12, 4], P[12:, 9] = 1, 1
    P[3, 9] = 1
    K = Gaussian(1.0)(np.random.default_rng(0).normal(size=(24, 2)))
    model = SVMGBClassifier("precomputed").fit(K, np.repeat([0, 1], 12), P=P)
    assert model.rank_ == [2]
    assert model.support_.size == 0
    expected = np.zeros(20)
    expected[4], expected[9] = -2, 1  # sample 3 has both: λ₄ + λ₉ ≤ −1, λ₉ ≥ 1
    np.testing.assert_allclose(model.coef_[0], expected, atol=1e-9)


def test_a_feature_that_is_zero_everywhere_on_the_sample():
    X, y = xor(30)
    none = SVMGBClassifier(Gaussian(1.0), None).fit(X, y)
    zero = SVMGBClassifier(Gaussian(1.0), lambda X: np.zeros((len(X), 2))).fit(X, y)
    assert zero.rank_ == [0]
    np.testing.assert_array_equal(zero.coef_, 0)
    np.testing.assert_allclose(zero.decision_function(X), none.decision_function(X), atol=1e-12)


def test_duplicates_with_flipped_labels():
    X, y = xor(40)
    X, y = np.vstack([X, X[:20]]), np.append(y, 1 - y[:20])
    for C in (1.0, 1e5):
        for features in ("constant", Polynomials(1)):
            proof, warned = fit_honestly(SVMGBClassifier(Gaussian(1.0), features, C=C), X, y)
            assert not warned
            assert proof.relative_gap < 1e-8
    all_flipped = SVMGBClassifier(Gaussian(1.0)).fit(np.vstack([X[:40]] * 2), np.repeat([0, 1], 40))
    np.testing.assert_allclose(all_flipped.decision_function(X), 0, atol=1e-9)


def test_imbalanced_classes():
    X, y = xor(300)
    y[:] = 0
    y[:3] = 1
    svc = SVC(gamma=1 / 3, tol=1e-9, C=2.0).fit(X, y)
    ours = SVMGBClassifier(C=2.0).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-6)
    proof, _ = fit_honestly(SVMGBClassifier(class_weight={0: 1e-6, 1: 1e6}), X, y)
    assert proof.kkt < 1e-6


def test_a_constant_column_and_identical_points():
    X, y = xor(30)
    X[:, 2] = 5.0
    proof, _ = fit_honestly(SVMGBClassifier(Gaussian(1.0), Polynomials(2)), X, y)
    assert proof.kkt < 1e-9
    same = np.ones((10, 2))
    model = SVMGBClassifier(Gaussian(1.0), Polynomials(1)).fit(same, [0] * 6 + [1] * 4)
    assert model.rank_ == [1]
    np.testing.assert_allclose(model.decision_function(same), -1, atol=1e-9)


def test_weights_over_many_decades():
    X, y = xor(60)
    w = 10.0 ** np.random.default_rng(0).uniform(-8, 3, size=60)
    for features in ("constant", Polynomials(1)):
        proof, warned = fit_honestly(
            SVMGBClassifier(Gaussian(1.0), features), X, y, sample_weight=w
        )
        assert not warned
        assert proof.kkt < 1e-7
    with pytest.raises(ValueError, match="positive and finite"):
        SVMGBClassifier(C=1e300).fit(X, y, sample_weight=np.full(60, 1e300))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(bad):
    X, y = xor(20)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|inf"):
        SVMGBClassifier().fit(X, y)
    K = np.eye(20)
    K[2, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|inf"):
        SVMGBClassifier("precomputed").fit(K, y)
    with pytest.raises(ValueError, match="finite"):
        SVMGBClassifier(features=lambda X: np.full((len(X), 1), bad)).fit(xor(20)[0], y)


def test_kernels_that_are_not():
    X, y = xor(40)
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier("precomputed").fit(-Gaussian(1.0)(X), y)
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier(lambda X, Z: np.tanh(X @ Z.T - 1)).fit(X, y)
    K = Gaussian(1.0)(X)
    K[0, 1] += 0.5
    with pytest.raises(ValueError, match="symmetric"):
        SVMGBClassifier("precomputed").fit(K, y)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_matrix_for_three_classes_is_judged_whole_and_if_need_be_in_parts(multiclass):
    X, _ = xor(60)
    y = np.arange(60) % 3
    K, more = Gaussian(1.0)(X), {"multiclass": multiclass, "C": 3.0}
    given = SVMGBClassifier("precomputed", **more).fit(K, y)
    np.testing.assert_allclose(
        given.decision_function(K),
        SVMGBClassifier(Gaussian(1.0), **more).fit(X, y).decision_function(X),
        atol=1e-7,
    )
    plates = ThinPlate()(X)  # not definite, but on the coefficients that the features leave
    P = Polynomials(1).fit(X).transform(X)
    given = SVMGBClassifier("precomputed", **more).fit(plates, y, P=P)
    np.testing.assert_allclose(
        given.decision_function(plates, P=P),
        SVMGBClassifier(ThinPlate(), Polynomials(1), **more).fit(X, y).decision_function(X),
        atol=1e-6,
    )
    for bad, match in ((-K, "not convex"), (K + np.arange(60), "symmetric")):
        with pytest.raises(ValueError, match=match):
            SVMGBClassifier("precomputed", **more).fit(bad, y)


@pytest.mark.parametrize("layout", ["float32", "fortran", "strided", "readonly", "list", "int"])
def test_memory_layouts(layout):
    X, y = xor(50)
    X = np.round(X * 4)
    expected = SVMGBClassifier(Gaussian(4.0), Polynomials(1)).fit(X, y).decision_function(X)
    K = Gaussian(4.0)(X)
    change = {
        "float32": lambda A: A.astype(np.float32),
        "fortran": np.asfortranarray,
        "strided": lambda A: np.repeat(A, 2, axis=0)[::2],
        "readonly": lambda A: np.frombuffer(A.tobytes()).reshape(A.shape),
        "list": lambda A: A.tolist(),
        "int": lambda A: A.astype(int) if A is X else A,
    }[layout]
    model = SVMGBClassifier(Gaussian(4.0), Polynomials(1)).fit(change(X), change(y.astype(float)))
    np.testing.assert_allclose(model.decision_function(change(X)), expected, atol=1e-9)
    P = Polynomials(1).fit_transform(X)
    gram = SVMGBClassifier("precomputed").fit(change(K), y, P=change(P))
    f = gram.decision_function(change(K), P=change(P))
    np.testing.assert_allclose(f, expected, atol=1e-4 if layout == "float32" else 1e-9)


def test_labels_of_any_type():
    X, y = xor(40)
    names = np.array(["no", "yes"])[y]
    model = SVMGBClassifier().fit(X, names)
    assert set(model.predict(X)) <= {"no", "yes"}
    np.testing.assert_array_equal(
        SVMGBClassifier().fit(X, y > 0).predict(X), model.predict(X) == "yes"
    )
    with pytest.raises(ValueError, match="label"):
        SVMGBClassifier().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("seed", "kernel"), [(7, Linear()), (29, Gaussian(1.0)), (90, Laplacian(1.0))], ids=str
)
def test_copies_with_both_labels_do_not_send_the_multipliers_far_out(seed, kernel):
    """Rounding leaves a sliver of optimal λ whose nearest point is thousands away."""
    cvxopt = pytest.importorskip("cvxopt")
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(12, 30)), 2)))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=len(X)) > 0, 1, -1)
    ours = SVMGBClassifier(kernel, Polynomials(2), C=2000.0).fit(X, y)
    assert ours.certificate_.kkt < 1e-9
    P = ours.features_.transform(X)
    h = ours.decision_function(X) - P @ ours.coef_[0]
    alpha = np.zeros(len(X))
    alpha[ours.support_] = np.abs(ours.dual_coef_[0])
    # y f ≥ 1 unless α = C, and y f ≤ 1 unless α = 0, with the slack that the sliver lacks.
    above, below = alpha < 2000.0 * (1 - 1e-11), alpha > 1e-11 * alpha.max()
    G = np.vstack([-(y[:, None] * P)[above], (y[:, None] * P)[below]])
    g = np.append((y * h - 1)[above], (1 - y * h)[below]) + 1e-10
    norm, zero = cvxopt.matrix(P.T @ P), cvxopt.matrix(np.zeros(P.shape[1]))
    tight = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
    least = cvxopt.solvers.qp(norm, zero, cvxopt.matrix(G), cvxopt.matrix(g), options=tight)
    size = 2 * least["primal objective"]
    assert np.sum((P @ ours.coef_[0]) ** 2) <= size * (1 + 1e-6)
