"""Sums of Gaussians without tiles, against the formula."""

import numpy as np
import pytest

from kernelbook.kernels import Gaussian
from kernelbook.numeric.pairwise import gaussian_sums
from tests.naive import kernels as naive


@pytest.mark.interpreted
@pytest.mark.parametrize(("m", "n", "d"), [(5, 3, 1), (3, 131, 6), (4, 0, 2), (0, 4, 2)])
def test_gaussian_sums_are_those_of_the_formula(m, n, d):
    """Every remainder of the strips of 128 points and of the columns by four."""
    rng = np.random.default_rng(m + n)
    X, Z, c = rng.normal(size=(m, d)), rng.normal(size=(n, d)), rng.normal(size=n)
    exact = naive.matrix(naive.gaussian(1.5), X, Z) @ c
    k = Gaussian(1.5)
    np.testing.assert_allclose(k.matvec(X, Z, c), exact.astype(float), atol=1e-13)
    np.testing.assert_allclose(k.gram_matvec(Z, c), k(Z) @ c, atol=1e-13)


def test_gaussian_sums_at_absurd_scales():
    X = np.random.default_rng(0).normal(size=(200, 3))
    c = np.ones(200)
    for width in (1e-200, 1e-3, 1e3, 1e200):
        k = Gaussian(width)
        np.testing.assert_allclose(k.gram_matvec(width * X, c), Gaussian()(X) @ c, rtol=1e-12)
        np.testing.assert_allclose(k.matvec(1e100 * X, 1e100 * X, c), k(1e100 * X) @ c, rtol=1e-12)
    with pytest.raises(ValueError, match="Scale"):
        Gaussian().gram_matvec(np.full((2, 1), 1e305), np.ones(2))


def test_a_kernel_derived_from_a_gaussian_has_no_gaussian_sums():
    class Twice(Gaussian):
        def _fill(self, X, Z):
            fill = super()._fill(X, Z)

            def doubled(rows, cols, out):
                fill(rows, cols, out)
                out *= 2.0

            return doubled

    X, c = np.random.default_rng(0).normal(size=(50, 2)), np.ones(50)
    np.testing.assert_allclose(Twice().gram_matvec(X, c), 2 * Gaussian()(X) @ c, rtol=1e-13)
    np.testing.assert_allclose(Twice().matvec(X, X[:9], c[:9]), 2 * Gaussian()(X, X[:9]) @ c[:9])


@pytest.mark.interpreted
@pytest.mark.parametrize("d", [1, 4, 6])
def test_each_kernel_is_its_formula(d):
    """Rows of entries; a panel of sums; a strip whose entries serve from both sides."""
    rng = np.random.default_rng(d)
    X, c, factor = rng.normal(size=(131, d)), rng.normal(size=131), -0.7
    K = np.exp2(factor * naive.matrix(naive.distance, X, X).astype(float) ** 2)
    Xt, part = np.ascontiguousarray(X.T), np.empty(5)
    gaussian_sums._entries(X[3], Xt, 120, factor, part)
    np.testing.assert_allclose(part, K[3, 120:125], rtol=1e-13)
    out = np.zeros(2)
    gaussian_sums.row_sums(X[:2], Xt, factor, c, out)
    np.testing.assert_allclose(out, K[:2] @ c, atol=1e-13)
    out = np.zeros(131)
    for start in (0, 128):
        gaussian_sums.strip_sums(X, Xt, factor, c, start, out)
    np.testing.assert_allclose(out, K @ c, atol=1e-12)
