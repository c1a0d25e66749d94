"""Passes over kernel matrices that are never in memory, against matrices that are."""

import numpy as np
import pytest
from scipy import sparse

from kernelbook import Gaussian, Linear, ThinPlate
from kernelbook.kernels import FunctionKernel
from kernelbook.numeric import panels, tiles


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
    P = kernel.panels(X, Z, done.append)
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
    monkeypatch.setattr(tiles, "ROUND", 200_000)
    rng = np.random.default_rng(1)
    X, V = rng.normal(size=(m, 2)), rng.normal(size=(m, 3))
    done = []
    product = kernel.gram_matvec(X, V, done.append)
    np.testing.assert_allclose(product, kernel(X) @ V, rtol=1e-10, atol=1e-10)
    assert sum(done) == m


def test_a_kernel_that_overflows_is_an_error():
    X = np.full((4, 1), 1e200)
    with pytest.raises(ValueError, match="overflows"):
        Linear().panels(X).times(np.ones((4, 1)))
