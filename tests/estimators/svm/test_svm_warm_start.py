"""A fit that starts where the last one ended: the same answer, in fewer steps."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from kernelbook import Gaussian, Polynomials, SVMGBClassifier
from kernelbook.solvers.svm.certificate import Tolerance
from kernelbook.solvers.svm.large.solve import MovingProduct, solve_large
from kernelbook.solvers.svm.problem import KernelSource, _add_low_rank
from tests.samples.xor import xor as noisy_xor

GRID = [0.1, 0.3, 1.0, 3.0, 10.0]


xor = partial(noisy_xor, d=5)


def along(X, y, grid, *, warm, **options):
    """Steps, decision values and certificates along a grid of C."""
    model = SVMGBClassifier(Gaussian(2.0), warm_start=warm, **options)
    steps, values, proofs = 0, [], []
    for C in grid:
        model.set_params(C=C).fit(X, y)
        steps += model.n_iter_.sum()
        values.append(model.decision_function(X[:100]))
        proofs.append(model.certificate_)
    return steps, np.array(values), proofs


@pytest.mark.parametrize("features", ["constant", Polynomials(1)])
@pytest.mark.parametrize("grid", [GRID, GRID[::-1]], ids=["up", "down"])
def test_a_large_sample_along_a_grid(features, grid):
    X, y = xor(1100)
    options = {"features": features, "gap_tol": 1e-9}
    cold, expected, _ = along(X, y, grid, warm=False, **options)
    warm, values, proofs = along(X, y, grid, warm=True, **options)
    assert warm < cold
    assert all(proof.relative_gap <= 1e-9 and proof.kkt <= 1e-3 for proof in proofs)
    np.testing.assert_allclose(values, expected, atol=1e-4)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_small_samples_of_three_classes_along_a_grid(multiclass):
    X, _ = xor(300)
    y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    options = {"features": Polynomials(1), "multiclass": multiclass}
    cold, expected, _ = along(X, y, GRID, warm=False, **options)
    warm, values, proofs = along(X, y, GRID, warm=True, **options)
    assert warm < cold
    assert all(proof.kkt < 1e-9 for proof in proofs)
    np.testing.assert_allclose(values, expected, atol=1e-8)


@pytest.mark.parametrize("m", [250, 1100])
def test_the_same_again_takes_next_to_nothing(m):
    X, y = xor(m)
    model = SVMGBClassifier(Gaussian(2.0), warm_start=True, gap_tol=1e-9).fit(X, y)
    first, value = model.n_iter_[0], model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_[0] <= 10 < first
    assert model.certificate_.primal == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("m", [250, 1100])
def test_other_problems_start_afresh(m):
    X, y = xor(m)
    model = SVMGBClassifier(Gaussian(2.0), warm_start=True).fit(X, y)
    for other_X, other_y in ((X[:-1], y[:-1]), (X, y + 1), (X, np.where(X[:, 0] > 1, 2, y))):
        cold = SVMGBClassifier(Gaussian(2.0)).fit(other_X, other_y)
        model.fit(other_X, other_y)
        np.testing.assert_array_equal(model.dual_coef_, cold.dual_coef_)
        np.testing.assert_array_equal(model.n_iter_, cold.n_iter_)
        model.fit(X, y)
    # What is cloned, or was fitted without the parameter, remembers nothing.
    assert clone(model).fit(X, y).n_iter_[0] > 10
    model.set_params(warm_start=False).fit(X, y)
    assert model.set_params(warm_start=True).fit(X, y).n_iter_[0] > 10


@pytest.mark.parametrize("m", [250, 1100])
def test_a_bad_start_is_a_start(m):
    """Labels exchanged, weights at random, samples absent: the box cuts β, the rest is repair."""
    X, y = xor(m)
    rng = np.random.default_rng(1)
    options = {"features": Polynomials(1), "gap_tol": 1e-9}
    model = SVMGBClassifier(Gaussian(2.0), C=3.0, warm_start=True, **options).fit(X, y)
    for w in (None, rng.uniform(0.1, 2.0, m), rng.integers(0, 3, m).astype(float)):
        y = 1 - y
        model.fit(X, y, sample_weight=w)
        cold = SVMGBClassifier(Gaussian(2.0), C=3.0, **options).fit(X, y, sample_weight=w)
        assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-4)


def test_a_reference_has_no_start():
    with pytest.raises(ValueError, match="warm_start=True needs solver='auto' or 'robust'"):
        SVMGBClassifier(solver="cvxopt", warm_start=True).fit(*xor(20))


def test_a_start_outside_the_box_is_moved_into_it():
    X, y = xor(700)
    sign, C, P = np.where(y == 1, 1.0, -1.0), np.full(700, 2.0), np.ones((700, 1))
    gram = KernelSource(Gaussian(2.0), X)
    cold = solve_large(gram, P, sign, C, tolerance=Tolerance(gap=1e-9))
    start = np.random.default_rng(0).normal(scale=50.0, size=700)
    warm = solve_large(gram, P, sign, C, tolerance=Tolerance(gap=1e-9), start=start)
    np.testing.assert_allclose(warm.beta, cold.beta, atol=1e-5)


def test_a_product_that_moves_with_its_coordinates():
    rng = np.random.default_rng(0)
    X, before = rng.normal(size=(400, 3)), rng.normal(size=400)
    gram, K = KernelSource(Gaussian(1.0), X), Gaussian(1.0)(X)
    for moved in (0, 10, 399):
        beta = before.copy()
        beta[:moved] = rng.normal(size=moved)
        product = MovingProduct(gram)
        np.testing.assert_allclose(product(before), K @ before, atol=1e-12)
        h = product(beta)
        np.testing.assert_allclose(h, K @ beta, atol=1e-12)


def test_low_rank_is_added_in_place():
    rng = np.random.default_rng(0)
    K, A, B = rng.normal(size=(60, 60)), rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    K += K.T
    expected = K + A @ B.T + B @ A.T
    _add_low_rank(K, A, B)
    np.testing.assert_allclose(K, expected, atol=1e-13)
