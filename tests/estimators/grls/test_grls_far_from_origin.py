"""G-RLS with a linear kernel far from the origin, against rational arithmetic.

At 2²⁰ the entries of XXᵀ are 10¹²; what distinguishes two points is one.  Nothing of it is lost.
"""

from fractions import Fraction

import numpy as np
import pytest

from kernelbook import GRLSClassifier, GRLSRegressor, GRLSRegressorCV, Linear, Polynomials

RNG = np.random.default_rng(4)
NEAR = RNG.integers(-64, 64, size=(9, 2)) / 32
Y = RNG.normal(size=9) + NEAR[:, 0]
W = RNG.integers(1, 4, size=9).astype(float)
NEW = RNG.integers(-64, 64, size=(4, 2)) / 32


def solve(A, B):
    """The columns of A⁻¹B, lists of fractions, by Gauss–Jordan."""
    rows = [[*a, *b] for a, b in zip(A, B, strict=True)]
    n = len(rows)
    for k in range(n):
        i = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[i] = rows[i], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for j in range(n):
            if j != k and rows[j][k] != 0:
                rows[j] = [v - rows[j][k] * p for v, p in zip(rows[j], rows[k], strict=True)]
    return [row[n:] for row in rows]


def dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def oracle(X, P, y, w, reg, Z, PZ):
    """c, λ, f(Z), the standard deviations, scale and the covariance of λ; the kernel is 2x·z."""
    X, P, Z, PZ = [[[Fraction(v) for v in row] for row in A.tolist()] for A in (X, P, Z, PZ)]
    y, w, reg = [Fraction(v) for v in y.tolist()], [Fraction(v) for v in w.tolist()], Fraction(reg)
    m, l, total = len(X), len(P[0]), sum(w)
    A = [[2 * dot(a, b) + (total * reg / w[i] if i == j else 0) for j, b in enumerate(X)]
         for i, a in enumerate(X)]  # fmt: skip
    saddle = [[*A[i], *P[i]] for i in range(m)]
    saddle += [[*(P[i][p] for i in range(m)), *[Fraction(0)] * l] for p in range(l)]
    new = [[*(2 * dot(z, a) for a in X), *p] for z, p in zip(Z, PZ, strict=True)]
    right = [[*column] for column in zip([*y, *[Fraction(0)] * l], *new, strict=True)]
    x, *at_new = [[*column] for column in zip(*solve(saddle, right), strict=True)]
    variance = [2 * dot(z, z) - dot(k, a) for z, k, a in zip(Z, new, at_new, strict=True)]
    scale = dot(x[:m], y) / (total - l)
    AP = solve(A, P)
    eye = [[Fraction(int(p == q)) for q in range(l)] for p in range(l)]
    V = solve(
        [[sum(P[i][p] * AP[i][q] for i in range(m)) for q in range(l)] for p in range(l)], eye
    )
    f = [dot(k, x) for k in new]
    numbers = [x[:m], x[m:], f, [v * scale for v in variance], [scale]]
    c, lam, f, variance, scale = (np.array([float(v) for v in part]) for part in numbers)
    return c, lam, f, np.sqrt(variance), scale[0], scale[0] * np.array(V, dtype=float)


@pytest.mark.parametrize("shift", [0.0, 2.0**10, 2.0**20, 2.0**30])
@pytest.mark.parametrize("step", [False, True])
@pytest.mark.filterwarnings("ignore:solver=.* linear system is too ill-conditioned")
def test_everything_a_fit_says_is_right(step, shift):
    """Far enough out, f = x·w + λ itself has rounding errors of 10⁻¹⁶‖x‖, and the fit says so."""

    def features(A):
        return np.c_[np.ones(len(A)), np.sign(A[:, 0] - shift)][:, : 1 + step]

    X, Z = NEAR + shift, NEW + shift
    P, PZ = features(X), features(Z)
    model = GRLSRegressor(2 * Linear(), features, reg=2.0**-10).fit(X, Y, W)
    f, std = model.predict(Z, return_std=True)
    c, lam, f_exact, std_exact, scale, V = oracle(X, P, Y, W, 2.0**-10, Z, PZ)
    atol = 1e-12 * max(1.0, shift)
    np.testing.assert_allclose(model.dual_coef_, c, atol=1e-9)
    np.testing.assert_allclose(model.coef_, lam, rtol=1e-9, atol=atol)
    np.testing.assert_allclose(f, f_exact, atol=max(atol, 1e-10))
    np.testing.assert_allclose(std, std_exact, rtol=1e-9)
    np.testing.assert_allclose(model.scale_, scale, rtol=1e-9)
    np.testing.assert_allclose(model.coef_cov_, V, rtol=1e-8 + 1e-15 * shift)
    assert model.certificate_.kkt <= 1e-15 * max(1e7, shift)


def test_leave_one_out_and_its_choice_do_not_see_the_origin():
    grid = np.geomspace(10, 1e-3, 9)
    near = GRLSRegressorCV(Linear(), regs=grid).fit(NEAR, Y, W)
    far = GRLSRegressorCV(Linear(), regs=grid).fit(NEAR + 2.0**20, Y, W)
    np.testing.assert_allclose(far.reg_, near.reg_, rtol=1e-9)
    np.testing.assert_allclose(far.loo_errors_, near.loo_errors_, atol=1e-9)
    np.testing.assert_allclose(far.predict(NEW + 2.0**20), near.predict(NEW), atol=1e-8)


def test_several_outputs_and_classes():
    two = np.c_[Y, NEAR[:, 1] ** 2]
    near, far = (GRLSRegressor(Linear()).fit(NEAR + s, two) for s in (0.0, 2.0**20))
    np.testing.assert_allclose(far.predict(NEW + 2.0**20), near.predict(NEW), atol=1e-8)
    three = np.digitize(Y, [-0.5, 0.5])
    near, far = (GRLSClassifier(Linear()).fit(NEAR + s, three) for s in (0.0, 2.0**20))
    values = far.decision_function(NEW + 2.0**20)
    np.testing.assert_allclose(values, near.decision_function(NEW), atol=1e-8)


@pytest.mark.parametrize("features", [None, Polynomials(1)])
def test_without_the_constant_the_origin_counts_and_with_the_coordinates_too(features):
    """None: XXᵀ is what it is.  Polynomials(1): the features do all that the kernel could."""
    X = NEAR + 4.0
    model = GRLSRegressor(Linear(), features, reg=2.0**-10).fit(X, Y)
    P = np.empty((9, 0)) if features is None else np.c_[np.ones(9), X]
    A = X @ X.T + 9 * 2.0**-10 * np.eye(9)
    K = np.block([[A, P], [P.T, np.zeros((P.shape[1],) * 2)]])
    x = np.linalg.solve(K, np.r_[Y, np.zeros(P.shape[1])])
    np.testing.assert_allclose(model.dual_coef_, x[:9], atol=1e-8)
