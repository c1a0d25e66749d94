"""The units of the primal problem."""

import numpy as np
import pytest

from kernelbook.solvers.primal.problem import PrimalProblem


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e3])
def test_units_are_powers_of_four_and_products_the_same(size):
    rng = np.random.default_rng(4)
    X, P = size * rng.normal(size=(40, 5)), rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    q = PrimalProblem(X, P, y, np.full(40, 3.0), False)
    assert np.log2(q.unit) % 2 == 0
    assert q.root**2 == q.unit
    assert 0.25 < q.unit / min(3.0, 1 / np.mean(np.sum(X * X, axis=1))) < 4
    w, beta = rng.normal(size=5), rng.normal(size=40)
    assert np.allclose(q.values(w), q.X @ w, rtol=1e-13, atol=0)
    assert np.allclose(q.sums(beta), q.X.T @ beta, rtol=1e-12, atol=1e-13)
    part = q.widened(X[:, :2], float(np.mean(np.sum(X[:, :2] ** 2, axis=1))))
    fresh = PrimalProblem(X[:, :2], P, y, np.full(40, 3.0), False)
    assert part.unit == fresh.unit
    assert np.array_equal(part.u, fresh.u)
    assert np.array_equal(part.X, fresh.X)
