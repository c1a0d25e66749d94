"""Parts of a Gram matrix, by slices: those of the whole, exactly symmetric on the diagonal."""

import numpy as np
import pytest
from scipy import sparse

from kernelbook.kernels import (
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    ThinPlate,
)
from kernelbook.numeric import tiles

KERNELS = [
    Gaussian(2.0),
    Laplacian(2.0),
    Matern(1.5),
    ThinPlate(),
    Linear(),
    Polynomial(3),
    2.0 * Gaussian(2.0) + Linear() * Matern(1.0),
    FunctionKernel(np.inner),
]


def numbered(calls):
    """A fill that writes 1000·i + j, asymmetric by far, and notes what it was asked for."""

    def fill(rows, cols, out):
        assert out.flags.c_contiguous
        assert out.shape == (rows.stop - rows.start, cols.stop - cols.start)
        calls.append((rows, cols))
        i, j = np.ogrid[rows, cols]
        out[...] = 1000.0 * i + j

    return fill


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        (slice(0, 1), slice(0, 1)),
        (slice(3, 10), slice(20, 25)),
        (slice(0, 1000), slice(7, 607)),  # more rows than a tile, and more numbers
        (slice(5, 3005), slice(0, 3)),  # high and narrow
        (slice(2, 5), slice(0, 70_000)),  # a row is more than a tile
        (slice(100, 900), slice(200, 900)),  # they overlap, and are not the same
        (slice(4, 4), slice(0, 3)),
        (slice(0, 3), slice(4, 4)),
    ],
)
def test_a_block_is_filled_some_rows_at_a_time(rows, cols):
    calls = []
    out = np.full((rows.stop - rows.start, cols.stop - cols.start), np.nan)
    tiles.fill_block(numbered(calls), rows, cols, out)
    i, j = np.ogrid[rows, cols]
    np.testing.assert_array_equal(out, 1000.0 * i + j)
    assert [k for part, _ in calls for k in range(part.start, part.stop)] == list(
        range(rows.start, rows.stop)
    )
    for part, across in calls:
        assert across == cols
        size = (part.stop - part.start) * out.shape[1]
        assert size <= tiles.TILE**2 or part.stop - part.start == 1
    many = out.size > tiles.TILE**2
    assert (len(calls) > 1) == many


@pytest.mark.parametrize("n", [1, 9, 300, 700])
@pytest.mark.parametrize("start", [0, 31])
def test_a_block_on_the_diagonal_is_mirrored(n, start):
    here, out = slice(start, start + n), np.full((n, n), np.nan)
    tiles.fill_block(numbered([]), here, slice(start, start + n), out)
    i = np.arange(start, start + n)
    expected = 1000.0 * np.minimum.outer(i, i) + np.maximum.outer(i, i)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_blocks_of_a_kernel_are_parts_of_its_matrix(kernel, d):
    X = np.random.default_rng(0).normal(size=(640, d))
    gram, block = kernel(X), kernel.blocks(X)
    scale = np.abs(gram).max()
    spans = [slice(0, 1), slice(1, 30), slice(30, 400), slice(200, 640), slice(0, 640)]
    for rows in spans:
        for cols in spans:
            out = np.full((rows.stop - rows.start, cols.stop - cols.start), np.nan)
            block(rows, cols, out)
            np.testing.assert_allclose(out, gram[rows, cols], rtol=1e-11, atol=1e-13 * scale)
            if rows == cols:
                np.testing.assert_array_equal(out, out.T)
                # Of these rows alone: BLAS may round x·x differently in other company.
                np.testing.assert_array_equal(out.diagonal(), kernel.diag(X[rows]))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), 3.0 * Linear()], ids=str)
def test_blocks_of_sparse_rows(kernel):
    dense = np.random.default_rng(0).normal(size=(300, 8))
    dense[dense < 0.7] = 0.0
    gram = kernel(dense)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
        block = kernel.blocks(kind(dense))
        for rows, cols in ((slice(0, 100), slice(100, 300)), (slice(50, 300), slice(50, 300))):
            out = np.empty((rows.stop - rows.start, cols.stop - cols.start))
            block(rows, cols, out)
            np.testing.assert_allclose(out, gram[rows, cols], atol=1e-12)
    np.testing.assert_array_equal(out, out.T)


def test_rows_are_checked_before_any_block():
    with pytest.raises(ValueError, match="2-D"):
        Gaussian().blocks(np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        Gaussian().blocks(np.array([[0.0], [np.nan]]))
    with pytest.raises(ValueError, match="distances may"):
        Gaussian().blocks(np.array([[0.0], [1e308]]))
    block, out = Gaussian(2.0).blocks([[0, 1], [2, 3]]), np.empty((1, 1))
    block(slice(0, 1), slice(1, 2), out)
    assert out[0, 0] == pytest.approx(np.exp(-2.0), rel=1e-14)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(9), 2.0 * Linear()], ids=str)
def test_a_block_that_overflows_is_an_error_and_the_others_are_not(kernel):
    X = np.ones((400, 2))
    X[350] = 1e200
    block = kernel.blocks(X)
    out = np.empty((350, 350))
    block(slice(0, 350), slice(0, 350), out)
    np.testing.assert_array_equal(out, kernel(X[:350]))
    for rows, cols in ((slice(300, 400), slice(300, 400)), (slice(350, 351), slice(350, 351))):
        with pytest.raises(ValueError, match="overflows"):
            block(rows, cols, np.empty((rows.stop - rows.start, cols.stop - cols.start)))
