"""Conjugate gradients: the solution, the number of steps, the error bound."""

import numpy as np

from kernelbook.numeric.conjugate_gradients import conjugate_gradients, restarted
from kernelbook.numeric.linalg import norms, refine


def _system(values, seed=0):
    rng = np.random.default_rng(seed)
    n = len(values)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (Q * values) @ Q.T, rng.normal(size=(n, 3))


def test_conjugate_gradients_solve():
    A, B = _system(np.geomspace(1, 1e3, 40))
    X, steps, negative = conjugate_gradients(A.__matmul__, lambda R: R, B, 1e-10 * norms(B), 200)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-7, atol=1e-9)
    assert steps < 200
    assert not negative.any()


def test_a_step_for_each_different_eigenvalue():
    A, B = _system(np.repeat([1.0, 10.0, 1e4], 15))
    _, steps, _ = conjugate_gradients(A.__matmul__, lambda R: R, B, 1e-8 * norms(B), 100)
    assert steps == 3


def test_the_error_bound():
    """‖x_k − x*‖_A ≤ 2((√κ−1)/(√κ+1))^k ‖x*‖_A, with a preconditioner."""
    A, B = _system(np.geomspace(1, 300, 60))
    D = np.diag(np.random.default_rng(1).uniform(0.5, 2, 60))
    A = D @ A @ D
    kappa, exact = 300.0, np.linalg.solve(A, B)
    size = np.einsum("ij,ij->j", exact, A @ exact)
    for k in (1, 5, 20):
        X, steps, _ = conjugate_gradients(
            A.__matmul__, lambda R: np.linalg.solve(D @ D, R), B, np.zeros(3), k
        )
        assert steps == k
        off = np.einsum("ij,ij->j", X - exact, A @ (X - exact))
        rate = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
        assert np.all(np.sqrt(off / size) <= 2 * rate**k)


def test_columns_rest_when_they_are_done():
    A, B = _system(np.geomspace(1, 100, 30))
    B[:, 1] = 0.0
    X, _, _ = conjugate_gradients(A.__matmul__, lambda R: R, B, 1e-9 * norms(B), 100)
    assert not X[:, 1].any()
    np.testing.assert_allclose(A @ X, B, atol=1e-7)


def test_a_matrix_that_is_not_positive_is_noticed():
    A, B = _system(np.r_[-1.0, np.ones(20)])
    _, _, negative = conjugate_gradients(A.__matmul__, lambda R: R, B, np.zeros(3), 50)
    assert negative.all()


def test_refinement_keeps_what_is_better_and_stops():
    """One column improves, one is spoiled by every step, one is finished from the start."""
    calls = []

    def improve(state, active):
        calls.append(active.copy())
        x, residual = state
        return x + 1, residual * [0.1, 2.0, 0.1]

    start = np.zeros((1, 3)), np.array([[1.0, 1.0, 1e-9]])
    x, residual = refine(improve, start, np.full(3, 2e-8), 20)
    assert x[0, 1] == 0
    assert residual[0, 1] == 1.0
    assert residual[0, 0] <= 2e-8
    np.testing.assert_array_equal(calls[0], [True, True, False])
    np.testing.assert_array_equal(calls[1], [True, False, False])
    assert len(calls) == 8


def test_restarts_reach_the_true_residual():
    A, B = _system(np.geomspace(1, 1e6, 60))

    def evaluate(X):
        return X, B - A @ X

    start = evaluate(np.zeros_like(B))
    tolerance = 1e-9 * norms(B)
    (X, residual), steps, negative = restarted(
        A.__matmul__, lambda R: R, evaluate, start, tolerance, 5000
    )
    np.testing.assert_array_equal(residual, B - A @ X)
    assert np.all(norms(residual) <= tolerance)
    assert not negative.any()
    _, few, _ = restarted(A.__matmul__, lambda R: R, evaluate, start, tolerance, 7)
    assert few == 7 < steps
    *_, negative = restarted(lambda V: -V, lambda R: R, evaluate, start, tolerance, 7)
    assert negative.all()
