"""The compiled solver for small samples: each piece against a plain one, the whole against others.

What it accepts is proved by `certify`, in double precision, as everywhere; so the tests ask whether
the pieces do what they say, and whether it refuses what it must not accept.
"""

import tracemalloc

import numpy as np
import pytest
from naive import svm as naive
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from svm_samples import problem

from kernelbook import Gaussian, Linear, Polynomials, SVMGBClassifier
from kernelbook.estimators import svmgb
from kernelbook.features import feature_range
from kernelbook.solvers import face, face_small, svm_dual
from kernelbook.solvers.part import part, row_of, times
from kernelbook.solvers.smo import move_pair
from kernelbook.solvers.svm_certificate import (
    certify,
    repair,
    residual,
    settled,
    terms,
    violation,
)
from kernelbook.solvers.svm_dual import bounds_reached, solve_svm
from kernelbook.solvers.svm_multipliers import choose_multipliers
from kernelbook.solvers.svm_pair import (
    START,
    by_pairs,
    extremes,
    one_number,
    solve_with_constant,
)
from kernelbook.solvers.svm_problem import prepare
from kernelbook.solvers.svm_small import _in_the_box, _span, solve_small


def box(y, C):
    return np.minimum(0.0, y * C), np.maximum(0.0, y * C)


def part_of(K, rows, seed=0):
    """K hidden in a larger matrix, at `rows`."""
    M = rows.max() + 5
    whole = np.random.default_rng(seed).normal(size=(M, M))
    whole[np.ix_(rows, rows)] = K
    return whole, part(whole, rows.astype(np.uint64))


def rows_of(n, seed=0):
    return np.sort(np.random.default_rng(seed).permutation(n + 20)[:n])


# ------------------------------------------------------------------------------------ pieces


@pytest.mark.interpreted
def test_products_with_a_part_of_a_matrix():
    K, _, y, _ = problem(30, 1, 0)
    whole, _ = part_of(K, rows_of(30))
    memory, index = np.full(1000, np.nan), rows_of(30).astype(np.uint64)
    some = part(whole, index, memory)
    for count in (0, 3, 4, 30):
        x, out = np.where(np.arange(30) < count, y, 0.0), np.empty(30)
        times(some, x, out)
        np.testing.assert_allclose(out, K @ x, atol=1e-13)
        np.testing.assert_array_equal(some.slot >= 0, x != 0)  # no row that was not needed
    np.testing.assert_array_equal(row_of(some, 7), K[7])
    assert np.shares_memory(row_of(some, 7), memory)
    everyone = np.arange(30, dtype=np.uint64)
    assert part(K, everyone).rows is K
    backwards = part(K, everyone[::-1].copy())
    np.testing.assert_array_equal(row_of(backwards, 0), K[-1, ::-1])


@pytest.mark.interpreted
def test_equations_are_solved_and_singular_ones_by_least_norm():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(12, 12))
    A, b = B @ B.T + np.eye(12), rng.normal(size=12)
    U, x = A.copy(), b.copy()
    assert face_small.factorize(U)
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, atol=1e-12)
    face_small.solve(U, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-12)
    assert not face_small.factorize(-A)
    S = B[:, :4] @ B[:, :4].T
    rhs = S @ b
    x = face_small._least_norm_solve(S, rhs)
    np.testing.assert_allclose(x, np.linalg.pinv(S) @ rhs, atol=1e-9)
    assert face_small._least_norm_solve(np.empty((0, 0)), np.empty(0)).size == 0


