"""Numbers with twice the digits, each with a bound on its error.

A `Ball` is h + l ± e: two doubles whose sum is the number, and a third that bounds the distance
from the exact value; every operation adds its own error to those of its arguments.  What is relied
on: IEEE 754 doubles, rounded to nearest, for + − × ÷ and √, and no function of a mathematical
library: exp, log and sin are summed here.  (`numpy.longdouble` has 64 bits on one machine, 53 or
113 on another.)  Where numbers overflow, e is infinite or NaN, and proves nothing; where a product
underflows, `TINY` is added to e.  A quotient gets no such addition: its bound must not underflow.

The sum of two doubles and their product are h + l *exactly* (Knuth; Dekker).  Of two such pairs the
sum has a relative error below 2⁻¹⁰⁴, the product one below 2⁻¹⁰³ (Joldes, Muller and Popescu);
2⁻¹⁰⁰ is charged for both.  The bounds themselves are computed in doubles, from terms that are not
negative, and a factor 1 + 2⁻⁴⁰ is more than their rounding.

Chapter: book/back/verify

References
----------
Joldes, Muller & Popescu, *Tight and rigorous error bounds for basic building blocks of double-word
arithmetic*, ACM TOMS 44 (2017).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["PI", "Ball", "as_ball", "exp", "log", "sin_squared", "sqrt"]

UNIT, UP, TINY = 2.0**-100, 1 + 2.0**-40, 1e-300


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b = s + t exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """a·b = p + q exactly, if nothing over- or underflows."""
    p, a1, b1 = a * b, 134217729.0 * a, 134217729.0 * b
    a1, b1 = a1 - (a1 - a), b1 - (b1 - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def as_ball(value: Any) -> "Ball":
    return value if isinstance(value, Ball) else Ball(value)


class Ball:
    """An array of numbers h + l ± e."""

    __array_ufunc__ = None  # a NumPy array beside a ball leaves the operation to it

    def __init__(self, h: Any, l: Any = 0.0, e: Any = 0.0) -> None:
        self.h = np.asarray(h, dtype=np.float64)
        self.l, self.e = np.broadcast_to(l, self.h.shape), np.broadcast_to(e, self.h.shape)

    def __add__(self, other):
        other = as_ball(other)
        s, t = two_sum(self.h, other.h)
        u, v = two_sum(self.l, other.l)
        s, t = two_sum(s, t + u)
        s, t = two_sum(s, t + v)
        return Ball(s, t, (self.e + other.e + UNIT * np.abs(s)) * UP)

    def __mul__(self, other):
        other = as_ball(other)
        p, q = two_product(self.h, other.h)
        s, t = two_sum(p, q + (self.h * other.l + self.l * other.h))
        spread = np.abs(self.h) * other.e + (np.abs(other.h) + other.e) * self.e
        return Ball(s, t, (spread + UNIT * np.abs(s) + TINY) * UP)

    def __truediv__(self, other):
        other = as_ball(other)
        h = self.h / other.h
        h, l = two_sum(h, (self - other * h).h / other.h)
        left = (self - other * Ball(h, l)).size  # (a − qb)/b is what is missing
        return Ball(h, l, left / np.maximum(np.abs(other.h) / UP - other.e, 0.0) * UP + TINY)

    def __rtruediv__(self, other):
        return as_ball(other) / self

    def __neg__(self):
        return Ball(-self.h, -self.l, self.e)

    def __sub__(self, other):
        return self + -as_ball(other)

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __getitem__(self, key):
        return Ball(self.h[key], self.l[key], self.e[key])

    @property
    def T(self) -> "Ball":
        return Ball(self.h.T, self.l.T, self.e.T)

    @property
    def size(self) -> np.ndarray:
        """An upper bound on the absolute value."""
        return (np.abs(self.h) + np.abs(self.l) + self.e) * UP

    @property
    def high(self) -> np.ndarray:
        """A double that is not below the number; `-(-x).high` is one that is not above."""
        value = self.h + (self.l + self.e * UP)
        return value + 2.0**-50 * np.abs(value) + TINY

    def total(self, axis: int = 0) -> "Ball":
        """The sum along an axis, folded in halves."""
        parts = Ball(*(np.moveaxis(v, axis, 0) for v in (self.h, self.l, self.e)))
        if not len(parts.h):
            return Ball(np.zeros(parts.h.shape[1:]))
        while (n := len(parts.h)) > 1:
            folded = parts[: n // 2] + parts[n // 2 : 2 * (n // 2)]
            parts = folded if n % 2 == 0 else stacked(folded, parts[-1:])
        return parts[0]

    def __matmul__(self, other):
        """(n, m) times (m,) or (m, k), a column at a time."""
        other = as_ball(other)
        if other.h.ndim == 1:
            return (self * other).total(1)
        columns = [self @ other[:, j] for j in range(other.h.shape[1])]
        return stacked(*(c[:, None] for c in columns), axis=1) if columns else self[:, :0]


def stacked(*balls: Ball, axis: int = 0) -> Ball:
    return Ball(*(np.concatenate([getattr(b, v) for b in balls], axis) for v in "hle"))


def sqrt(x: Ball) -> Ball:
    """√x for x ≥ 0; a Newton step from the double, and what its square misses."""
    s = np.sqrt(x.h)
    ok = s > 0
    half = np.where(ok, s, 1.0)
    h, l = two_sum(half, (x - Ball(half) * half).h / (2.0 * half))
    left = (x - Ball(h, l) * Ball(h, l)).size / half
    return Ball(np.where(ok, h, 0), np.where(ok, l, 0), np.where(ok, left, np.sqrt(x.size)) * UP)


LN2 = Ball(0.6931471805599453, 2.3190468138462996e-17, 1e-33)
PI = Ball(3.141592653589793, 1.2246467991473532e-16, 1e-32)


def series(x: Ball, coefficients: Sequence[Ball]) -> Ball:
    """Σ coefficients_k x^k by Horner."""
    value = Ball(np.zeros(x.h.shape))
    for c in reversed(coefficients):
        value = value * x + c
    return value


INVERSE = [Ball(1.0)]  # 1/k!
for k in range(1, 28):
    INVERSE.append(INVERSE[-1] / float(k))


def exp(x: Ball) -> Ball:
    """2ⁿ(e^(r/64))⁶⁴ with x = n ln 2 + r; for e ≤ ½ the Taylor series misses less than 10⁻³⁴."""
    x = Ball(np.maximum(x.h, -760.0), np.where(x.h < -760.0, 0.0, x.l), x.e)  # 0 ± 10⁻³⁰⁰ below
    n = np.rint(x.h / LN2.h)
    r = x - LN2 * n
    r = Ball(r.h / 64, r.l / 64, r.e / 64)
    power = series(r, INVERSE[:13])
    power = Ball(power.h, power.l, power.e + 1e-34 + np.where(r.size < 0.0133, 0.0, np.inf))
    for _ in range(6):
        power = power * power
    n = n.astype(int)
    return Ball(np.ldexp(power.h, n), np.ldexp(power.l, n), np.ldexp(power.e, n) + TINY)


def log(x: Ball) -> Ball:
    """log x for x > 0: any first guess y, corrected by log(xe⁻ʸ) = t − t²/2 ± |t|³."""
    y = np.log(x.h)
    t = x * exp(Ball(-y)) - 1.0
    value = t - t * t * 0.5 + y
    cube = t.size**3 + np.where(t.size < 0.1, 0.0, np.inf)
    return Ball(value.h, value.l, (value.e + cube) * UP)


def sin_squared(x: Ball) -> Ball:
    """sin²(πx), from the Taylor series of sin(πv/2) with v = (x − nearest integer), |v| ≤ ½."""
    v = x - np.rint(x.h)
    u = PI * v * 0.5
    s = series(u * u, [INVERSE[2 * k + 1] * (-1.0) ** k for k in range(14)]) * u
    s = Ball(s.h, s.l, s.e + 1e-33)
    s = s * s  # sin²(2a) = 4 sin²a (1 − sin²a)
    return 4.0 * s * (1.0 - s)
