"""The theorems about every loss, tried on losses that the library does not have.

The numbers T1, T2, … are those of `book/back/equations.md`.  Nothing of the library is used here:
kernels are matrices, minimizers come from SciPy, and duals from the conjugates by hand.
"""

import numpy as np
import pytest
from scipy import linalg, optimize
from scipy.special import expit, xlogy

from tests.naive import conditional as naive
from tests.naive.conditional import gaussian, monomials

C = 0.7


def problem(seed, m=14, degree=1):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-2, 2, (m, 1)), axis=0)
    return X, gaussian(X, X), monomials(X, degree), rng


class Squared:
    """V = (y − t)²/2, V*(s) = sy + s²/2."""

    def value(self, y, t):
        return (y - t) ** 2 / 2

    def slope(self, y, t):
        return t - y

    def conjugate(self, y, s):
        return s * y + s**2 / 2


class Logistic:
    """V = log(1 + e^(−yt)); with p = −ys in [0, 1], V*(s) = p log p + (1 − p) log(1 − p)."""

    def value(self, y, t):
        return np.logaddexp(0, -y * t)

    def slope(self, y, t):
        return -y * expit(-y * t)

    def conjugate(self, y, s):
        p = -y * s
        inside = (p >= 0) & (p <= 1)
        q = np.clip(p, 0, 1)
        return np.where(inside, xlogy(q, q) + xlogy(1 - q, 1 - q), np.inf)


class Huber:
    """V = r²/2 for r = |y − t| ≤ 1, r − ½ beyond; V*(s) = sy + s²/2 for |s| ≤ 1."""

    def value(self, y, t):
        r = np.abs(y - t)
        return np.where(r <= 1, r**2 / 2, r - 0.5)

    def slope(self, y, t):
        return np.clip(t - y, -1, 1)

    def conjugate(self, y, s):
        return np.where(np.abs(s) <= 1, s * y + s**2 / 2, np.inf)


LOSSES = [Squared(), Logistic(), Huber()]


def minimize(loss, R, P, y):
    """min C Σ V(y_i, f_i) + ½‖w‖², f = Rw + Pλ on all points, the loss on the first len(y)."""
    m, k = len(y), R.shape[1]
    A = np.hstack([R, P])

    def objective(z):
        t = A[:m] @ z
        slope = C * A[:m].T @ loss.slope(y, t)
        slope[:k] += z[:k]
        return C * loss.value(y, t).sum() + z[:k] @ z[:k] / 2, slope

    done = optimize.minimize(
        objective, np.zeros(A.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    return A @ done.x, done.fun, done.x


def dual(loss, gram, y, beta):
    """−½β'Φβ − C Σ V*(y_i, −β_i/C)."""
    return -beta @ gram @ beta / 2 - C * loss.conjugate(y, -beta / C).sum()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_t1_a_larger_space_has_the_same_minimizer(loss, seed):
    X, gram, P, rng = problem(seed, m=20)
    seen = 12  # the loss sees twelve of the twenty points; the space is that of all of them
    order = rng.permutation(20)
    X, gram, P = X[order], gram[np.ix_(order, order)], P[order]
    y = np.sign(rng.normal(size=seen))
    f, _, z = minimize(loss, naive.root(gram), P, y)
    # Coefficients from the slopes at the samples, none elsewhere: the form of the theorem.
    c = -C * loss.slope(y, f[:seen])
    np.testing.assert_allclose(P[:seen].T @ c, 0, atol=1e-6)
    lam = z[-P.shape[1] :]
    np.testing.assert_allclose(gram[:, :seen] @ c + P @ lam, f, atol=1e-5)


def quasi_separated(P, y):
    """Whether some μ has y_i(Pμ)_i ≥ 0 for all i and > 0 for one: a linear program."""
    A = y[:, None] * P
    best = optimize.linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(y)), bounds=(-1, 1))
    return -best.fun > 1e-9


def test_t4_the_logistic_loss_has_a_minimizer_iff_the_features_do_not_quasi_separate():
    loss, found = Logistic(), set()
    for seed in range(12):
        _, gram, P, rng = problem(seed)
        y = np.sign(P[:, 1] + (seed % 2) * rng.normal(size=len(P)))
        R = naive.root(gram)
        separated = quasi_separated(P, y)
        found.add(separated)
        f, _, z = minimize(loss, R, P, y)
        slope = P.T @ loss.slope(y, f)
        if separated:
            # A direction of descent that never ends, from wherever we stand.
            A = y[:, None] * P
            mu = optimize.linprog(-A.sum(axis=0), A_ub=-A, b_ub=0 * y, bounds=(-1, 1)).x
            losses = [loss.value(y, f + t * P @ mu).sum() for t in (0, 1, 10)]
            assert losses[0] > losses[1] > losses[2]
        else:
            np.testing.assert_allclose(slope, 0, atol=1e-6)
            assert np.abs(z).max() < 100
    assert found == {True, False}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_t5_free_features_are_equations_of_the_dual(loss):
    for seed in range(3):
        _, gram, P, rng = problem(seed)
        y = np.sign(rng.normal(size=len(P)))
        f, primal, z = minimize(loss, naive.root(gram), P, y)
        beta = -C * loss.slope(y, f)
        np.testing.assert_allclose(P.T @ beta, 0, atol=1e-6)
        assert dual(loss, gram, y, beta) == pytest.approx(primal, rel=1e-7)
        # Weak duality at feasible points nearby and far away …
        null = linalg.null_space(P.T)
        for size in (1e-3, 1e-1, 1.0):
            other = beta + size * null @ rng.normal(size=null.shape[1])
            assert dual(loss, gram, y, other) <= primal + 1e-9
        # … and why the equations are needed: without them the dual objective goes above.
        room = np.maximum(C - np.abs(beta), 0)  # stay where the conjugates are finite
        step = 1e-3 * room**2 * (P @ z[-P.shape[1] :])
        assert dual(loss, gram, y, beta + step) > primal
