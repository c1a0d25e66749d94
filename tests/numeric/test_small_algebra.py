"""Linear algebra in loops, beside NumPy's."""

import numpy as np
import pytest

from kernelbook.numeric.small_algebra import add, dot, factorize, least_norm_solve, solve


@pytest.mark.interpreted
def test_sums_run_over_the_second_vector():
    x, y = np.arange(6.0), np.array([2.0, -1.0, 4.0])
    assert dot(x, y) == 7.0
    add(3.0, x, y)
    np.testing.assert_array_equal(y, [2.0, 2.0, 10.0])
    assert dot(x, y[:0]) == 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [1, 2, 3, 12, 47])
def test_even_and_odd_numbers_of_equations(n):
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A, b = B @ B.T + np.eye(n), rng.normal(size=n)
    U, x = A.copy(), b.copy()
    assert factorize(U)
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, atol=1e-12 * n)
    solve(U, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-12 * n)


@pytest.mark.interpreted
def test_equations_are_solved_and_singular_ones_by_least_norm():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(12, 12))
    A, b = B @ B.T + np.eye(12), rng.normal(size=12)
    U, x = A.copy(), b.copy()
    assert factorize(U)
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, atol=1e-12)
    solve(U, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-12)
    assert not factorize(-A)
    S = B[:, :4] @ B[:, :4].T
    rhs = S @ b
    x = least_norm_solve(S, rhs)
    np.testing.assert_allclose(x, np.linalg.pinv(S) @ rhs, atol=1e-9)
    assert least_norm_solve(np.empty((0, 0)), np.empty(0)).size == 0
