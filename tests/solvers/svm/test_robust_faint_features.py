"""Features of many sizes, 1 and 1e-9 and 1e-70 in one column: solved, and proved exactly."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelbook import SVMGBClassifier
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.span_basis import cardinal_basis
from kernelbook.solvers.svm.solve import solve_robust


def shares(seed, m=40, l=8, concentration=0.01, C=1 / 32):
    """Documents with shares of topics; labels that depend on the main topic, one in ten wrong."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(l, concentration), size=m)
    X = rng.normal(size=(m, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 3)
    y = np.where((P.argmax(axis=1) < l // 2) ^ (rng.random(m) < 0.1), 1.0, -1.0)
    return K, P, y, np.full(m, C)


def exact_gap(K, P, y, C, beta, lam):
    """(primal − dual + |βᵀPλ|)/primal in rational arithmetic: nothing is lost to rounding."""
    K, P = [[[Fraction(v) for v in row] for row in A.tolist()] for A in (K, P)]
    y, C, beta, lam = [[Fraction(v) for v in a.tolist()] for a in (y, C, beta, lam)]
    free = [sum(p * l for p, l in zip(row, lam, strict=True)) for row in P]
    h = [sum(k * b for k, b in zip(row, beta, strict=True)) for row in K]
    lost = [max(0, 1 - t * (u + v)) for t, u, v in zip(y, h, free, strict=True)]
    energy = sum(b * v for b, v in zip(beta, h, strict=True)) / 2
    primal = energy + sum(c * v for c, v in zip(C, lost, strict=True))
    dual = sum(t * b for t, b in zip(y, beta, strict=True)) - energy
    off = abs(sum(b * v for b, v in zip(beta, free, strict=True)))
    assert all(0 <= t * b <= c for t, b, c in zip(y, beta, C, strict=True))
    return float((abs(primal - dual) + off) / primal) if primal else float(off)


@pytest.mark.parametrize("C", [1 / 32, 1.0, 100.0])
@pytest.mark.parametrize(("seed", "m"), [(0, 30), (0, 60), (2, 60)])
def test_shares_down_to_the_smallest_numbers_are_certified(seed, m, C):
    K, P, y, box = shares(seed, m, 10, C=C)
    assert P[P > 0].min() < 1e-200
    s = solve_robust(K, P, y, box)
    assert s.certificate.kkt <= 1e-5
    assert s.certificate.relative_gap <= 1e-5
    assert exact_gap(K, P, y, box, s.beta, s.coef) <= 1e-5


@pytest.mark.parametrize("kind", ["pd", "cpd"])
def test_shares_rounded_or_not_with_either_kind_of_kernel(kind):
    K, P, y, box = shares(0, 30, 10)
    for smallest in (0.0, 1e-12, 1e-4):
        s = solve_robust(K, np.where(smallest > P, 0.0, P), y, box, definiteness=kind)
        assert s.certificate.kkt <= 1e-5
        assert s.certificate.relative_gap <= 1e-5


def test_three_documents_by_hand():
    """y = +, +, − and shares 1, 1e-6, 1e-9: α₁ + 1e-6 α₂ = 1e-9 α₃, so α₂ = 1e-3 α₃, α₁ = 0."""
    P = np.array([[1.0], [1e-6], [1e-9]])
    s = solve_robust(np.eye(3), P, np.array([1.0, 1.0, -1.0]), np.full(3, 10.0))
    # f₂ = α₂ + 1e-6 λ = 1 and f₃ = −α₃ + 1e-9 λ = −1; f₁ = λ is far beyond the margin
    alpha_3 = 1.001 / (1 + 1e-6)
    assert s.coef[0] == pytest.approx(1e6 * (1 - 1e-3 * alpha_3), rel=1e-8)
    np.testing.assert_allclose(s.beta, [0.0, 1e-3 * alpha_3, -alpha_3], rtol=1e-8, atol=1e-20)


@pytest.mark.parametrize("l", [1, 3, 6])
def test_cardinal_functions_keep_the_digits_of_small_values(l):
    rng = np.random.default_rng(l)
    P = rng.dirichlet(np.full(l, 0.02), size=12) if l > 1 else 10.0 ** -rng.uniform(0, 90, (12, 1))
    basis = cardinal_basis(P, column_space(P))
    anchors = np.argmax(basis.functionals, axis=1)
    assert np.array_equal(basis.functions[anchors], np.eye(l))
    np.testing.assert_allclose(P @ basis.T, basis.functions, rtol=1e-9, atol=1e-13)
    exact = in_fractions(P, anchors)
    np.testing.assert_allclose(basis.functions, exact, rtol=1e-6, atol=1e-290)


def in_fractions(P, anchors):
    """P · P[anchors]⁻¹ by Gauss–Jordan elimination in rational arithmetic."""
    B = [[Fraction(v) for v in row] for row in P.tolist()]
    l = len(anchors)
    for k, i in enumerate(anchors):
        p = next(p for p in range(k, l) if B[i][p] != 0)
        for row in B:
            row[k], row[p] = row[p], row[k]
        pivot = B[i][:]
        for row in B:
            row[k] /= pivot[k]
            for q in range(l):
                if q != k:
                    row[q] -= row[k] * pivot[q]
    return np.array([[float(v) for v in row] for row in B])


def test_of_dependent_features_the_coefficients_follow_the_documented_rule():
    K, P, y, box = shares(0, 30, 10)
    twice = np.hstack([P, P[:, :1]])
    one, two = solve_robust(K, P, y, box), solve_robust(K, twice, y, box)
    assert two.rank == one.rank == 10
    span = column_space(twice)
    basis = cardinal_basis(twice, span)
    np.testing.assert_allclose(basis.T[0], basis.T[-1], rtol=1e-6, atol=1e-9)


def test_what_remains_out_of_reach_says_what_to_do():
    K, P, y, _ = shares(0, 30, 10)
    model = SVMGBClassifier("precomputed", features=None, C=1 / 32, max_iter=20)
    with pytest.warns(ConvergenceWarning, match="round them to zero"):
        model.fit(K, y, P=P)
