"""The matrices of pairs of classes, from shared blocks: parts of the Gram matrix of all samples."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from kernelbook import Gaussian, Linear
from kernelbook.estimators._multiclass import members
from kernelbook.kernels import Matern, Polynomial
from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.pairs.blocks import ClassBlocks, assembled

SIZES = [1, 40, 7, 300]
PAIRS = list(combinations(range(4), 2))


def sample(d, seed=0, sizes=SIZES):
    """Points of four classes of very different sizes, in no order; the samples of each."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    groups = members(codes, len(sizes))
    assert [list(g) for g in groups] == [
        [i for i, c in enumerate(codes) if c == k] for k in range(len(sizes))
    ]
    assert not all(np.all(np.diff(g) == 1) for g in groups)  # they are not sorted
    return rng.normal(size=(codes.size, d)), groups


def part(gram, groups, a, b):
    rows = np.concatenate([groups[a], groups[b]])
    return gram[np.ix_(rows, rows)]


def assert_are_parts(blocks, gram, groups, pairs, **tolerance):
    for a, b in pairs:
        K = blocks.pair(a, b)
        assert K.B.shape == (groups[a].size, groups[b].size)
        assert K.rows.shape == (groups[a].size + groups[b].size,) * 2
        np.testing.assert_allclose(assembled(K), part(gram, groups, a, b), **tolerance)
        np.testing.assert_array_equal(K.A, K.A.T)
        np.testing.assert_array_equal(K.D, K.D.T)


@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(2.0), Linear(), Polynomial(3)], ids=str)
def test_pairs_of_a_kernel_are_parts_of_its_gram_matrix(kernel, d):
    X, groups = sample(d)
    gram = kernel(X)
    blocks = ClassBlocks.of_kernel(kernel, X, groups, PAIRS)
    assert_are_parts(blocks, gram, groups, PAIRS, rtol=1e-11, atol=1e-11)
    assert blocks.size == kernel.diag(X).max()


def test_pairs_of_a_matrix_are_its_parts_exactly():
    rng = np.random.default_rng(0)
    _, groups = sample(1)
    gram = rng.normal(size=(sum(SIZES), sum(SIZES)))
    gram += gram.T
    gram.flags.writeable = False
    blocks = ClassBlocks.of_matrix(gram, groups, PAIRS)
    assert_are_parts(blocks, gram, groups, PAIRS, rtol=0)
    assert blocks.size == gram.diagonal().max()


def test_sparse_rows():
    X, groups = sample(5)
    X[X < 0.5] = 0.0
    blocks = ClassBlocks.of_kernel(Linear(), sparse.csr_array(X), groups, PAIRS)
    assert_are_parts(blocks, X @ X.T, groups, PAIRS, atol=1e-13)


def test_only_classes_that_are_asked_for_are_computed():
    """The fourth class is in no pair: neither its block nor its numbers matter."""
    X, groups = sample(3)
    X[groups[3]] *= 100.0
    asked = []
    pairs = [(0, 2), (1, 2)]
    blocks = ClassBlocks(lambda a, b, out: (asked.append((a, b)), out.fill(1.0)), SIZES, pairs)
    assert sorted(asked) == [(0, 0), (1, 1), (2, 2)]
    blocks.pair(1, 2)
    assert asked[3:] == [(1, 2)]  # squares are shared, what is between two classes is not kept
    assert blocks.pair(0, 2).D is blocks.pair(1, 2).D
    some = ClassBlocks.of_kernel(Linear(), X, groups, pairs)
    assert some.size == max((X[groups[c]] ** 2).sum(axis=1).max() for c in range(3))
    assert_are_parts(some, X @ X.T, groups, pairs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 1, 3], [5, 5, 1]])
def test_tiny_classes_of_odd_sizes_fit_into_the_memory_of_a_thread(sizes):
    """Together n samples: the block between the classes has n²/4 numbers at most, rounded down."""
    X, groups = sample_any(sizes)
    pairs = list(combinations(range(3), 2))
    blocks = ClassBlocks.of_kernel(Gaussian(1.0), X, groups, pairs)
    assert_are_parts(blocks, Gaussian(1.0)(X), groups, pairs, rtol=1e-14)


def sample_any(sizes):
    order = np.random.default_rng(0).permutation(sum(sizes))
    groups = [np.sort(g) for g in np.split(order, np.cumsum(sizes)[:-1])]
    return np.random.default_rng(1).normal(size=(sum(sizes), 2)), groups


def test_a_thread_uses_its_memory_again_and_shares_it_with_nobody():
    X, groups = sample(3)
    blocks = ClassBlocks.of_kernel(Gaussian(1.0), X, groups, PAIRS)
    first, second = blocks.pair(0, 1), blocks.pair(2, 3)
    assert np.shares_memory(first.B, second.B)
    assert np.shares_memory(first.rows, second.rows)
    with ThreadPoolExecutor(1) as other:
        elsewhere = other.submit(blocks.pair, 2, 3).result()
    assert not np.shares_memory(elsewhere.B, second.B)
    assert not np.shares_memory(elsewhere.rows, second.rows)
    assert elsewhere.A is second.A


def test_several_threads_do_not_disturb_each_other():
    """Each holds its matrix while the others compute theirs."""
    X, groups = sample(20)
    kernel = Gaussian(4.0)
    gram = kernel(X)
    blocks = ClassBlocks.of_kernel(kernel, X, groups, PAIRS)
    together, wrong = threading.Barrier(3), []

    def check(t):
        for k in range(4 * len(PAIRS)):
            pair = PAIRS[(t + k) % len(PAIRS)]
            K = blocks.pair(*pair)
            together.wait()
            if not np.allclose(assembled(K), part(gram, groups, *pair), rtol=1e-11, atol=0):
                wrong.append(pair)
            together.wait()

    threads = [threading.Thread(target=check, args=(t,)) for t in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_pairs_on_the_threads_of_a_loop():
    X, groups = sample(20)
    gram = Gaussian(4.0)(X)
    blocks, seen = ClassBlocks.of_kernel(Gaussian(4.0), X, groups, PAIRS), {}
    parallel_for(lambda i: seen.update({i: assembled(blocks.pair(*PAIRS[i % 6]))}), 60)
    assert len(seen) == 60
    for i, K in seen.items():
        np.testing.assert_allclose(K, part(gram, groups, *PAIRS[i % 6]), rtol=1e-11)


def test_a_kernel_that_overflows_says_so():
    X, groups = sample(3)
    X[groups[3][-1]] = 1e200
    with pytest.raises(ValueError, match="overflows"):
        ClassBlocks.of_kernel(Linear(), X, groups, PAIRS)