@pytest.mark.interpreted
@pytest.mark.parametrize(("l", "eps"), [(0, 1e-2), (1, 1e-1), (3, 0.1), (3, 1.0)])
def test_step_on_the_face_is_that_of_its_naive_twin(l, eps):
    K, P, y, C = problem(40, l, 3, C=1.0)
    Q, (lo, hi) = feature_range(P).Q, box(y, C)
    s = solve_svm(K, P, y, C)
    beta = s.beta.copy()
    beta[np.flatnonzero(np.abs(beta) == 1.0)[:3]] *= 0.98  # they will want to go back
    beta[(beta > lo) & (beta < hi)] *= 0.99
    v = y - K @ beta - P @ s.coef
    F, target, mu = naive.face_step(K, Q, v, Q.T @ beta, lo, hi, beta, eps)
    assert np.any((target == lo[F]) | (target == hi[F]))  # some were held
    _, some = part_of(K, rows_of(40))
    args = (some, Q, v, Q.T @ beta, lo, hi, beta, np.array(F), eps)
    found, ours, mu_ours = face_small._target(*args)
    assert found
    np.testing.assert_allclose(ours, target, atol=1e-8)
    np.testing.assert_allclose(mu_ours, mu, atol=1e-7)
    theirs, mu_theirs = face.face_target(
        K[np.ix_(F, F)], Q, v, Q.T @ beta, lo, hi, beta, np.array(F), eps
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(mu_ours, mu_theirs, atol=1e-7)


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 4])
def test_newton_ends_where_the_plain_one_does(l):
    K, P, y, C = problem(50, l, 1, C=3.0)
    Q, (lo, hi) = feature_range(P).Q, box(y, C)
    _, some = part_of(K, rows_of(50))
    beta, nu = np.zeros(50), np.zeros(Q.shape[1])
    steps = face_small.newton_small(some, Q, y, lo, hi, beta, nu, 1.0, 80)
    assert 2 < steps < 80
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < 1e-12
    plain, nu_plain, _ = face.newton(K, Q, y, lo, hi, np.zeros(50), 0 * nu, prox=1.0)
    np.testing.assert_allclose(beta, plain, atol=1e-9)
    np.testing.assert_allclose(nu, nu_plain, atol=1e-9)


def test_newton_leaves_a_large_face_to_others(monkeypatch):
    m = face_small.LIMIT + 50
    K, P, y, C = problem(m, 1, 0)
    Q, (lo, hi) = feature_range(P).Q, box(y, C)
    beta, nu = np.zeros(m), np.zeros(1)
    whole = part(K, np.arange(m, dtype=np.uint64))
    assert face_small.newton_small(whole, Q, y, lo, hi, beta, nu, 1.0, 80) == 0
    assert not beta.any()


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [1, 3])
def test_descentby_pairs_comes_down_to_its_start(l):
    """Against the naive twin where there is one feature, against the definition where not."""
    K, P, y, C = problem(60, l, 2, C=2.0)
    Q, T, has_constant = _span(P)
    assert has_constant
    lo, hi = box(y, C)
    rows = rows_of(60)
    _, some = part_of(K, rows)
    rho = 0.0 if l == 1 else 60 / (l - 1)
    beta, nu, steps, reached = by_pairs(some, Q, rho, y, lo, hi)
    assert reached
    assert abs(beta.sum()) < 1e-12
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < (1.01 if l == 1 else 3) * START
    np.testing.assert_allclose(P @ (T @ nu), Q @ nu, atol=1e-12)
    if l == 1:
        single = K.astype(np.float32).astype(float)
        twin, _, used, _ = naive.smo_pairs(single, lo, hi, np.zeros(60), y, START, 1000)
        assert steps == used
        np.testing.assert_allclose(beta, twin, atol=1e-5)


def test_descent_in_the_box_comes_down_to_its_start():
    K, P, y, C = problem(60, 3, 2, C=2.0, constant=False)
    Q, _, has_constant = _span(P)
    assert not has_constant
    lo, hi = box(y, C)
    beta, nu, steps, reached = _in_the_box(K, np.arange(60), Q, 20.0, y, lo, hi)
    assert reached
    assert steps > 0
    assert violation(beta, y - K @ beta - Q @ nu, lo, hi) < 3 * START


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("t", "expected"),
    [(0.25, (0.25, -0.25)), (2.0, (1.0, -1.0)), (0.75, (0.75, -0.75)), (1.0, (1.0, -1.0))],
)
def test_a_pair_moves_as_far_as_the_box_allows(t, expected):
    lo, hi, beta = np.array([0.0, -1.0]), np.array([1.0, 0.0]), np.zeros(2)
    assert move_pair(lo, hi, beta, 0, 1, t) == expected[0]
    np.testing.assert_array_equal(beta, expected)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(4))
