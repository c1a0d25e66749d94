"""Sums over translates: what they lose, when they are taken, and that the certificate knows."""

import numpy as np
import pytest

from kernelbook import Gaussian, Laplacian, Linear
from kernelbook.numeric.threads import one_thread
from kernelbook.solvers.grls.nystrom import normal_equations
from kernelbook.solvers.grls.nystrom import solve as nystrom
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from tests.samples.nystrom import predicted, sample


@pytest.fixture
def taken(monkeypatch):
    """Which sums the solver takes: over "k", over "ẑ", or over both."""
    taken = []

    original = normal_equations.gram_and_products

    def spied(panels, blocks, sqrt_weights=None, basis=None):
        taken.append("k" if basis is None else "ẑ")
        return original(panels, blocks, sqrt_weights, basis)

    monkeypatch.setattr(normal_equations, "gram_and_products", spied)
    return taken


def test_the_norm_of_the_inverse_is_bounded():
    rng = np.random.default_rng(0)
    for n in (1, 5, 60):
        L = np.tril(rng.normal(size=(n, n))) + 2 * np.eye(n)
        true = np.linalg.norm(np.linalg.inv(L), 2)
        assert true <= normal_equations.inverse_norm(L) * (1 + 1e-12) <= 2 * n * true
    assert normal_equations.inverse_norm(np.zeros((2, 2))) == np.inf
    assert CenterBasis(Linear(), np.zeros((3, 2))).inverse_norm == np.inf


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_all_rows(weighted):
    X, Y, P, w, _ = sample(m=1500)
    basis = CenterBasis(Laplacian(0.8), X[:30])
    root = np.sqrt(w)[:, None] if weighted else None
    gram, products = normal_equations.gram_and_products(
        basis.kernel.panels(X, basis.points), [P, Y], root
    )
    K = basis.kernel(X, basis.points) * (root if weighted else 1.0)
    np.testing.assert_allclose(gram, K.T @ K, rtol=1e-12)
    for ours, V in zip(products, (P, Y), strict=True):
        np.testing.assert_allclose(ours, K.T @ V, atol=1e-10)
    Z = basis.evaluate(X) * (root if weighted else 1.0)
    white = basis.congruence(gram)
    np.testing.assert_array_equal(white, white.T)
    np.testing.assert_allclose(white, Z.T @ Z, atol=1e-8)


def test_a_step_leaves_what_the_proposition_says():
    rng = np.random.default_rng(1)
    n, rho = 20, 0.3
    A = rng.normal(size=(n, n))
    H = A @ A.T + rho * np.eye(n)
    E = rng.normal(size=(n, n))
    E = (E + E.T) / np.linalg.norm(E + E.T, 2)
    r = rng.normal(size=n)
    for square in (1e10, 1e12, 1e13, 1e14):
        rounding = normal_equations.Rounding(square, 1.0)
        eta = rounding.matrix
        assert eta < rho
        left = r - H @ np.linalg.solve(H + eta * E, r)
        bound = rounding.contraction_factor(rho) * np.linalg.norm(r)
        assert np.linalg.norm(left) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_both_sums_find_the_same_function(weighted, taken, monkeypatch):
    X, Y, P, w, Z = sample(m=1200)
    kernel, centers, w = Laplacian(0.8), X[:50], w if weighted else None
    basis = CenterBasis(kernel, centers)
    ours = nystrom.solve(basis, X, P, Y, 1e-5, w)
    assert taken == ["k"]
    monkeypatch.setattr(nystrom, "fast_equations", lambda sample, tolerance: None)
    theirs = nystrom.solve(basis, X, P, Y, 1e-5, w)
    assert taken == ["k", "ẑ"]
    f, g = (predicted(kernel, one, centers, Z) for one in (ours, theirs))
    np.testing.assert_allclose(f, g, atol=1e-10)
    np.testing.assert_allclose(ours.lam, theirs.lam, atol=1e-10)
    np.testing.assert_allclose(ours.energy, theirs.energy, rtol=1e-10)
    for a, b in zip(ours.certificates, theirs.certificates, strict=True):
        assert a.primal == pytest.approx(b.primal, rel=1e-12)
        assert a.kkt < 1e-10
        assert b.kkt < 1e-10


def test_the_certificate_counts_the_digits_that_are_lost(taken):
    """From well to ill conditioned centres, against least squares on rows that are orthonormal."""
    X, Y, P, w, _ = sample(m=600, k=1)
    root, seen = np.sqrt(w)[:, None], set()
    for width in (0.1, 0.3, 0.6, 0.8, 1.0, 2.0):
        kernel, basis = Gaussian(width), CenterBasis(Gaussian(width), X[:40])
        for reg, tol in ((1e-2, 1e-8), (1e-6, 1e-8), (1e-6, 1e-5)):
            taken.clear()
            ours = nystrom.solve(basis, X, P, Y, reg, w, tol=tol)
            Zhat = basis.evaluate(X)
            rows = np.hstack([root * Zhat, root * P])
            ridge = np.sqrt(w.sum() * reg) * np.eye(basis.rank, rows.shape[1])
            right = np.vstack([root * Y, np.zeros((basis.rank, 1))])
            best = np.linalg.lstsq(np.vstack([rows, ridge]), right, rcond=None)[0]
            off = predicted(kernel, ours, X[:40], X) - np.hstack([Zhat, P]) @ best
            (certificate,) = ours.certificates
            level = np.sqrt(np.average(Y**2, weights=w, axis=0)[0])
            assert certificate.kkt <= tol
            assert np.sqrt(np.average(off**2, weights=w[:, None])) <= level * (
                certificate.kkt + 1e-12
            )
            seen.add(tuple(taken))
    assert {("k",), ("ẑ",)} <= seen


def test_sums_that_turn_out_too_large_are_taken_again(taken):
    """The rows that were asked beforehand said nothing of one that is enormous."""
    X, Y, P, _, _ = sample(m=1200, d=3)
    basis = CenterBasis(Linear(), X[:3])
    X = X.copy()
    X[1] *= 1e8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nystrom, "fast_equations", lambda sample, tolerance: None)
        theirs = nystrom.solve(basis, X, P[:, :1], Y, 1e-6)
    taken.clear()
    ours = nystrom.solve(basis, X, P[:, :1], Y, 1e-6)
    assert taken == ["k", "ẑ"]
    np.testing.assert_array_equal(ours.c, theirs.c)
    assert ours.certificates == theirs.certificates


def test_one_thread_is_for_small_matrices():
    from threadpoolctl import threadpool_info

    def threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    before = threads()
    with one_thread(300):
        assert threads() == {1}
    assert threads() == before
    with one_thread(5000):
        assert threads() == before
