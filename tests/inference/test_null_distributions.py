"""What is claimed of p-values under the null hypothesis, by simulation and in closed form."""

import numpy as np
import pytest
from scipy import stats

from kernelbook import Gaussian, GRLSRegressor
from kernelbook.inference.needed import kernel_needed
from kernelbook.inference.quadratic import ratio_tail

DRAWS = 2000


@pytest.mark.parametrize(("q", "n"), [(1, 2), (1, 30), (3, 40), (10, 300)])
def test_a_ratio_of_projections_has_the_f_distribution(q, n):
    eigenvalues = np.r_[np.ones(q), np.zeros(n - q)]
    for f in (0.01, 0.3, 1.0, 4.0, 12.0):
        t = q * f / (q * f + n - q)
        assert abs(ratio_tail(eigenvalues, t) - stats.f.sf(f, q, n - q)) < 1e-12


def test_a_ratio_beyond_its_range_is_certain():
    assert ratio_tail(np.array([0.0, 1.0]), 1.0) == 0.0
    assert ratio_tail(np.array([0.0, 1.0]), 0.0) == 1.0


def uniform(p):
    """The Kolmogorov–Smirnov distance to the uniform distribution, against its 0.1 % quantile."""
    return stats.kstest(p, "uniform").statistic < 1.95 / np.sqrt(len(p))


@pytest.fixture(scope="module")
def null():
    """Samples of the model itself, as columns, without the effect of the last feature."""
    rng, m, reg = np.random.default_rng(0), 40, 5e-3
    X = rng.uniform(size=(m, 1))
    P = np.column_stack([np.ones(m), X[:, 0], np.cos(20 * X[:, 0])])
    A = Gaussian(0.4)(X) + reg * m * np.eye(m)
    Y = np.linalg.cholesky(A) @ rng.standard_normal((m, DRAWS)) + (P[:, :2] @ [1, 2])[:, None]
    learner = GRLSRegressor(Gaussian(0.4), lambda X: P, reg=reg)
    return learner.fit(X, Y), X, P, Y, reg


def test_coefficients_intervals_and_studentized_residuals_are_exact(null):
    model, n = null[0], len(null[1]) - 3
    std = np.sqrt(model.coef_cov_[:, 2, 2])
    assert uniform(2 * stats.t.sf(np.abs(model.coef_[:, 2] / std), n))
    studentized = model.leave_one_out().studentized
    for row in (0, 11):
        assert uniform(stats.t.sf(studentized[row], n - 1))


def test_the_score_test_is_exact_with_and_without_other_kernels(null):
    _, X, P, Y, reg = null
    m, noise = len(X), np.full(len(X), reg * len(X))
    extra = Gaussian(0.05)(X)
    for rest in (Gaussian(0.4)(X), np.zeros((m, m))):
        if not rest.any():
            Y = P[:, :2] @ [[1.0], [2.0]] + np.random.default_rng(1).standard_normal((m, 400))
        p = [kernel_needed("", extra, rest, noise, P, y).pvalue for y in Y.T[:400]]
        assert uniform(np.array(p))
