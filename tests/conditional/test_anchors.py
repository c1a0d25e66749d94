"""Which anchors are taken, what is refused and in which words, and K as a kernel among others."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import SplineTransformer

from kernelbook import papers
from kernelbook.conditional import ConditionalKernel
from kernelbook.conditional.functionals import pick_anchors
from kernelbook.estimators.grls import GRLSRegressor
from kernelbook.features import Polynomials
from kernelbook.kernels import Gaussian, Linear, Polyharmonic, ThinPlate

LINEAR = Polynomials(1)
CHOICES = ["sample", "least-squares", "virtual"]


def plane(seed, m=20):
    return np.random.default_rng(seed).normal(size=(m, 2))


# ---------------------------------------------------------------------------- the choice of anchors


def test_picked_anchors_are_samples_and_depend_on_the_span_only():
    X, rng = plane(29, 60), np.random.default_rng(30)
    space = ConditionalKernel(Gaussian(), Polynomials(2)).fit(X)
    rows = [np.flatnonzero((X == a).all(axis=1)) for a in space.anchors_]
    assert all(len(r) == 1 for r in rows)
    P = Polynomials(2).fit_transform(X)
    chosen = pick_anchors(P)
    np.testing.assert_array_equal(np.concatenate(rows), chosen)
    for scale in (1.0, 1e150, 1e-150):
        np.testing.assert_array_equal(pick_anchors(P @ rng.normal(size=(6, 6)) * scale), chosen)

    # Well conditioned: the interpolation projector is smaller than for random anchors.
    def projector(rows):
        return np.abs(papers.cardinal(P, P[rows])).sum(axis=1).max()

    random = [projector(rng.choice(60, 6, replace=False)) for _ in range(50)]
    assert projector(chosen) < np.percentile(random, 5)
    assert projector(chosen) < 6


def test_exactly_as_many_samples_as_features():
    X = plane(31, 3)
    space = ConditionalKernel(Gaussian(), LINEAR).fit(X)
    np.testing.assert_allclose(space.H(X), 0, atol=1e-13)
    np.testing.assert_allclose(space.K(X), np.eye(3), atol=1e-13)


def test_given_anchors_need_no_sample_but_learned_features_do():
    a = np.array([[0.0], [1.0]])
    t = np.linspace(-1, 2, 9)[:, None]
    space = ConditionalKernel(Gaussian(), Polynomials(1), a)
    np.testing.assert_allclose(space.cardinal(t), np.hstack([1 - t, t]), atol=1e-14)
    plate = ConditionalKernel(Polyharmonic(3), lambda X: np.hstack([X, X + 1]), a)
    np.testing.assert_allclose(plate.cardinal(t), np.hstack([1 - t, t]), atol=1e-14)
    with pytest.raises(ValueError, match=r"needs all polynomials of degree ≤ 1 .*, and x0 is no"):
        ConditionalKernel(Polyharmonic(3), "constant", a[:1]).H(t)
    with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
        ConditionalKernel(Gaussian(), SplineTransformer(n_knots=2, degree=1), a).H(t)
    with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
        _ = ConditionalKernel(Gaussian(), LINEAR).K


@pytest.mark.parametrize(
    ("kernel", "features", "anchors", "says"),
    [
        (Gaussian(), LINEAR, np.ones((2, 2)), r"shape \(2, 2\); 3 features .* exactly 3 anchors"),
        (Gaussian(), LINEAR, np.ones((3, 1)), r"shape \(3, 1\)"),
        (Gaussian(), LINEAR, [[0, 0], [1, 1], [2, 2]], r"not unisolvent: .* has rank 2"),
        (ThinPlate(), "constant", "sample", r"order 2: it needs all polynomials of degree ≤ 1"),
        (ThinPlate(), None, "virtual", r"Use features=Polynomials\(1\)"),
        (Gaussian(), LINEAR, [[0, 0], [1, np.nan], [2, 2]], "anchors contains NaN"),
    ],
)
def test_what_cannot_be_is_refused(kernel, features, anchors, says):
    with pytest.raises(ValueError, match=says):
        ConditionalKernel(kernel, features, anchors).fit(plane(32))


def test_unknown_choice():
    with pytest.raises(ValueError, match=r"anchors='points' is not known; pass one of 'sample'"):
        ConditionalKernel(anchors="points")


@pytest.mark.parametrize("kernel", [Gaussian(), Polyharmonic(1)])
def test_dependent_features_are_named(kernel):
    X = plane(33)
    X[:, 1] = 4.0  # a constant column: x1 − 4 vanishes on the sample
    remedy = "add samples" if kernel.cpd_order else "anchors='virtual'"
    with pytest.raises(ValueError, match=rf"3 features have rank 2 .* feature 2 \(x1\).*{remedy}"):
        ConditionalKernel(kernel, LINEAR).fit(X)
    with pytest.raises(ValueError, match=r"no anchors among these 2 points"):
        ConditionalKernel(kernel, LINEAR, "least-squares").fit(plane(34, 2))


def test_nearly_dependent_anchors_warn():
    close = 1 + 1e-9 * np.array([[0.0, 0], [1, 0], [0, 1]])
    with pytest.warns(UserWarning, match=r"nearly not unisolvent: their condition number is \d"):
        ConditionalKernel(Gaussian(), Polynomials(1, scaled=False), close).fit(plane(0))


def test_functions_check_their_coefficients():
    X = plane(35)
    space = ConditionalKernel(Gaussian(), LINEAR).fit(X)
    other = ConditionalKernel(Gaussian(), LINEAR).fit(X)
    with pytest.raises(ValueError, match="a has shape"):
        space.function([1.0])
    with pytest.raises(ValueError, match="c has shape"):
        space.function(None, [1.0], X)
    with pytest.raises(ValueError, match="c and Z belong together"):
        space.function(None, [1.0])
    with pytest.raises(ValueError, match="same ConditionalKernel"):
        space.function([1, 2, 3]) + other.function([1, 2, 3])
    with pytest.raises(ValueError, match=r"Pᵀc is not zero"):
        space.solution(np.zeros(3), np.ones(20), X)
    virtual = ConditionalKernel(Gaussian(), LINEAR, "virtual").fit(X)
    with pytest.raises(ValueError, match="virtual points"):
        virtual.representer(X[0]).plain()
    lam, c, points = space.function([1.0, 2.0, 3.0]).plain()
    np.testing.assert_allclose(LINEAR.fit(X).transform(space.anchors_) @ lam, [1, 2, 3])
    assert np.all(c == 0)
    assert points.shape == (3, 2)


# --------------------------------------------------------------------- K as a kernel like any other


def test_K_lives_with_the_other_kernels():
    X, Z = plane(36), plane(37, 6)
    space = ConditionalKernel(ThinPlate(), LINEAR).fit(X)
    K = space.K
    assert K == space.K != space.H
    for twin in (clone(K), copy.deepcopy(K), pickle.loads(pickle.dumps(K)), K.copy()):
        np.testing.assert_array_equal(twin(X, Z), K(X, Z))
    combined = 2.0 * K + Gaussian()
    np.testing.assert_allclose(combined(X), 2 * K(X) + Gaussian()(X))
    assert combined.strictly_pd
    assert (K * Gaussian())(X).shape == (20, 20)
    assert "ThinPlate" in repr(K)
    assert "condition number" in repr(space)


def test_a_thin_plate_in_kernel_ridge_regression():
    X, new = plane(38), plane(39)
    y = X[:, 0] ** 2
    space = ConditionalKernel(ThinPlate(), LINEAR).fit(X)
    ridge = KernelRidge(kernel="precomputed", alpha=1e-10).fit(space.K(X), y)
    np.testing.assert_allclose(space.K(X) @ ridge.dual_coef_, y, atol=1e-6)
    f = space.function(space.cardinal(X).T @ ridge.dual_coef_, ridge.dual_coef_, X)
    np.testing.assert_allclose(f(new), ridge.predict(space.K(new, X)), atol=1e-8)


@pytest.mark.parametrize("anchors", CHOICES)
def test_the_learner_without_features_on_K_is_kernel_ridge(anchors):
    X, new = plane(41), plane(42)
    y = np.sin(X[:, 0])
    K = ConditionalKernel(ThinPlate(), LINEAR, anchors).fit(X).K
    learner = GRLSRegressor(kernel=K, features=None, reg=1e-2).fit(X, y)
    ridge = KernelRidge(kernel="precomputed", alpha=20 * 1e-2).fit(K(X), y)
    np.testing.assert_allclose(learner.predict(new), ridge.predict(K(new, X)), atol=1e-10)
    scores = cross_val_score(learner, X, y, cv=3, scoring="neg_mean_squared_error")  # clones K
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("anchors", CHOICES)
@pytest.mark.parametrize("kernel", [Gaussian(), ThinPlate()])
def test_what_a_learner_finds_is_a_function_of_every_space(kernel, anchors):
    X, new = plane(43), plane(44)
    y = np.sin(X[:, 0]) + X[:, 1]
    learner = GRLSRegressor(kernel, LINEAR, reg=1e-2).fit(X, y)
    space = ConditionalKernel(kernel, LINEAR, anchors).fit(X)
    f = space.solution(learner.coef_, learner.dual_coef_, X)
    np.testing.assert_allclose(f(new), learner.predict(new), atol=1e-10)
    objective = np.mean((y - f(X)) ** 2) + 1e-2 * f.seminorm**2
    assert objective == pytest.approx(learner.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("anchors", CHOICES)
def test_sparse_rows(anchors):
    S = sparse.random(12, 40, 0.3, format="csr", random_state=0)
    D = S.toarray()
    sparse_space = ConditionalKernel(Linear(), "constant", anchors).fit(S)
    dense_space = ConditionalKernel(Linear(), "constant", anchors).fit(D)
    np.testing.assert_allclose(sparse_space.K(S), dense_space.K(D), atol=1e-12)
    f = sparse_space.function([1.0], np.arange(12.0), S)
    g = dense_space.function([1.0], np.arange(12.0), D)
    assert sparse_space.representer(S[:1]).inner(f) == pytest.approx(g(D[:1])[0])
    assert (f + f).norm == pytest.approx((g + g).norm)
    np.testing.assert_allclose((f - 3 * f)(S), (g - 3 * g)(D), atol=1e-9)


def test_a_function_as_kernel_and_read_only_float32_points():
    X = plane(40).astype(np.float32)
    X.flags.writeable = False
    space = ConditionalKernel(lambda X, Z: np.exp(X @ Z.T), LINEAR).fit(X)
    assert np.linalg.eigvalsh(space.K(X))[0] > -1e-10
    assert space.condition_ < 50


def test_what_is_neither_a_choice_nor_points_nor_a_kernel():
    for anchors in (None, 3, len):
        with pytest.raises(ValueError, match=r"anchors=.* is not known; pass one of 'sample'"):
            ConditionalKernel(Gaussian(1.0), anchors=anchors)
    space = ConditionalKernel(Gaussian(1.0)).fit(plane(0))
    with pytest.raises(TypeError, match=r"is a space, not a kernel: .* \.K"):
        GRLSRegressor(space).fit(plane(0), np.arange(20.0))