def test_terms_of_the_certificate(seed):
    rng = np.random.default_rng(seed)
    y, C = rng.choice([-1.0, 1.0], size=30), rng.uniform(0.5, 2, size=30)
    beta = y * C * np.clip(rng.normal(size=30), 0, 1)
    h, f = rng.normal(size=(2, 30))
    expected = naive.certificate_terms(h, f, y, C, beta)
    np.testing.assert_allclose(terms(h, f, y, C, beta), expected, rtol=1e-12)
    assert np.isnan(terms(h, np.full(30, np.nan), y, C, beta)[0])
    P = rng.normal(size=(30, 2))
    P[:, 1] = 0.0
    P[0, 1] = 1.0
    beta[0] = 1e-12
    total = [np.abs(P[:, 0] * beta).sum(), 1e-8 * np.abs(beta).sum()]
    assert residual(P, beta) == pytest.approx(np.max(np.abs(P.T @ beta) / total), rel=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(3))
def test_bounds_that_are_reached_and_the_bias_that_follows(seed):
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.5, 2.0, size=40)
    alpha = C * np.clip(rng.normal(0.5, 1.0, size=40), 0.0, 1.0)
    alpha[:3] = 1e-13, C[1] - 1e-13, 0.5 * C[2]
    at_zero, at_C = bounds_reached(alpha, C)
    tiny = 1e-11 * alpha.max()
    np.testing.assert_array_equal(at_zero, alpha <= np.minimum(tiny, 0.5 * C))
    np.testing.assert_array_equal(at_C, ~at_zero & (C - alpha <= 1e-11 * C))
    assert list(at_zero[:3]) == [True, False, False]
    assert list(at_C[:3]) == [False, True, False]
    y, h = rng.choice([-1.0, 1.0], size=40), 1e6 + 1e-6 * rng.normal(size=40)
    h += y  # the free samples all but agree about a large bias
    Q = np.full((40, 1), 40**-0.5)
    (nu,) = choose_multipliers(h, Q, y, C, at_zero, at_C, np.zeros(1))
    free = ~(at_zero | at_C)
    assert nu * 40**-0.5 == pytest.approx(np.mean((y - h)[free]), rel=1e-15)


@pytest.mark.interpreted
def testextremes_and_constants():
    K, rows = np.diag(np.arange(9.0)), np.array([2, 5, 3], dtype=np.uint64)
    assert extremes(K, rows, np.array([3.0, 1.0, 2.0])) == (5.0, 1.0, 3.0)
    assert [one_number(np.array(x)) for x in ([2.0, 2.0], [2.0, 3.0], [0.0, 0.0])] == [1, 0, 0]


@pytest.mark.interpreted
def test_what_is_settled_needs_no_repair():
    K, P, y, C = problem(60, 3, 0, C=2.0)
    Q, (lo, hi) = feature_range(P).Q, box(y, C)
    beta = solve_svm(K, P, y, C).beta
    assert settled(Q, beta, lo, hi)
    again = repair(Q, beta, lo, hi)
    np.testing.assert_array_equal(again, beta)
    assert again is not beta
    free = np.flatnonzero((beta > lo) & (beta < hi))[0]
    for i, value in ((free, beta[free] + 1e-9), (free, lo[free] + 1e-16), (free, hi[free] + 1.0)):
        off = beta.copy()
        off[i] = value
        assert not settled(Q, off, lo, hi)


# --------------------------------------------------------------------------------- the whole


@pytest.mark.parametrize("l", [0, 1, 3, 10])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_the_answer_is_that_of_the_relay(l, C, kernel):
    """Where it answers at all; which it must, unless the problem is a hard one."""
    K, P, y, C = problem(90, l, 5, C=C, kernel=kernel)
    rows = rows_of(90)
    whole, _ = part_of(K, rows)
    ours, exact = solve_small(whole, rows, P, y, C), solve_svm(K, P, y, C)
    if ours is None:
        assert kernel == "linear" or (l > 1 and C[0] < 1)
        return
    assert ours.rank == exact.rank
    assert ours.certificate.kkt < 1e-8
    assert ours.certificate.relative_gap < 1e-9
    assert ours.certificate.constraint < 1e-13
    np.testing.assert_allclose(ours.h, K @ ours.beta, atol=1e-10 * C[0])
    np.testing.assert_allclose(
        ours.h + P @ ours.coef, exact.h + P @ exact.coef, atol=1e-7 * max(1.0, C[0])
    )
    if kernel == "gaussian":
        np.testing.assert_allclose(ours.beta, exact.beta, atol=1e-7 * C[0])


