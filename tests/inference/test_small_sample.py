"""The correction for estimated parameters: its derivatives, its limits, and a simulation."""

import numpy as np
import pytest
from scipy import linalg, stats

from kernelbook import Gaussian
from kernelbook.inference.small_sample import corrected

M = 30
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(size=(M, 1)), axis=0)
P = np.column_stack([np.ones(M), RNG.standard_normal(M)])


def pieces(theta, y):
    """A, its derivatives in (log width, log ρ), V, L, c and s, from the definitions."""
    kernel, rho = Gaussian(np.exp(theta[0])), np.exp(theta[1])
    A = kernel(X) + rho * np.eye(M)
    slopes = [kernel.gram_gradient(X)["width"], rho * np.eye(M)]
    inverse = np.linalg.inv(A)
    V = np.linalg.inv(P.T @ inverse @ P)
    L = V @ P.T @ inverse
    c = inverse @ (y - P @ (L @ y))
    return A, slopes, V, L, c, y @ c / (M - 2)


def test_known_parameters_change_nothing():
    y = RNG.standard_normal(M)
    A, slopes, V, _, c, s = pieces(np.log([0.3, 0.5]), y)
    found = corrected(A, slopes, np.zeros((2, 2)), P, c, s, M - 2)
    np.testing.assert_allclose(found.covariance, s * V, rtol=1e-10)
    np.testing.assert_allclose(found.df, M - 2)


def test_the_parts_are_derivatives():
    """λ, V and s move with θ as finite differences say."""
    y, theta, h = RNG.standard_normal(M), np.log([0.3, 0.5]), 1e-5
    A, slopes, V, L, c, s = pieces(theta, y)
    for i in range(2):
        e = h * np.eye(2)[i]
        more, less = pieces(theta + e, y), pieces(theta - e, y)
        np.testing.assert_allclose(
            (more[3] - less[3]) @ y / (2 * h), -L @ slopes[i] @ c, rtol=1e-6, atol=1e-9
        )
        np.testing.assert_allclose(
            (more[2] - less[2]) / (2 * h), L @ slopes[i] @ L.T, rtol=1e-6, atol=1e-9
        )
        log_s = (np.log(more[5]) - np.log(less[5])) / (2 * h)
        W = np.zeros((2, 2))
        W[i, i] = 0.01
        found = corrected(A, slopes, W, P, c, s, M - 2)
        # log(s V_kk) has the variance 2/n + W (d log s/dθ + d log V_kk/dθ)²
        log_v = np.diag(L @ slopes[i] @ L.T) / np.diag(V)
        expected = 2 / (2 / (M - 2) + 0.01 * (log_s + log_v) ** 2)
        np.testing.assert_allclose(found.df, np.minimum(expected, M - 2), rtol=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 10.0])
def test_p_values_with_an_estimated_noise_ratio(ratio):
    """Restricted likelihood over a grid of ρ, 2000 samples; the plug-in is worse."""
    draws, n = 2000, M - 2
    K = Gaussian(0.3)(X)
    Y = np.linalg.cholesky(ratio * K + np.eye(M)) @ RNG.standard_normal((M, draws))
    Q2 = linalg.null_space(P.T)
    values, U = np.linalg.eigh(Q2.T @ K @ Q2)
    values, Z = values.clip(0), (Q2 @ U).T @ Y
    grid = np.geomspace(1e-3, 1e3, 61)
    spread = values[:, None] + grid
    q = np.einsum("kd,kg->gd", Z**2, 1 / spread)
    best = (n * np.log(q) + np.log(spread).sum(axis=0)[:, None]).argmin(axis=0)
    plain, mended = np.empty((2, draws))
    for g in np.unique(best):
        a = grid[g] / spread[:, g]
        information = 0.5 * (a @ a - a.sum() ** 2 / n)
        W = np.array([[1 / information if 0 < g < 60 else 0.0]])
        A = K + grid[g] * np.eye(M)
        inverse = np.linalg.inv(A)
        V = np.linalg.inv(P.T @ inverse @ P)
        L = V @ P.T @ inverse
        for d in np.flatnonzero(best == g):
            y = Y[:, d]
            c = inverse @ (y - P @ (L @ y))
            s, lam = q[g, d] / n, L[1] @ y
            found = corrected(A, [grid[g] * np.eye(M)], W, P, c, s, n)
            plain[d] = 2 * stats.t.sf(abs(lam) / np.sqrt(s * V[1, 1]), n)
            std = np.sqrt(found.covariance[1, 1])
            mended[d] = 2 * stats.t.sf(abs(lam) / std, found.df[1])
    distance = [stats.kstest(p, "uniform").statistic for p in (plain, mended)]
    assert distance[1] < 1.63 / np.sqrt(draws)
    assert abs((mended < 0.05).mean() - 0.05) < 0.015
