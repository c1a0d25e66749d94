"""The profiles' own exponential and powers, against long doubles."""

import numpy as np
import pytest

from kernelbook.numeric.pairwise import profiles

U = 2.0**-53


@pytest.mark.interpreted
def test_exp2_is_accurate_to_the_last_digits():
    y = -np.concatenate([np.linspace(0, 2, 201), np.linspace(2, 1022, 301), [1e-300, 0.5, 1.5]])
    exact = np.exp2(y.astype(np.longdouble))
    ours = np.array([profiles.exp2(v) for v in y])
    assert np.max(np.abs(ours - exact) / exact) < 4 * U


@pytest.mark.interpreted
def test_exp2_at_its_ends():
    assert profiles.exp2(0.0) == profiles.exp2(-0.0) == profiles.exp2(-1e-20) == 1.0
    assert profiles.exp2(-1022.0) == np.finfo(float).tiny
    assert profiles.exp2(-1022.0001) == profiles.exp2(-1e300) == profiles.exp2(-np.inf) == 0.0


@pytest.mark.interpreted
def test_a_nan_is_never_hidden():
    for profile, arguments in (
        (profiles.exponential, (1.0,)),
        (profiles.gaussian, (1.0,)),
        (profiles.matern, (1.0, 1.0, 1.0)),
        (profiles.multiquadric, (1.0,)),
        (profiles.polyharmonic, (2, 1.0, True)),
        (profiles.polyharmonic, (1, -1.0, False)),
        (profiles.shifted_power, (1.0, 3)),
    ):
        tile = np.array([[0.5, np.nan, 2.0, 1.0, 0.0]])
        with np.errstate(all="ignore"):
            profile(tile, *arguments)
        assert np.array_equal(np.isnan(tile), [[False, True, False, False, False]])
        assert not np.any(np.signbit(tile) & (tile == 0))


@pytest.mark.interpreted
def test_exp2_is_monotone_across_the_seams():
    y = np.sort(-np.abs(np.add.outer(np.arange(1, 6) / 2, np.arange(-40, 41) * 1e-3)).ravel())
    values = np.array([profiles.exp2(v) for v in y])
    assert np.all(np.diff(values[np.append(True, np.diff(y) > 1e-9)]) > 0)


@pytest.mark.interpreted
def test_power_is_the_power():
    for n in (1, 2, 3, 7, 100):
        assert profiles.power(1.01, n) == pytest.approx(1.01**n, rel=1e-13)
        assert profiles.power(-0.5, n) == (-0.5) ** n


@pytest.mark.interpreted
def test_exp2_of_a_single_keeps_the_digits_of_singles():
    y = -np.linspace(0, 120, 301, dtype=np.float32)
    ours = np.array([profiles.exp2_of_single(v) for v in y], dtype=np.float64)
    exact = np.exp2(y.astype(np.float64))
    assert np.max(np.abs(ours - exact) / exact) < 1e-6