@pytest.mark.parametrize("value", [1.0, -0.3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_one_call_from_zero_to_proof_proves_what_certify_does(value, C):
    """The only feature is a constant; the steps in between are tested one by one above."""
    K, _, y, C = problem(90, 1, 5, C=C)
    P, rows = np.full((90, 1), value), rows_of(90)
    whole, _ = part_of(K, rows)
    args = whole, rows.astype(np.uint64), P, y, C, 1e-3, None
    ours = solve_with_constant(*args, np.full(90**2, np.nan))
    proof = certify(K @ ours.beta, P, y, C, ours.beta, ours.coef, 1.0)
    assert ours.certificate.primal == pytest.approx(proof.primal, rel=1e-12)
    assert ours.certificate.gap == pytest.approx(proof.gap, abs=1e-9 * proof.primal)
    assert ours.certificate.kkt == pytest.approx(proof.kkt, abs=1e-11)
    assert max(ours.certificate.constraint, proof.constraint) < 1e-14
    exact = solve_svm(K, P, y, C)
    np.testing.assert_allclose(ours.coef, exact.coef, atol=1e-9)
    np.testing.assert_allclose(ours.beta, exact.beta, atol=1e-8 * C[0])
    # Without memory of its own; and what it leaves to others.
    np.testing.assert_array_equal(solve_with_constant(*args, None).beta, ours.beta)
    slope = P + np.linspace(0.0, 1.0, 90)[:, None]
    none_free = np.full(90, 1e-4)  # then the mean of the biases is that of no sample
    y_even = np.where(np.arange(90) % 2, 1.0, -1.0)
    for other in (
        (1e20 * whole, *args[1:]),
        (*args[:2], slope, *args[3:]),
        (*args[:3], y_even, none_free, *args[5:]),
        (*args[:-1], 1e-30),
    ):
        assert solve_with_constant(*other, None) is None


@pytest.mark.parametrize("constant", [True, False])
def test_nothing_is_claimed_where_the_features_separate(constant):
    """T3: β = 0, and λ by another rule; the relay's business."""
    K, P, y, C = problem(80, 4, 0, constant=constant)
    y = np.where(P @ [0.1, 1.0, -1.0, 0.5] > 0, 1.0, -1.0)
    assert solve_small(K, np.arange(80), P, y, C) is None
    assert not solve_svm(K, P, y, C).beta.any()


def test_where_it_does_not_apply_it_says_so():
    K, P, y, C = problem(60, 2, 0)
    everyone = np.arange(60)
    assert solve_small(K, everyone, P, y, C) is not None
    for size, price in ((0.0, 1.0), (1e-20, 1.0), (1e20, 1.0), (1.0, 1e12), (1.0, 1e-12)):
        assert solve_small(size * K, everyone, P, y, price * C) is None
    assert solve_small(K, everyone, P, y, C, gap_tol=1e-30) is None


def test_where_no_support_vector_is_free_lambda_is_chosen_by_the_rule():
    K, P, y, _ = problem(40, 1, 0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    C = np.full(40, 1e-4)
    ours, exact = solve_small(K, np.arange(40), P, y, C), solve_svm(K, P, y, C)
    assert np.all(np.abs(ours.beta) == 1e-4)
    np.testing.assert_allclose(ours.coef, exact.coef, atol=1e-12)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_many_classes_share_one_matrix_and_agree_with_the_relay(digits, scheme, monkeypatch):
    X, y = digits
    fast = SVMGBClassifier(Gaussian(40.0), C=5.0, multiclass=scheme).fit(X, y)
    relay = []

    def slow(*args, **options):
        relay.append(1)
        return solve_svm(*args, **options)

    monkeypatch.setattr(svmgb, "solve_small", lambda *args, **options: None)
    monkeypatch.setattr(svmgb, "solve_svm", slow)
    plain = SVMGBClassifier(Gaussian(40.0), C=5.0, multiclass=scheme).fit(X, y)
    assert len(relay) == len(plain.n_iter_)
    np.testing.assert_allclose(fast.coef_, plain.coef_, atol=1e-8)
    np.testing.assert_allclose(fast.decision_function(X), plain.decision_function(X), atol=1e-8)
    assert fast.certificate_.kkt < 1e-9
    assert fast.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-10)
    np.testing.assert_array_equal(fast.support_, plain.support_)


def test_one_against_one_is_that_of_svc(digits):
    X, y = digits
    model = SVMGBClassifier(Gaussian(40.0), C=5.0).fit(X, y)
    svc = SVC(C=5.0, gamma=40.0**-2, tol=1e-6, break_ties=True).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)


def test_certificates_of_pairs_are_those_of_what_predict_computes(digits):
    """They come from the Gram matrix: to rounding, that is the same."""
    X, y = digits
    model = SVMGBClassifier(Gaussian(40.0), Polynomials(0), C=5.0).fit(X, y)
    F = model._evaluate(X, model.dual_coef_.T, model.coef_.T)
    beta = np.zeros((len(F), len(model.coef_)))
    beta[model.support_] = model.dual_coef_.T
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    for k, (proof, (a, b)) in enumerate(zip(model.certificate_.parts, pairs, strict=True)):
        rows = np.flatnonzero((y == a) | (y == b))
        sign = np.where(y[rows] == b, 1.0, -1.0)
        lo, hi = box(sign, np.full(rows.size, 5.0))
        true = violation(beta[rows, k], sign - F[rows, k], lo, hi)
        assert proof.kkt == pytest.approx(true, abs=1e-11)


def test_a_given_matrix_takes_the_same_road(digits, monkeypatch):
    """Precomputed, with a bias; tested for convexity, pair by pair."""
    X, y = digits
    K, P = Gaussian(40.0)(X), np.full((len(X), 1), 2.0)
    K.flags.writeable = False
    fast = SVMGBClassifier("precomputed", C=5.0).fit(K, y, P=P)
    monkeypatch.setattr(svmgb, "solve_small", lambda *args, **options: None)
    slow = SVMGBClassifier("precomputed", C=5.0).fit(K, y, P=P)
    assert fast.certificate_.kkt < 1e-8
    np.testing.assert_allclose(fast.coef_, slow.coef_, atol=1e-8)
    F = [m.decision_function(K, P=P) for m in (fast, slow)]
    np.testing.assert_allclose(*F, atol=1e-6)
    bad = K.copy()
    same = np.flatnonzero(y == 3)[:2]
    bad[same[0], same[1]] = bad[same[1], same[0]] = -5.0
    with pytest.raises(ValueError, match="not convex"):
        SVMGBClassifier("precomputed").fit(bad, y, P=P)


def test_what_was_tried_in_vain_is_not_tried_again():
    """A tiny problem whose features nearly separate goes straight to interior points."""
    K, P, y, C = problem(90, 8, 3, C=1e-3)
    first = [next(svm_dual._candidates(*args)) for args in candidates(K, P, y, C)]
    assert [method for *_, method in first] == ["SMO+Newton", "interior"]
    one, other = solve_svm(K, P, y, C), solve_svm(K, P, y, C, tried=True)
    assert other.certificate.kkt < 1e-8
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(one.h + P @ one.coef, other.h + P @ other.coef, atol=1e-6)


def candidates(K, P, y, C):
    span = feature_range(P)
    problem = prepare(K, span.Q, y, C, kind="pd", overwrite=False)
    return [(problem, P, span, -1, tried) for tried in (False, True)]


def test_huge_prices_are_certified_by_predict_itself(digits):
    """Σ|β| times rounding is no longer invisible: nothing is taken over from the Gram matrix."""
    X, y = digits
    few = y < 3
    seen = []
    model = SVMGBClassifier(Linear(), C=1e3)
    certify = model._certify
    model._certify = lambda *args: (seen.append(args[-1]), certify(*args))
    model.fit(1e3 * X[few], y[few])
    assert seen == [False]


def test_a_small_fit_adds_half_a_matrix_at_most():
    """Rows in single precision, of which only those are touched that are used."""
    K, P, y, C = problem(900, 1, 4, C=0.1)
    solve_small(K[:50, :50].copy(), np.arange(50), P[:50], y[:50], C[:50])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        solve_small(K, np.arange(900), P, y, C)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * K.nbytes
