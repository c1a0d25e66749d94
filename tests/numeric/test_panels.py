"""Passes over kernel matrices that are never in memory, against matrices that are."""

import numpy as np
import pytest
from scipy import sparse

from kernelbook import Gaussian, Linear, ThinPlate
from kernelbook.kernels import FunctionKernel
from kernelbook.numeric import panels
from kernelbook.numeric.blas import (
    add_gram,
    cholesky,
    solve_factored,
    solve_rows,
    solve_triangular,
)
from kernelbook.numeric.conjugate_gradients import conjugate_gradients, norms
from kernelbook.numeric.panels import Panels, SymmetricProduct


@pytest.fixture(params=["Gaussian", "sum", "function", "sparse"])
def matrix(request):
    """A kernel, X, Z, and the matrix as a formula gives it."""
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(1301, 3)), rng.normal(size=(37, 3))
    squares = ((X[:, None] - Z) ** 2).sum(axis=2)
    if request.param == "Gaussian":
        return Gaussian(1.3), X, Z, np.exp(-squares / 1.69)
    if request.param == "sum":
        return Linear() + Gaussian(1.3), X, Z, X @ Z.T + np.exp(-squares / 1.69)
    if request.param == "function":
        return FunctionKernel(lambda A, B: (1 + A @ B.T) ** 2), X, Z, (1 + X @ Z.T) ** 2
    return Linear(), sparse.csr_array(X), sparse.csr_array(Z), X @ Z.T


def test_products(matrix, monkeypatch):
    kernel, X, Z, K = matrix
    monkeypatch.setattr(panels, "ROUND", 20_000)  # several rounds
    done = []
    P = Panels(kernel, X, Z, done.append)
    rng = np.random.default_rng(0)
    C, V, w = rng.normal(size=(37, 2)), rng.normal(size=(1301, 2)), rng.uniform(size=1301)
    np.testing.assert_allclose(P.times(C), K @ C, rtol=1e-11, atol=1e-11)
    assert sum(done) == 1301
    assert len(done) > 1
    np.testing.assert_allclose(P.adjoint(V), K.T @ V, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(P.normal(C, w), K.T @ (w[:, None] * (K @ C)), rtol=1e-10)


@pytest.mark.parametrize("m", [5, 256, 900])
@pytest.mark.parametrize("kernel", [Gaussian(1.3), Linear(), ThinPlate()], ids=repr)
def test_symmetric_product(kernel, m, monkeypatch):
    monkeypatch.setattr(panels, "ROUND", 200_000)
    rng = np.random.default_rng(1)
    X, V = rng.normal(size=(m, 2)), rng.normal(size=(m, 3))
    done = []
    product = SymmetricProduct(kernel, X, done.append)(V)
    np.testing.assert_allclose(product, kernel(X) @ V, rtol=1e-10, atol=1e-10)
    assert sum(done) == m


def test_a_kernel_that_overflows_is_an_error():
    X = np.full((4, 1), 1e200)
    with pytest.raises(ValueError, match="overflows"):
        Panels(Linear(), X, X).times(np.ones((4, 1)))


def test_blas_in_place():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 7))
    L = np.asfortranarray(
        np.tril(rng.normal(size=(7, 7))) + 4 * np.eye(7) + np.triu(np.ones((7, 7)), 1)
    )
    total = np.asfortranarray(rng.normal(size=(7, 7)))
    expected = total + rows.T @ rows
    add_gram(rows, total)
    np.testing.assert_allclose(np.tril(total), np.tril(expected), rtol=1e-13)
    expected = np.linalg.solve(np.tril(L), rows.T).T
    solve_rows(L, rows)
    np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-14)


def test_blas_refuses_what_it_would_misread():
    square, rows = np.eye(3), np.ones((5, 3))
    with pytest.raises(TypeError, match="F order"):
        solve_rows(np.arange(9.0).reshape(3, 3), rows)
    with pytest.raises(TypeError, match="C order"):
        add_gram(np.asfortranarray(rows), np.asfortranarray(square))
    with pytest.raises(TypeError, match="float64"):
        add_gram(rows.astype(np.float32), np.asfortranarray(square))
    with pytest.raises(ValueError, match="does not fit"):
        solve_rows(np.asfortranarray(square), np.ones((5, 4)))
    with pytest.raises(ValueError, match="does not fit"):
        add_gram(rows, np.zeros((4, 4), order="F"))


@pytest.mark.parametrize("n", [0, 1, 7, 256, 257, 600, 601, 700, 769])
def test_a_cholesky_factor_by_blocks(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 3))
    A = A @ A.T + np.eye(n)
    above = np.triu(np.full((n, n), np.nan), 1)  # never read, and left as it is
    L = np.asfortranarray(np.tril(A) + above)
    cholesky(L)
    np.testing.assert_array_equal(np.triu(L, 1), above)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-9, atol=1e-11)
    B = rng.normal(size=(n, 70))
    for right in (B, B[:, 0], B[:, :0]):
        x = solve_factored(L, right)
        assert x.shape == right.shape
        np.testing.assert_allclose(A @ x, right, atol=1e-8)
        y = solve_triangular(L, right)
        np.testing.assert_allclose(np.tril(L) @ y, right, atol=1e-9)
        np.testing.assert_allclose(solve_triangular(L, y, trans=True), x, atol=1e-9)


def test_a_matrix_without_a_factor_is_an_error():
    for n in (600, 900):  # as a whole, and by blocks
        A = np.eye(n, order="F")
        A[400, 400] = -1.0
        with pytest.raises(np.linalg.LinAlgError, match="order 401"):
            cholesky(A)
    with pytest.raises(TypeError, match="F order"):
        cholesky(np.ones((3, 3)) + np.triu(np.ones((3, 3))))
    with pytest.raises(ValueError, match="does not fit"):
        solve_factored(np.eye(3, order="F"), np.ones(4))


# ------------------------------------------------------------------- conjugate gradients


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
