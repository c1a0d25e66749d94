"""Which solver for which binary problem: every road of a fit leads to the same classifier."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from kernelbook import Gaussian, Polynomials, SVMGBClassifier
from kernelbook.estimators import svm
from kernelbook.solvers.svm import several, solve
from kernelbook.solvers.svm.certificate import recertified, violation
from kernelbook.solvers.svm.solve import solve_robust
from tests.samples.svm import box


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
        return solve_robust(*args, **options)

    monkeypatch.setattr(several, "solve_pair", lambda *args, **options: None)
    monkeypatch.setattr(solve, "solve_robust", slow)
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
    """Precomputed, with a bias; tested for convexity as a whole, then pair by pair."""
    X, y = digits
    K, P = Gaussian(40.0)(X), np.full((len(X), 1), 2.0)
    K.flags.writeable = False
    fast = SVMGBClassifier("precomputed", C=5.0).fit(K, y, P=P)
    monkeypatch.setattr(several, "solve_pair", lambda *args, **options: None)
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


def test_pairs_are_certified_by_predict_itself_where_rounding_could_be_seen(digits, monkeypatch):
    """If Σ|β| times rounding is not far below the tolerance, products of blocks are not enough."""
    X, y = digits
    few = y < 3
    seen = []

    def spy(*args):
        seen.append(args[0])
        return recertified(*args)

    monkeypatch.setattr(several, "recertified", spy)
    SVMGBClassifier(Gaussian(40.0), C=1.0, tol=1e-9).fit(X[few], y[few])
    assert len(seen) == 3
    seen.clear()
    SVMGBClassifier(Gaussian(40.0), C=1.0).fit(X[few], y[few])
    assert not seen


def test_an_interrupt_keeps_its_name(monkeypatch):
    """Where Ctrl-C strikes while Numba unpacks arguments, Python calls it a SystemError."""

    def strike(*args, **options):
        try:
            raise SystemError("result with an exception set") from KeyboardInterrupt()
        except SystemError as error:
            raise SystemError("and once more") from error

    X, y = np.arange(20.0)[:, None], np.arange(20) % 3
    model = SVMGBClassifier(Gaussian(1.0)).fit(X, y)
    monkeypatch.setattr(svm, "solve_several", strike)
    with pytest.raises(KeyboardInterrupt, match="has kept nothing"):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("labels", [["a", None, "b"], [1, None, 2], [1, "a", 2.5]])
def test_labels_without_an_order_are_refused_in_words(labels):
    y = np.array(labels * 4, dtype=object)
    with pytest.raises((TypeError, ValueError), match=r"one type for all|Unknown label type"):
        SVMGBClassifier(Gaussian(1.0)).fit(np.arange(12.0)[:, None], y)
