"""Distances of whole numbers through products in single precision: exact, or not taken."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelbook.kernels import Gaussian, Laplacian
from kernelbook.numeric.pairwise import distances as module
from tests.naive import kernels as naive

LIMIT = 2**24
D = 20  # more than `DIRECT`


def rows_of_square(*squares):
    """Rows of D whole numbers, many of them odd and negative, with these ‖x‖² exactly."""
    rng = np.random.default_rng(0)
    rows = np.zeros((len(squares), D))
    for row, rest in zip(rows, squares, strict=True):
        for k in range(D - 4):
            row[k] = rng.integers(0, int((rest / 20) ** 0.5) + 1)
            rest -= int(row[k]) ** 2
        row[-4:] = four_squares(rest)
        row *= rng.choice([-1.0, 1.0], size=D)
    return rows


def four_squares(n):
    """n = a² + b² + c² + d² (Lagrange), the largest first."""
    for a in range(int(n**0.5) + 1, -1, -1):
        for b in range(int(max(0, n - a * a) ** 0.5) + 1, -1, -1):
            rest = n - a * a - b * b
            if rest < 0:
                continue
            for c in range(int(rest**0.5) + 1, -1, -1):
                last = rest - c * c
                if last >= 0 and round(last**0.5) ** 2 == last:
                    return a, b, c, round(last**0.5)
    raise AssertionError(n)


@pytest.fixture
def road(monkeypatch):
    """Which way the distances were computed, in turn."""
    taken = []

    def spied(name):
        way = getattr(module, name)
        return lambda X, Z: (taken.append(name), way(X, Z))[1]

    for name in ("_by_differences", "_of_whole_numbers", "_by_product"):
        monkeypatch.setattr(module, name, spied(name))
    return taken


def squares(X, Z):
    out = np.full((len(X), len(Z)), np.nan)
    with np.errstate(all="ignore"):
        module.distances(X, Z, squared=True)(slice(0, len(X)), slice(0, len(Z)), out)
    return out


# ----------------------------------------------------------------------------------- pieces


@pytest.mark.interpreted
@pytest.mark.parametrize("square", [0, 1, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, 4 * LIMIT])
def test_the_limit_is_meant_exactly(square):
    A = rows_of_square(5, square, 3)
    assert (A[1] ** 2).sum() == square
    assert (
        module.are_whole(A, module.EXACT_SQUARE) == naive.are_whole(A, LIMIT) == (square <= LIMIT)
    )
    assert module.are_whole(-A, module.EXACT_SQUARE) == (square <= LIMIT)
    assert module.are_whole(A[:1], module.EXACT_SQUARE)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (-0.0, True), (4096.0, True), (-4096.0, True), (4097.0, False), (-4097.0, False),
        (0.5, False), (1e-300, False), (5e-324, False), (-2.0000000000000004, False),
        (np.nextafter(3.0, 4.0), False), (1e15, False), (1e200, False), (-1e300, False),
        (np.nan, False), (np.inf, False), (-np.inf, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [(0, 0), (2, 3), (6, D - 1)])
def test_one_number_decides_wherever_it_stands(value, whole, place):
    A = np.zeros((7, D))
    A[place] = value
    with np.errstate(over="ignore"):  # interpreted, NumPy would warn of 1e200²
        assert module.are_whole(A, module.EXACT_SQUARE) == whole
    assert naive.are_whole(A, LIMIT) == whole


@pytest.mark.interpreted
def test_nothing_is_whole():
    assert module.are_whole(np.empty((0, D)), module.EXACT_SQUARE)
    assert naive.are_whole(np.empty((0, D)), LIMIT)


@pytest.mark.interpreted
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (5, 19)])
def test_squares_from_products(shape):
    rng = np.random.default_rng(0)
    product = rng.integers(-LIMIT, LIMIT, size=shape, endpoint=True)
    a2, b2 = (rng.integers(0, LIMIT, size=n, endpoint=True).astype(float) for n in shape)
    product[0, 0], a2[0], b2[0] = -LIMIT, LIMIT, LIMIT  # opposite points, the farthest
    out = np.full(shape, np.nan)
    module.whole_to_squares(product.astype(np.float32), a2, b2, out)
    assert out.tolist() == naive.whole_to_squares(product, a2, b2)
    assert out[0, 0] == 4 * LIMIT


# -------------------------------------------------------------------------------- distances


@pytest.mark.interpreted
def test_squares_are_exact_up_to_the_limit(road):
    """Partial sums that are odd and near 2²⁴, in whatever order BLAS takes them."""
    X = rows_of_square(LIMIT, LIMIT - 1, LIMIT, LIMIT - 7, 1, 0, LIMIT // 2 + 1)
    X[2] = -X[0]  # x·z = −2²⁴
    Z = rows_of_square(LIMIT - 3, LIMIT, 2, LIMIT)
    for A, B in ((X, X), (X, X.copy()), (X, Z), (Z, X)):
        assert squares(A, B).tolist() == naive.squares_of_whole(A, B)
    assert road == ["_of_whole_numbers"] * 4


@pytest.mark.parametrize("d", [17, 64, 1000])
@pytest.mark.parametrize("most", [1, 15, 255])
def test_squares_of_pixels_and_counts_are_exact(d, most, road):
    rng = np.random.default_rng(d)
    X = rng.integers(0, most, size=(40, d), endpoint=True).astype(float)
    X[20:] *= -1
    inside = (X**2).sum(axis=1).max() <= LIMIT
    found = squares(X, X)
    assert road == ["_of_whole_numbers" if inside else "_by_product"]
    exact = np.array(naive.squares_of_whole(X, X), dtype=float)
    if inside:
        np.testing.assert_array_equal(found, exact)
    else:
        np.testing.assert_allclose(found, exact, rtol=1e-13)


def test_just_above_the_limit_single_precision_would_be_wrong(road):
    X = np.zeros((2, D))
    X[:, 0] = 4097.0  # 4097² is odd and beyond 2²⁴: single precision has no such number
    out = np.empty((2, 2))
    module._of_whole_numbers(X, X)(slice(0, 2), slice(0, 2), out)
    assert np.all(out != 0.0)
    road.clear()
    assert np.all(squares(X, X) == 0.0)
    assert road == ["_by_product"]
    X = rows_of_square(LIMIT + 1, 9, LIMIT + 5)
    np.testing.assert_allclose(squares(X, X), naive.squares_of_whole(X, X), rtol=1e-13)
    assert road == ["_by_product"] * 2


@pytest.mark.parametrize("bad", [0.5, 5e-324, 4097.0])
def test_both_sides_have_to_be_whole(bad, road):
    X, Z = rows_of_square(8, 100, LIMIT), rows_of_square(LIMIT, 77)
    other = X.copy()
    other[-1, -1] = bad
    for A, B in ((other, Z), (Z, other), (other, other)):
        exact = naive.matrix(naive.distance, A, B) ** 2
        np.testing.assert_allclose(squares(A, B), exact.astype(float), rtol=1e-13)
    assert road == ["_by_product"] * 3


def test_few_dimensions_and_no_points_are_not_asked(road):
    X = rows_of_square(1, 2)
    squares(X[:, :16].copy(), X[:, :16].copy())
    squares(X, X[:0])
    assert road == ["_by_differences"] * 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_not_hidden(bad):
    X = rows_of_square(8, 100)
    X[1, 3] = bad
    found = squares(X, X)
    assert found[0, 0] == 0
    assert not np.isfinite(found[0, 1])
    assert not np.isfinite(found[1, 0])


def test_negative_zero_is_zero(road):
    X = rows_of_square(8, 100, 0)
    X[2] = -0.0
    assert squares(X, X).tolist() == naive.squares_of_whole(X, X)
    assert road == ["_of_whole_numbers"]


# ---------------------------------------------------------------------------------- kernels


@pytest.mark.parametrize(("kernel", "power"), [(Gaussian(40.0), 1.0), (Laplacian(40.0), 0.5)])
def test_kernels_of_digits(kernel, power, road):
    """Whole or, by a shift that changes no distance, not: the same matrix."""
    X = load_digits().data[:600]
    t = np.array(naive.squares_of_whole(X[:50], X[:50]), dtype=float)
    gram = kernel(X)
    np.testing.assert_allclose(gram[:50, :50], np.exp(-((t / 1600.0) ** power)), rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:70], X[500:]), gram[:70, 500:], rtol=1e-15)
    shifted = kernel(X + 0.25)
    np.testing.assert_allclose(shifted, gram, rtol=1e-11)
    assert road == ["_of_whole_numbers"] * 2 + ["_by_product"]


def test_the_matrix_is_that_of_its_tiles_exactly():
    """No number is rounded before the profile, so it does not matter how the matrix is cut."""
    X = load_digits().data[:600]
    gram = Gaussian(40.0)(X)
    out = np.empty((123, 477))
    Gaussian(40.0).blocks(X)(slice(0, 123), slice(123, 600), out)
    np.testing.assert_array_equal(out, gram[:123, 123:])
