"""The sums of the Nyström solver: they add up over blocks, and refuse what does not fit."""

import numpy as np
import pytest

from kernelbook import Gaussian
from kernelbook.solvers.grls.nystrom import solve as nystrom
from kernelbook.solvers.grls.nystrom import sums
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from tests.samples.nystrom import predicted, sample


def test_statistics_add_up():
    X, Y, P, w, Z = sample(m=400)
    kernel = Gaussian(0.7)
    basis = CenterBasis(kernel, X[:60])
    blocks = [slice(0, 2), slice(2, 130), slice(130, 400)]  # one with fewer rows than features
    parts = [sums.statistics(basis, X[b], P[b], Y[b], w[b]) for b in blocks]
    left = (parts[0] + parts[1]) + parts[2]
    right = parts[0] + (parts[1] + parts[2])
    whole = nystrom.solve(basis, X, P, Y, 1e-4, w)
    for total in (left, right):
        ours = sums.solve(total, basis, 1e-4)
        f = ours.predictor(Z) + np.c_[np.ones(40), Z] @ ours.lam
        np.testing.assert_allclose(f, predicted(kernel, whole, X[:60], Z), atol=1e-8)
        assert ours.rank == 3
        assert total.m == 400
        assert total.total == pytest.approx(w.sum())
        for a, b in zip(ours.certificates, whole.certificates, strict=True):
            assert a.primal == pytest.approx(b.primal, rel=1e-9)
            assert a.kkt < 1e-8


def test_statistics_reproduce_features_and_take_zero_weights():
    X, _, P, w, _ = sample(m=100)
    Y = P @ np.array([[1.0], [2.0], [3.0]])
    Y[50:] = 7.0
    w[50:] = 0.0
    basis = CenterBasis(Gaussian(0.7), X[:20])
    total = sums.statistics(basis, X, P, Y, w)
    ours = sums.solve(total, basis, 1e-3)
    np.testing.assert_allclose(ours.lam, [[1], [2], [3]], atol=1e-9)
    assert np.abs(ours.c).max() < 1e-9
    assert total.m == 50


def test_statistics_refuse():
    X, Y, P, w, _ = sample(m=20)
    basis = CenterBasis(Gaussian(0.7), X[:5])
    make = sums.statistics
    with pytest.raises(ValueError, match="as many of each"):
        make(basis, X, P[:3], Y)
    with pytest.raises(ValueError, match="finite"):
        make(basis, X, P, np.where(Y > 0, np.nan, Y))
    with pytest.raises(ValueError, match="≥ 0"):
        make(basis, X, P, Y, -w)
    with pytest.raises(ValueError, match="do not belong together"):
        make(basis, X, P, Y) + make(basis, X, P[:, :2], Y)
    with pytest.raises(ValueError, match="positive"):
        sums.solve(make(basis, X, P, Y), basis, 0.0)
