"""The path in C where several events coincide, matrices are singular, or rounding has the say."""

import warnings
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelbook import Gaussian, svm_path
from kernelbook.solvers.svm.path import ParametricQP, PathError
from kernelbook.solvers.svm.path.gram import DenseGram
from kernelbook.solvers.svm.path.inverse import PivotedInverse
from kernelbook.solvers.svm.path.tracer import PathTracer
from tests.naive import svm as naive_svm
from tests.naive import svm_path as naive
from tests.samples.path import KERNELS, between, features, gaussian, sample


def degenerate(kind, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if kind == "grid":
        X = rng.integers(-2, 3, size=(n, 2)).astype(float)
    elif kind == "duplicates":
        X = np.repeat(X[: n // 3 + 1], 3, axis=0)[:n]
        y = np.sign(X[:, 0] + 0.1)
    elif kind == "flipped duplicates":
        X = np.repeat(X[: n // 3 + 1], 3, axis=0)[:n]
    elif kind == "all equal":
        X[:] = X[0]
    return X, y


@pytest.mark.parametrize("kind", ["grid", "duplicates", "flipped duplicates", "all equal"])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("l", [0, 1, 2, 3])
def test_ties(kind, kernel, l):
    """Many events at once: still a path, still optimal everywhere."""
    if kernel == "thin plate" and l != 3:
        pytest.skip("thin plates need the linear features")
    X, y = degenerate(kind, 36, 7)
    K, P = KERNELS[kernel](X), features(X, l)
    path = svm_path(K, P, y, C_max=1e3)
    assert path.kkt.max() < 1e-8
    for C in between(path.C)[:: max(1, path.C.size // 8)]:
        certificate, (beta, lam) = path.certificate(C), path(C)
        # What v breaks of the box or the margin opens a gap of v·C times the other factor.
        slack = np.sum(1 + np.abs(1 - y * (K @ beta + P @ lam)))
        # β is of size C, and so is its rounding, also where K = 0 (thin plates at one point).
        v = path.kkt.max() + 1e-15 * C * max(np.abs(K).max(), 1)
        assert abs(certificate.gap) < 4 * v * C * slack + 1e-12 * certificate.primal
        breach = naive.kkt_violation(K, P, y, np.full(36, C), beta, lam)
        assert breach < 10 * v * (1 + C)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(0, 10**6),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(["gaussian", "linear", "wide"]),
    st.floats(-3, 3),
)
@example(5, 1, 2, "gaussian", 0.0)  # twice the same feature, and it vanishes at all free samples
@example(5, 1, 2, "wide", 3.0)
def test_any_small_integer_sample(n, seed, l, kernel, log_C):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, 2)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    K, P, C = KERNELS[kernel](X), features(X, l), 10.0**log_C
    path = svm_path(K, P, y, C_max=C)
    assert path.kkt.max() < 1e-8
    beta, lam = path(C)
    value = 0.5 * beta @ K @ beta - y @ beta
    if n <= 6:
        assert value == pytest.approx(naive_svm.every_face(K, P, y, C)[0], abs=1e-8, rel=1e-8)
    assert naive.kkt_violation(K, P, y, np.full(n, C), beta, lam) < 1e-8 * (1 + C)


VANISHING = [
    # where, kernel, y, features at the samples that have any
    ([-1.0, 1.0, 0.5, -1.0, -0.5], "gaussian", [1, -1, 1, 1, 1], {1: (1, 1), 2: (1, 1)}),
    ([0.0, 0.0, 0.7, 1.1, -0.5, 0.0], "wide", [1, 1, 1, -1, 1, 1], {2: (0.5, 1), 3: (1, 1)}),
    ([0.0, -1.0, 1.0, 1.0], "gaussian", [1, -1, 1, -1], {1: (-2, 0), 2: (2, 1), 3: (2, 1)}),
]


@pytest.mark.parametrize(("x", "kernel", "y", "rows"), VANISHING)
def test_lambda_where_the_features_vanish_at_all_free_samples(x, kernel, y, rows):
    """Rounding errors in the place of zeros once held λ, at a value of their own."""
    X, y = np.array(x)[:, None], np.array(y, dtype=float)
    K, P = KERNELS[kernel](X), np.zeros((y.size, 2))
    P[list(rows)] = list(rows.values())
    path, vanish = svm_path(K, P, y, C_max=30.0), 0
    for C in between(path.C):
        beta, lam = path(C)
        assert naive.kkt_violation(K, P, y, np.full(y.size, C), beta, lam) < 1e-9
        free = (y * beta > 1e-9 * C) & (y * beta < (1 - 1e-9) * C)
        vanish += free.any() and not P[free].any()
    assert vanish


def test_rank_deficient_features_change_nothing():
    X, y = sample(40, 6)
    K, P = gaussian(X), features(X, 3)
    path = svm_path(K, P, y, C_max=10.0)
    doubled = svm_path(K, np.hstack([P, P @ [[1.0], [2.0], [3.0]], np.zeros((40, 1))]), y, 10.0)
    assert doubled.C == pytest.approx(path.C, rel=1e-9)
    for C in between(path.C)[::7]:
        assert doubled(C)[0] == pytest.approx(path(C)[0], abs=1e-8)
        assert doubled(C)[1][-1] == 0.0


def test_weights_are_repetitions():
    X, y = sample(20, 9)
    w = np.random.default_rng(1).integers(1, 4, 20)
    K, P = gaussian(X), np.ones((20, 1))
    weighted = svm_path(K, P, y, C_max=10.0, sample_weight=w.astype(float))
    rows = np.repeat(np.arange(20), w)
    repeated = svm_path(K[np.ix_(rows, rows)], P[rows], y[rows], C_max=10.0)
    for C in (0.01, 0.3, 2.0, 10.0):
        ours, (beta, lam) = weighted(C), repeated(C)
        assert np.bincount(rows, beta) == pytest.approx(ours[0], abs=1e-8)
        assert lam == pytest.approx(ours[1], abs=1e-7)


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1.0, 1e100, 1e290])
def test_units_of_the_kernel(size):
    X, y = sample(20, 1)
    K, P = gaussian(X), np.ones((20, 1))
    path, scaled = svm_path(K, P, y, 10.0), svm_path(size * K, P, y, 10.0 / size)
    assert scaled.C * size == pytest.approx(path.C, rel=1e-9)
    assert scaled(1.0 / size)[0] * size == pytest.approx(path(1.0)[0], abs=1e-9)
    assert scaled(1.0 / size)[1] == pytest.approx(path(1.0)[1], abs=1e-9)


def test_nearly_singular_kernel_and_huge_C_are_certified_honestly():
    """Width 100 on unit data: condition 1e16.  What `kkt` says is what the conditions say."""
    X, y = sample(60, 3)
    K, P = gaussian(X, 100.0), np.ones((60, 1))
    path = svm_path(K, P, y, C_max=1e4)
    assert path.kkt.max() < 1e-7
    for C in between(path.C)[::9]:
        beta, lam = path(C)
        rounding = 1e-15 * C * 60
        assert naive.kkt_violation(K, P, y, np.full(60, C), beta, lam) < 1e-7 + rounding


def test_lost_paths_are_found_again(monkeypatch):
    """Make the follower fail on purpose: the solution is found anew, and counted."""
    X, y = sample(40, 11)
    K, P = gaussian(X), np.ones((40, 1))
    expected = svm_path(K, P, y, C_max=10.0)
    follow, calls = ParametricQP.follow, []

    def fails(self, t_end):
        for number, event in enumerate(follow(self, t_end)):
            if t_end == 10.0 * size and number == 9 and len(calls) < 3:
                calls.append(self.t)
                raise PathError("on purpose")
            yield event

    size = PathTracer(K, P, y, np.ones(40)).size
    monkeypatch.setattr(ParametricQP, "follow", fails)
    path = svm_path(K, P, y, C_max=10.0)
    assert path.n_restarts == len(calls) == 3
    assert path.kkt.max() < 1e-8
    for C in (0.01, 0.1, 1.0, 10.0):
        assert path(C)[0] == pytest.approx(expected(C)[0], abs=1e-7)


# -- many small problems -----------------------------------------------------------------------


def strange(seed):
    """A small sample with some of: ties, duplicates exact and nearly so, features that separate."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 30)), int(rng.integers(1, 4))
    X = rng.normal(size=(m, d))
    kind = rng.integers(5)
    if kind == 0:
        X = np.round(2 * X) / 2
    elif kind < 3:
        X = X[rng.integers(0, m, m)] + (kind - 1) * 1e-6 * rng.normal(size=(m, d))
    noise = rng.choice([0.0, 0.1, 0.3]) * rng.normal(size=m)
    y = np.where(X[:, 0] + 0.2 * X[:, -1] ** 2 - 0.1 + noise > 0, 1.0, -1.0)
    width = rng.choice([0.5, 1.0, 3.0])
    K = [gaussian(X, width), X @ X.T, (1 + X @ X.T) ** 2][rng.integers(3)]
    P = np.hstack([np.ones((m, 1)), X, X**2, X[:, :1] * X[:, -1:]])[:, : rng.integers(0, 7)]
    return K, P, y, None if rng.random() < 0.7 else rng.choice([0.5, 1.0, 2.0], m)


def test_no_small_problem_loses_its_path():
    """None of 150 ends in PathError; what the path says of itself is what its points are worth."""
    poor = 0
    for seed in range(150):
        K, P, y, w = strange(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            path = svm_path(K, P, y, C_max=1e4, sample_weight=w)
        w = np.ones(y.size) if w is None else w
        poor += path.kkt.max() > 1e-6
        for C in path.C[1 :: max(1, path.C.size // 3)]:
            beta, lam = path(C)
            breach = naive.kkt_violation(K, P, y, C * w, beta, lam)
            # The naive conditions are not in units of C; Φβ has rounding errors of its size.
            assert breach <= (1 + C) * (10 * path.kkt.max() + 1e-13 * max(np.abs(K).max(), 1))
    assert poor <= 3


@pytest.mark.parametrize("order", range(8))
def test_no_more_features_than_samples_in_the_equations(order, monkeypatch):
    """Near copies leave by twos: rounding errors in the place of zeros once kept a λ_p too many."""
    K, P, y, w = strange(115)
    if order:
        o = np.random.default_rng(order).permutation(y.size)
        K, P, y, w = K[np.ix_(o, o)], P[o], y[o], w[o]
    leave, left = ParametricQP._leave, []

    def counted(self, i, side):
        leave(self, i, side)
        left.append(self.M.samples.size - self.M.features.size)

    monkeypatch.setattr(ParametricQP, "_leave", counted)
    path = svm_path(K, P, y, C_max=1e4, sample_weight=w)
    assert path.kkt.max() < 1e-8
    assert min(left) == 0


def near_copies(seed):
    """A sample drawn with repetitions, each moved by 10⁻⁶ … 10⁻⁹; features follow the samples."""
    rng = np.random.default_rng([5, seed])
    m, d = int(rng.integers(4, 30)), int(rng.integers(1, 4))
    X, apart = rng.normal(size=(m, d)), 10.0 ** rng.choice([-6, -7, -8, -9])
    X = X[rng.integers(0, m, m)] + apart * rng.normal(size=(m, d))
    noise = rng.choice([0.0, 0.1, 0.3]) * rng.normal(size=m)
    y = np.where(X[:, 0] + 0.2 * X[:, -1] ** 2 - 0.1 + noise > 0, 1.0, -1.0)
    if rng.random() < 0.2:
        y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    width, kernel = rng.choice([0.5, 1.0, 3.0]), rng.integers(3)
    K = [gaussian(X, width), X @ X.T, (1 + X @ X.T) ** 2][kernel]
    P = np.hstack([np.ones((m, 1)), X, X**2, X[:, :1] * X[:, -1:]])[:, : rng.integers(0, 7)]
    return K, P, y, None if rng.random() < 0.7 else rng.choice([0.5, 1.0, 2.0], m)


@pytest.mark.parametrize("seed", [2, 30, 47, 101, 119, 124, 146, 181, 192, 198, 248, 314, 368, 393])
def test_near_copies_are_solved_or_the_path_says_that_they_are_not(seed):
    """Twice silent, and wrong: a near copy put to its bound, features that separate by a hair."""
    K, P, y, w = near_copies(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = svm_path(K, P, y, C_max=1e4, sample_weight=w)
    gap = max(path.certificate(C).relative_gap for C in path.C[1:])
    if caught:
        assert path.kkt.max() > 1e-5
        assert "rounding does not explain that" in str(caught[0].message)
    else:
        assert path.kkt.max() < 1e-6
        assert gap < 1e-4


@pytest.mark.parametrize("seed", [146, 187, 213, 248])
def test_features_that_separate_near_copies_by_a_hair(seed):
    """λ of 10⁸, and the kernel has nothing to do: once the objective was 20000 instead of 0."""
    K, P, y, w = near_copies(seed)
    path = svm_path(K, P, y, C_max=1e4, sample_weight=w)
    for C in (1e-3, 1.0, 1e4):
        beta, lam = path(C)
        assert not beta.any()
        assert np.min(y * (P @ lam)) >= 1.0
        assert path.certificate(C).gap == 0.0


@pytest.mark.parametrize("seed", [0, 3, 8, 14, 21, 33])
def test_strange_problems_agree_with_cvxopt(seed):
    pytest.importorskip("cvxopt")
    K, P, y, w = strange(seed)
    path = svm_path(K, P, y, C_max=1e2, sample_weight=w)
    w = np.ones(y.size) if w is None else w
    for C in path.C[1:][:: max(1, path.C.size // 4)]:
        beta, _ = path(C)
        value = naive.qp(K, P, y, C * w)[1]
        assert 0.5 * beta @ K @ beta - y @ beta <= value + 1e-7 * (abs(value) + C)
        assert 0.5 * beta @ K @ beta - y @ beta >= value - 1e-6 * (abs(value) + C)


def test_features_that_separate_by_a_hair():
    """λ of size 600 on the way: an inverse spoilt by a pivot near zero once lost the path."""
    rng = np.random.default_rng(424)
    m = rng.integers(8, 30)
    X = rng.normal(size=(m, 2))
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=m))
    P = np.hstack([np.ones((m, 1)), X, X**2, X[:, :1] * X[:, 1:]])
    path = svm_path(gaussian(X, 1.0), P, y, C_max=1e4)
    assert path.kkt.max() < 1e-9
    assert np.abs(path.beta).max() < 1e-9
    for C in (1e-3, 1.0, 1e4):
        assert np.min(y * (P @ path(C)[1])) > 1 - 1e-9


def test_the_last_resort_where_features_separate(monkeypatch):
    """No start at all, on purpose: β = 0 and a λ that separates still are the path (T3)."""

    def fails(self, t_end):
        raise PathError("on purpose")
        yield

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = np.sign(X[:, 0])
    X[:, 0] += 0.2 * y
    P = np.hstack([np.ones((20, 1)), X])
    expected = svm_path(gaussian(X), P, y, C_max=10.0)
    monkeypatch.setattr(ParametricQP, "follow", fails)
    path = svm_path(gaussian(X), P, y, C_max=10.0)
    assert path.C.tolist() == [0.0, 10.0]
    assert path.kkt.max() < 1e-12
    assert path(3.0)[1] == pytest.approx(expected(3.0)[1], abs=1e-6)
    with pytest.raises(PathError, match="no start"):
        svm_path(gaussian(X), P[:, :1], y, C_max=10.0)


def test_a_spoilt_inverse_is_noticed():
    """The equations of the elbow are solved right although M⁻¹ is not."""
    X, y = sample(30, 2)
    P = np.ones((30, 1))
    tracer = PathTracer(gaussian(X), P, y, np.ones(30))
    qp, _ = tracer.find_start(0.5 / (tracer.gram.scale * 30))
    qp.restate(tracer.in_beta(), qp_start := 0.5 / (tracer.gram.scale * 30))
    for number, _ in enumerate(qp.follow(1e3 * qp_start)):
        if number == 12:
            break
    qp._direction()
    right = qp.dbeta.copy()
    qp.M.inverse[:] += np.random.default_rng(0).normal(size=qp.M.inverse.shape)
    qp.M.n_updates += 1
    qp._direction()
    assert qp.elbow.size > 2
    assert qp.dbeta == pytest.approx(right, rel=1e-8, abs=1e-10)


def test_singular_equations_are_a_lost_path():
    """Not a LinAlgError: the next perturbation has its turn."""
    M = PivotedInverse(DenseGram(np.zeros((2, 2))), np.zeros((2, 1)))
    with pytest.raises(PathError, match="singular"):
        M.insert(0, 2)


def test_steps_in_the_last_digit_are_no_progress(monkeypatch):
    """Between near copies t once crept on by 10⁻¹⁶ every few pivots, and seemed to hang."""
    X, y = sample(20, 4)
    tracer = PathTracer(gaussian(X), np.ones((20, 1)), y, np.ones(20))
    C = 0.5 / (tracer.gram.scale * 20)
    qp, _ = tracer.find_start(C)
    qp.restate(tracer.in_beta(), C)
    monkeypatch.setattr(qp, "_next_event", lambda: (np.spacing(qp.t), 0, 1))
    monkeypatch.setattr(qp, "_pivot", lambda sample, side: None)
    with pytest.raises(PathError, match="no progress"):
        list(islice(qp.follow(2 * C), 10**4))


def nearly_dependent(seed, size=1e-10):
    """Features that depend on each other but for `size`, which separates the sample if odd."""
    rng, n = np.random.default_rng(seed), 30
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    odd = y + 0.1 * rng.normal(size=n) if seed % 2 else rng.normal(size=n)
    P = np.column_stack([np.ones(n), X[:, 0], X[:, 0] + size * odd, X[:, 1]])
    return Gaussian()(X), P, y


@pytest.mark.parametrize("seed", range(1, 20, 2))
def test_an_objective_of_zero_is_zero_in_whatever_order_it_is_added_up(seed):
    """λ is 10⁹ and more: margins of one in one order were 1 − 10⁻⁷ in another, times C = 6e4."""
    gram, P, y = nearly_dependent(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = svm_path(gram, P, y, 6e4)
    for C in (1.0, 6e4):
        _, lam = path(C)
        f = [sum(Fraction(p) * Fraction(v) for p, v in zip(row, lam, strict=True)) for row in P]
        loss = C * sum(max(0.0, float(1 - Fraction(s) * v)) for s, v in zip(y, f, strict=True))
        assert path.certificate(C).primal == loss == 0.0


@pytest.mark.parametrize("seed", [2, 10, 20])
def test_a_gap_of_more_than_a_thousandth_warns(seed):
    gram, P, y = nearly_dependent(seed)
    with pytest.warns(UserWarning, match="gap|breaks the conditions"):
        path = svm_path(gram, P, y, 6e4)
    assert path.certificate(6e4).relative_gap > 1e-3
