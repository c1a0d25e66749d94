"""Balls hold the exact value: against fifty digits of mpmath."""

import mpmath
import numpy as np
import pytest

from kernelbook.verifier.balls import Ball, exp, log, sin_squared, sqrt

RNG = np.random.default_rng(0)
COUNT = 200
A, B = RNG.normal(size=(2, COUNT)) * 10.0 ** RNG.uniform(-8, 2, size=(2, COUNT))
SMALL = 1e-17 * RNG.normal(size=COUNT)


def exact(*parts):
    return [sum(map(mpmath.mpf, map(float, numbers))) for numbers in zip(*parts, strict=True)]


def assert_holds(ball, values, width):
    """The values are within the balls, and these no wider than `width` of the value."""
    for h, l, e, value in zip(ball.h, ball.l, ball.e, values, strict=True):
        distance = abs(mpmath.mpf(float(h)) + mpmath.mpf(float(l)) - value)
        assert distance <= e <= width * abs(value) + 1e-290


X = Ball(A) + SMALL
CASES = {
    "sum": (lambda: X + B, lambda a, b: a + b, 1e-20),
    "difference": (lambda: X - B, lambda a, b: a - b, 1e-20),
    "product": (lambda: X * B, lambda a, b: a * b, 1e-29),
    "quotient": (lambda: X / B, lambda a, b: a / b, 1e-29),
    "sqrt": (lambda: sqrt(X * X), lambda a, b: abs(a), 1e-29),
    "exp": (lambda: exp(X * 0.1), lambda a, b: mpmath.exp(a * mpmath.mpf(0.1)), 1e-25),
    "log": (lambda: log(X * X + 0.5), lambda a, b: mpmath.log(a * a + 0.5), 1e-24),
    "sin_squared": (lambda: sin_squared(X), lambda a, b: mpmath.sin(mpmath.pi * a) ** 2, 1e-16),
}


@pytest.mark.parametrize("name", CASES)
def test_the_exact_value_is_inside(name):
    ball, value, width = CASES[name]
    with mpmath.workdps(60):
        values = [value(a, b) for a, b in zip(exact(A, SMALL), exact(B), strict=True)]
        assert_holds(ball(), values, width)


def test_what_comes_in_with_an_error_goes_out_with_it():
    wide = Ball(A, 0.0, 1e-6)
    with mpmath.workdps(60):
        for moved in (A + 1e-6 * (1 - 1e-9), A - 1e-6 * (1 - 1e-9)):
            a, b = exact(moved), exact(B)
            assert_holds(wide * B, [x * y for x, y in zip(a, b, strict=True)], np.inf)
            assert_holds(exp(wide), [mpmath.exp(x) for x in a], np.inf)
            assert_holds(wide / Ball(B), [x / y for x, y in zip(a, b, strict=True)], np.inf)


def test_sums_and_products_of_many():
    K, c = RNG.normal(size=(7, 100)), RNG.normal(size=(100, 2)) * 1e8
    product = Ball(K) @ c
    with mpmath.workdps(60):
        for j in range(2):
            values = [mpmath.fdot(map(float, row), map(float, c[:, j])) for row in K]
            assert_holds(product[:, j], values, 1e-24)


@pytest.mark.parametrize("value", [1e308, np.nan, np.inf])
def test_outside_the_range_nothing_is_proved(value):
    with np.errstate(all="ignore"):
        product = Ball(value) * value
    assert not np.isfinite(product.size)
