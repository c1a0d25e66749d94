"""BLAS in place and by blocks, against NumPy."""

import numpy as np
import pytest

from kernelbook import Gaussian, GRLSRegressor, Polynomials, SVMGBClassifier, ThinPlate
from kernelbook.numeric import blas
from kernelbook.numeric.blas import (
    add_gram,
    cholesky,
    invert_factored,
    solve_factored,
    solve_rows,
    solve_triangular,
)
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.svm.solve import solve_robust


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
    invert_factored(L)
    np.testing.assert_array_equal(np.triu(L, 1), above)
    lower = np.tril(L)
    np.testing.assert_allclose((lower + np.tril(lower, -1).T) @ A, np.eye(n), atol=1e-8)


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


def test_solvers_hold_blas_to_one_thread_around_their_factors(monkeypatch):
    """`cholesky` and the solves with its factor rely on it: they do not ask for it themselves."""
    held = []
    for name in ("_dpotrf", "_dpotrs", "_dtrsm"):
        routine = getattr(blas, name)

        def seen(*args, routine=routine):
            held.append(serial_blas._inside > 0)
            return routine(*args)

        monkeypatch.setattr(blas, name, seen)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] + rng.normal(size=90)
    for kernel in (Gaussian(1.0), ThinPlate()):
        model = GRLSRegressor(kernel, Polynomials(1)).fit(X, y)
        for count in (1, 90):
            model.predict(X[:count], return_std=True)
    assert len(held) >= 10
    before = len(held)
    gram = Gaussian(1.0)(X)
    P = np.ones((90, 1))
    label = np.where(y > 0, 1.0, -1.0)
    solve_robust(gram, P, label, np.ones(90))
    SVMGBClassifier(Gaussian(1.0), Polynomials(1)).fit(X, label)
    assert len(held) > before
    assert all(held)
