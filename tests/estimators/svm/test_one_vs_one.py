"""One against one: a fit to many classes is the fits to its pairs, whatever they share."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from kernelbook import Gaussian, Linear, Polynomials, SVMGBClassifier, ThinPlate
from kernelbook.estimators import svm
from kernelbook.kernels import FunctionKernel, Matern
from kernelbook.solvers.svm import certificate, several
from kernelbook.solvers.svm.certificate import certify
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.pairs.blocks import ClassBlocks, PairMatrix
from kernelbook.solvers.svm.pairs.solve import solve_pair
from kernelbook.solvers.svm.solve import EXACT_UP_TO as SMALL


def classes_of(sizes, d=3, seed=1):
    """Overlapping classes of these sizes, shuffled; their names are words, not in order."""
    rng = np.random.default_rng(seed)
    names = np.array(["pear", "apple", "fig", "cherry", "lime"])[: len(sizes)]
    y = rng.permutation(np.repeat(names, sizes))
    centres = {name: rng.normal(size=d) for name in names}
    return np.array([centres[name] for name in y]) + rng.normal(size=(y.size, d)), y


def affine(X):
    """1 and the columns of X, not in units of the sample, as those of `Polynomials` are."""
    return np.column_stack([np.ones(len(X)), X])


def pairs_of(y):
    """The samples of each pair, those of the first class first; the order of the problems."""
    for a, b in combinations(np.unique(y), 2):
        yield np.concatenate([np.flatnonzero(y == a), np.flatnonzero(y == b)])


def every_beta(model, m):
    """β of all samples, one row a problem."""
    beta = np.zeros((len(model.coef_), m))
    beta[:, model.support_] = model.dual_coef_
    return beta


def assert_same_proof(one, other, tol):
    assert one.primal == pytest.approx(other.primal, rel=tol)
    assert one.dual == pytest.approx(other.dual, rel=tol)
    assert one.gap == pytest.approx(other.gap, abs=tol * max(one.primal, 1.0))
    assert one.kkt == pytest.approx(other.kkt, abs=tol)
    assert one.constraint == pytest.approx(other.constraint, abs=1e-12)


def assert_is_its_pairs(model, X, y, tol=1e-8, weight=None, P=None):
    """Each problem alone: two classes, no blocks, no threads, and the samples in both orders."""
    beta = every_beta(model, len(y))
    for k, rows in enumerate(pairs_of(y)):
        assert not np.delete(beta[k], rows).any()
        for order in (rows, np.sort(rows)):
            alone = SVMGBClassifier(**model.get_params(deep=False))
            where = np.ix_(order, order) if P is not None else order
            options = {} if weight is None else {"sample_weight": weight[order]}
            options |= {} if P is None else {"P": P[order]}
            alone.fit(X[where], y[order], **options)
            unit = np.max(np.abs(beta[k]))
            np.testing.assert_allclose(
                beta[k, order], every_beta(alone, order.size)[0], atol=tol * unit
            )
            np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=tol, atol=tol)
            assert_same_proof(model.certificate_.parts[k], alone.certificate_, tol)
            assert model.rank_[k] == alone.rank_[0]


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("features", ["constant", affine, None])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(2.0)], ids=str)
def test_a_fit_is_the_fits_to_its_pairs(kernel, features, C):
    X, y = classes_of([60, 25, 90, 40])
    model = SVMGBClassifier(kernel, features, C=C).fit(X, y)
    assert model.certificate_.kkt < 1e-8
    assert_is_its_pairs(model, X, y)


def test_whole_numbers_in_many_dimensions_are_no_exception():
    X, y = classes_of([60, 25, 90], d=30)
    X = np.round(4 * X)
    assert_is_its_pairs(SVMGBClassifier(Gaussian(40.0), C=2.0).fit(X, y), X, y)


@pytest.mark.parametrize("kernel", [ThinPlate(), FunctionKernel(lambda A, B: Gaussian(1.5)(A, B))])
def test_kernels_whose_pairs_come_from_the_matrix_of_all(kernel, monkeypatch):
    """Conditionally definite, or of unknown definiteness."""
    monkeypatch.setattr(ClassBlocks, "of_kernel", lambda *args: pytest.fail("blocks of a kernel"))
    X, y = classes_of([50, 20, 40])
    model = SVMGBClassifier(kernel, affine).fit(X, y)
    assert_is_its_pairs(model, X, y, tol=1e-7)


@pytest.mark.parametrize("l", [1, 3])
def test_a_given_matrix_is_the_kernel_that_it_came_from(l):
    X, y = classes_of([60, 25, 90, 40])
    K, P = Gaussian(1.5)(X), affine(X)[:, :l]
    given = SVMGBClassifier("precomputed", C=3.0).fit(K, y, P=P)
    computed = SVMGBClassifier(Gaussian(1.5), lambda X: affine(X)[:, :l], C=3.0).fit(X, y)
    betas = [every_beta(model, len(y)) for model in (given, computed)]
    np.testing.assert_allclose(*betas, atol=3e-8)
    np.testing.assert_allclose(given.coef_, computed.coef_, atol=1e-8)
    for one, other in zip(given.certificate_.parts, computed.certificate_.parts, strict=True):
        assert_same_proof(one, other, 1e-9)
    np.testing.assert_allclose(
        given.decision_function(K, P=P), computed.decision_function(X), atol=1e-8
    )
    assert_is_its_pairs(given, K, y, P=P)


def test_weights_and_samples_without_any():
    X, y = classes_of([60, 25, 90])
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=y.size)
    model = SVMGBClassifier(Gaussian(1.5), C=2.0).fit(X, y, sample_weight=weight)
    assert not every_beta(model, y.size)[:, weight == 0].any()
    assert_is_its_pairs(model, X, y, weight=weight)


def test_the_order_of_the_samples_does_not_matter():
    X, y = classes_of([60, 25, 90, 40])
    one, order = SVMGBClassifier(Gaussian(1.5)).fit(X, y), np.argsort(y, kind="stable")
    two = SVMGBClassifier(Gaussian(1.5)).fit(X[order], y[order])
    # The blocks are the same: not even a rounding differs.
    np.testing.assert_array_equal(every_beta(one, len(y))[:, order], every_beta(two, len(y)))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_number_of_threads_does_not_matter(threads, monkeypatch):
    X, y = classes_of([60, 25, 90, 40])
    expected = SVMGBClassifier(Gaussian(1.5)).fit(X, y)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    model = SVMGBClassifier(Gaussian(1.5)).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.n_iter_, expected.n_iter_)


# -------------------------------------------------------------------------- linear, sparse


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_are_dense_rows(kind):
    X, y = classes_of([60, 25, 90], d=6)
    X[np.abs(X) < 0.6] = 0.0
    options = {"gap_tol": 1e-9}
    dense = SVMGBClassifier(Linear(), **options).fit(X, y)
    thin = SVMGBClassifier(Linear(), **options).fit(kind(X), y)
    svc = SVC(kernel="linear", tol=1e-7, break_ties=True).fit(X, y)
    assert thin.certificate_.kkt <= 1e-3
    for one, other in zip(thin.certificate_.parts, dense.certificate_.parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-8)
    values = thin.decision_function(kind(X))
    np.testing.assert_allclose(values, dense.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(values, svc.decision_function(X), atol=1e-4)


def test_large_sparse_pairs_beside_small_ones():
    """`solve_large` has no use for sparse rows: the patient solver takes those that are large."""
    X, y = classes_of([SMALL // 2 + 20, SMALL // 2 + 20, 30], d=4)
    X[np.abs(X) < 0.6] = 0.0
    thin = SVMGBClassifier(Linear(), C=0.1).fit(sparse.csr_array(X), y)
    dense = SVMGBClassifier(Linear(), C=0.1).fit(X, y)
    for one, other in zip(thin.certificate_.parts, dense.certificate_.parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-3)
        assert one.dual <= other.primal * (1 + 1e-12)
        assert other.dual <= one.primal * (1 + 1e-12)


def test_a_linear_kernel_far_from_the_origin():
    """Centred at the mean of all samples, not of each pair; f is the same."""
    X, y = classes_of([60, 25, 90])
    near = SVMGBClassifier(Linear(), gap_tol=1e-9).fit(X, y)
    far = SVMGBClassifier(Linear(), gap_tol=1e-9).fit(X + 1e4, y)
    np.testing.assert_allclose(far.decision_function(X + 1e4), near.decision_function(X), atol=1e-4)
    for one, other in zip(far.certificate_.parts, near.certificate_.parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-6)


# -------------------------------------------------------------------- sizes of all kinds


@pytest.mark.parametrize("sizes", [[1, 40, 30], [40, 1, 1], [1, 1, 1], [30, 1, 1, 50]])
def test_classes_of_one_sample(sizes):
    X, y = classes_of(sizes)
    model = SVMGBClassifier(Gaussian(1.5), C=3.0).fit(X, y)
    assert_is_its_pairs(model, X, y)
    svc = SVC(C=3.0, gamma=1.5**-2, tol=1e-8, break_ties=True).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)


class Seen:
    """Which solver was called for how many samples, what came out, and how often on all samples."""

    def __init__(self, monkeypatch, fail=()):
        self.large, self.small, self.matrices, self.starts, self.sizes = [], [], 0, [], []
        self.failures = 0
        seen = self

        def large(source, P, y, C, **options):
            seen.large.append(y.size)
            found = None if "large" in fail else solve_large(source, P, y, C, **options)
            seen.failures += found is None
            return found

        def small(K, P, y, *args, **options):
            assert isinstance(K, PairMatrix)
            seen.small.append(y.size)
            found = None if "small" in fail else solve_pair(K, P, y, *args, **options)
            seen.failures += found is None
            return found

        class Fit(several._Fit):
            def on_gram(self, *args):
                seen.matrices += 1
                return super().on_gram(*args)

        def solve_several(*args, **options):
            seen.starts.append(options["starts"])
            return several.solve_several(*args, **options)

        def certify_sized(h, P, y, C, beta, lam, size):
            seen.sizes.append(size)
            return certify(h, P, y, C, beta, lam, size)

        monkeypatch.setattr(several, "solve_large", large)
        monkeypatch.setattr(several, "solve_pair", small)
        monkeypatch.setattr(several, "_Fit", Fit)
        monkeypatch.setattr(svm, "solve_several", solve_several)
        monkeypatch.setattr(certificate, "certify", certify_sized)


MIXED = [SMALL - 200, 300, 40]
"""One pair is large, two are small."""


@pytest.mark.parametrize("fail", [(), ("large",), ("small",), ("large", "small")])
def test_a_large_pair_beside_small_ones(fail, monkeypatch):
    """Each is tried once, by the solver for its size; what is left goes to the matrix of all."""
    X, y = classes_of(MIXED)
    seen = Seen(monkeypatch, fail)
    model = SVMGBClassifier(Gaussian(1.5), C=3.0, gap_tol=1e-9).fit(X, y)
    assert seen.large == [SMALL + 100]
    assert sorted(seen.small) == [340, SMALL - 160]
    assert seen.matrices == (len(fail) > 0)
    assert_is_its_pairs(model, X, y, tol=3e-5)  # the large one stops at its gap
    assert model.certificate_.kkt <= 1e-3
    assert all(proof.relative_gap <= 1e-9 for proof in model.certificate_.parts)


@pytest.mark.parametrize("fail", [(), ("large",), ("small",)])
@pytest.mark.parametrize("outlier", ["apple", "fig", "pear"])
@pytest.mark.parametrize("sizes", [MIXED, [60, 25, 40]])
def test_the_largest_entry_is_found_in_whatever_class_it_is(sizes, outlier, fail, monkeypatch):
    X, y = classes_of(sizes)
    X /= np.linalg.norm(X, axis=1)[:, None]
    X[np.flatnonzero(y == outlier)[-1]] *= 5.0
    seen = Seen(monkeypatch, fail)
    model = SVMGBClassifier(Linear(), C=0.1).fit(X, y)
    assert max(seen.sizes) == pytest.approx(25.0, rel=1e-14)
    assert (seen.matrices > 0) == (seen.failures > 0)
    assert model.certificate_.kkt <= 1e-3


def test_the_largest_entry_of_a_kernel_that_is_not_definite(monkeypatch):
    X, y = classes_of([30, 20, 10])
    seen = Seen(monkeypatch)
    SVMGBClassifier(ThinPlate(), Polynomials(1)).fit(X, y)
    blocks = [np.flatnonzero(np.isin(y, pair)) for pair in combinations(np.unique(y), 2)]
    largest = {float(np.abs(ThinPlate()(X[rows])).max()) for rows in blocks}
    assert set(map(float, seen.sizes)) == largest


# ------------------------------------------------------------------------------- warm start


@pytest.mark.parametrize("features", ["constant", Polynomials(1)])
@pytest.mark.parametrize("sizes", [[60, 25, 90, 40], MIXED])
def test_a_warm_start_ends_where_a_cold_one_does(sizes, features, monkeypatch):
    X, y = classes_of(sizes)
    options = {"features": features, "gap_tol": 1e-9}
    seen = Seen(monkeypatch)
    warm, steps = SVMGBClassifier(Gaussian(1.5), warm_start=True, **options), [0, 0]
    for C in (0.3, 1.0, 3.0):
        warm.set_params(C=C).fit(X, y)
        cold = SVMGBClassifier(Gaussian(1.5), C=C, **options).fit(X, y)
        steps = [steps[0] + warm.n_iter_.sum(), steps[1] + cold.n_iter_.sum()]
        np.testing.assert_allclose(
            every_beta(warm, len(y)), every_beta(cold, len(y)), atol=1e-4 * C
        )
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
        assert all(proof.relative_gap <= 1e-9 for proof in warm.certificate_.parts)
    assert sizes is MIXED or steps[0] < steps[1]
    # Starts are β of the pair's own samples, in the order of the problem.
    before = every_beta(warm, len(y))
    warm.fit(X, y)
    for start, beta, rows in zip(seen.starts[-1], before, pairs_of(y), strict=True):
        np.testing.assert_array_equal(start, beta[rows])


def test_a_warm_start_with_other_weights():
    """Samples come and go; β of those that stay is where the next fit begins."""
    X, y = classes_of([60, 25, 90])
    rng = np.random.default_rng(2)
    warm = SVMGBClassifier(Gaussian(1.5), warm_start=True)
    for _ in range(3):
        weight = rng.choice([0.0, 1.0, 2.0], size=y.size)
        warm.fit(X, y, sample_weight=weight)
        cold = SVMGBClassifier(Gaussian(1.5)).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(every_beta(warm, y.size), every_beta(cold, y.size), atol=1e-8)
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-8)
