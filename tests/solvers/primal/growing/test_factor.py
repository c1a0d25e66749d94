"""The growing factor where functions are almost dependent: who waits, and what that saves."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from kernelbook import Gaussian, IncrementalSVMClassifier, KernelBasis, SVMGBClassifier
from kernelbook.solvers.primal.growing.factor import GrowingFactor


def grown(K, order):
    """The factor of all functions that are not refused, the first in `order` that need not wait."""
    factor = GrowingFactor(K, K, len(K), rtol=0.0)
    while True:
        waits = factor.postponed()
        for j in order:
            if j not in factor.chosen and not waits[j] and (x := factor.column(j)) is not None:
                factor.append(j, x)
                break
        else:
            return factor


@pytest.mark.parametrize("width", [0.5, 1.5, 5.0])
def test_coordinates_are_those_of_a_subspace_in_any_order(width):
    """K − X̂X̂ᵀ is a kernel.  Without patience X̂X̂ᵀ exceeds K, here by an eigenvalue of up to 49."""
    X, _ = make_moons(150, noise=0.2, random_state=0)
    K = Gaussian(width)(X)
    for order in (np.argsort(X[:, 0]), np.arange(150)):
        factor = grown(K, order)
        assert not factor.postponed().any()
        left = np.linalg.eigvalsh(K - factor.X @ factor.X.T)
        assert left[0] > -1e-7
        assert left[-1] < 1e-7  # nobody who waited was forgotten


def test_who_waits():
    near = 1e-5
    G = np.eye(4)
    G[0, 1] = G[1, 0] = 1.0  # f_1 = f_0 + 1e-5 h
    G[1, 1] = 1.0 + near**2
    G[3, 3] = 1e-20  # small, but nobody's neighbour
    factor = GrowingFactor(np.eye(4), G, 4, rtol=0.0)
    assert not factor.postponed().any()
    factor.append(0, factor.column(0))
    assert factor.distance(1) == pytest.approx(near**2, rel=1e-5)
    assert factor.postponed().tolist() == [False, True, False, False]
    for j in (2, 3):
        factor.append(j, factor.column(j))
    assert not factor.postponed().any()  # the farthest never waits
    factor.append(1, factor.column(1))
    factor.truncate(1)
    assert factor.postponed().tolist() == [False, True, False, False]
    assert not GrowingFactor(np.eye(3), None, 3).postponed().any()
    nothing = GrowingFactor(np.zeros((2, 2)), np.diag([1.0, 0.0]), 2, rtol=0.0)
    nothing.append(0, nothing.column(0))
    assert not nothing.postponed().any()


@pytest.mark.parametrize("select", ["most_misclassified", "random"])
def test_a_path_does_not_end_below_the_whole_space(select):
    """It once ended 6e-8 below, in a space in which distances were wrong."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    kernel = Gaussian(np.sqrt(2.0))
    model = IncrementalSVMClassifier(KernelBasis(kernel), select=select, random_state=0).fit(X, y)
    whole = SVMGBClassifier(kernel).fit(X, y).certificate_
    assert model.path_[-1].objective > whole.dual * (1 - 1e-11)
    assert model.path_[-1].objective < whole.primal * (1 + 1e-9)
