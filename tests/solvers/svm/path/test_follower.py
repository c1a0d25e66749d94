"""The parts of the engine that follows paths: pivots, ratio tests, a solution from anywhere."""

import numpy as np
import pytest

from kernelbook.solvers.svm.path import Affine, ParametricQP, Problem
from kernelbook.solvers.svm.path.gram import DenseGram, combine_rows
from kernelbook.solvers.svm.path.inverse import PivotedInverse, border, exchange, unborder
from kernelbook.solvers.svm.path.pieces import project_kernel
from kernelbook.solvers.svm.path.pivots import first, first_at_margin
from tests.naive import svm_path as naive
from tests.samples.path import KERNELS, sample


def solved(engine, K, P, y, upper):
    value = 0.5 * engine.beta @ K @ engine.beta - y @ engine.beta
    return value == pytest.approx(naive.qp(K, P, y, upper)[1], rel=1e-7)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_resolve_from_anywhere(kernel):
    """From the solution for other labels, other weights and another C."""
    pytest.importorskip("cvxopt")
    X, y = sample(40, 1)
    P = np.ones((40, 1))
    K = project_kernel(KERNELS[kernel](X), P / np.sqrt(40))[0]

    def problem(y, upper):
        top = y * upper
        low, up = Affine.constant(np.minimum(top, 0)), Affine.constant(np.maximum(top, 0))
        return Problem(Affine.constant(y), low, up, Affine.constant(np.zeros(1)))

    upper = np.full(40, 0.5)
    engine = ParametricQP(DenseGram(K), P, problem(y, 0 * upper), 0.0, np.sign(y))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        engine.resolve(problem(y, upper))
        assert solved(engine, K, P, y, upper)
        y = np.where(rng.random(40) < 0.8, y, -y)
        upper = rng.uniform(0.1, 10.0, 40)


@pytest.mark.interpreted
def test_products_with_some_rows():
    rng = np.random.default_rng(0)
    X, z, rows = rng.normal(size=(9, 4)), rng.normal(size=3), np.array([7, 0, 3])
    K = X @ X.T
    gram, beta = DenseGram(K), np.zeros(9)
    beta[rows] = z
    assert gram.combine(rows, z) == pytest.approx(K @ beta)
    assert gram.times(beta) == pytest.approx(K @ beta)
    assert gram.column(rows, 5) == pytest.approx(K[rows, 5])
    assert gram.block(rows) == pytest.approx(K[np.ix_(rows, rows)])
    assert gram.one(2) == pytest.approx(K[2])
    A = rng.normal(size=(9, 5))
    assert combine_rows(A, rows, z) == pytest.approx(naive.combine_rows(A, rows, z))


@pytest.mark.interpreted
def test_inverse_follows_the_set():
    rng = np.random.default_rng(0)
    n, l = 12, 2
    X, P = rng.normal(size=(n, n)), rng.normal(size=(n, l))
    gram = X @ X.T
    M = PivotedInverse(DenseGram(gram), P)
    for step in ((3,), (5, n), (7, n + 1), (1,), (-5, -n), (9,), (-3,), (2, n), (-9,), (-1,)):
        if step[0] < 0:
            M.delete(*(-j for j in step))
        else:
            M.insert(*step)
        assert M.inverse == pytest.approx(naive.principal_inverse(gram, P, M.S), rel=1e-8, abs=1e-9)
    M.inverse[:] += 1e-3
    M.refactor()
    assert M.inverse == pytest.approx(naive.principal_inverse(gram, P, M.S), rel=1e-8, abs=1e-9)


@pytest.mark.interpreted
def test_ratio_test():
    rng = np.random.default_rng(0)
    for _ in range(20):
        room, closing = rng.normal(size=8), rng.normal(size=8)
        flat = np.full(8, rng.choice([0.0, 0.5, 9.0]))
        expected = naive.first(room, closing, flat)
        assert first(room, closing, flat) == pytest.approx(expected)
        # The same numbers as distances of samples at bounds from a moving margin.
        side, da, t = rng.choice([-1, 1], 8).astype(np.int8), rng.normal(size=8), rng.normal()
        f, df = rng.normal(size=8), side * closing + da
        a = side * room - t * da + f
        assert first_at_margin(side, a, da, t, f, df, flat[0]) == pytest.approx(expected)


@pytest.mark.interpreted
@pytest.mark.parametrize("block", [1, 2])
def test_rows_of_an_inverse_come_go_and_change_places(block):
    """`border`, `exchange` and `unborder` beside inverses taken afresh."""
    rng = np.random.default_rng(block)
    s, size = 6, 6 + block
    A = rng.normal(size=(size, size))
    A, W = A @ A.T + np.eye(size), np.zeros((10, 10))
    W[:s, :s] = np.linalg.inv(A[:s, :s])
    V = (W[:s, :s] @ A[:s, s:]).T
    border(W, s, V, np.linalg.inv(A[s:, s:] - V @ A[:s, s:]))
    assert W[:size, :size] == pytest.approx(np.linalg.inv(A), rel=1e-10, abs=1e-12)
    S, order = np.arange(size), np.arange(size)
    exchange(S, W, size, 1, size - 1)
    order[[1, size - 1]] = order[[size - 1, 1]]
    assert np.array_equal(S, order)
    A = A[np.ix_(order, order)]
    assert W[:size, :size] == pytest.approx(np.linalg.inv(A), rel=1e-10, abs=1e-12)
    unborder(W, s, np.linalg.inv(W[s:size, s:size]))
    assert W[:s, :s] == pytest.approx(np.linalg.inv(A[:s, :s]), rel=1e-10, abs=1e-12)
