"""The functions of one number that radial kernels are made of, applied to tiles in place.

Nearly all the time of a Gaussian Gram matrix goes into the exponential, and the one of the C
library takes one number at a time.  Ours is written so that the compiler takes four or eight:

    2^y = 2^n · 2^f,   n = y rounded,   f = y − n in [−½, ½],

where 2^f is its Taylor polynomial of degree 13 (remainder 4e-18), split into even and odd powers so
that two chains run side by side, and 2^n is made from its bits: adding 2⁵²+2⁵¹ to an integer
puts that integer into the last bits of the sum, and shifting those by 52 places moves them into
the exponent.  The error is about one unit in the last place; 2^0 is exactly 1, and what would be
below the smallest normal number, 2e-308, is exactly 0.
"""

from math import factorial, log

import numpy as np

from kernelbook.numeric.jit import jit

LOG2_E = 1.0 / log(2.0)
_C = [log(2.0) ** k / factorial(k) for k in range(14)]
C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = _C


LOWEST = -1022.0  # 2^-1022 is the smallest normal number
TO_BITS = 2.0**52 + 2.0**51 + 1023.0  # 1023 is the exponent's bias


@jit(fast=True)
def exp2(y: float) -> float:
    """2^y for y ≤ 0."""
    z = LOWEST if y < LOWEST else y  # a NaN stays one
    n = np.rint(z)
    f = z - n
    g = f * f
    even = C0 + g * (C2 + g * (C4 + g * (C6 + g * (C8 + g * (C10 + g * C12)))))
    odd = C1 + g * (C3 + g * (C5 + g * (C7 + g * (C9 + g * (C11 + g * C13)))))
    bits = np.float64(n + TO_BITS).view(np.int64) << np.int64(52)
    value = (even + f * odd) * np.int64(bits).view(np.float64)
    return 0.0 if y < LOWEST else value


LOWEST_SINGLE = -126.0
_S = [np.float32(c) for c in _C]
S1, S2, S3, S4, S5, S6, S7 = _S[1:8]


@jit(fast=True)
def exp2_single(t: np.ndarray, out: np.ndarray) -> None:
    """out = 2^t in single precision, for t ≤ 0; 0 where that is no normal number.

    The fraction is formed in double precision, so that a large |t| costs no digits; the polynomial,
    of degree 7, in single.
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    for i in range(t.shape[0]):
        row, to = t[i], out[i]
        for j in range(row.shape[0]):
            y = row[j]
            z = LOWEST_SINGLE if y < LOWEST_SINGLE else y
            n = np.rint(z)
            f = np.float32(z - n)
            tail = f * (S1 + f * (S2 + f * (S3 + f * (S4 + f * (S5 + f * (S6 + f * S7))))))
            bits = (np.int32(n) + np.int32(127)) << np.int32(23)
            value = (one + tail) * np.int32(bits).view(np.float32)
            to[j] = zero if y < LOWEST_SINGLE else value


LOWEST_OF_SINGLE = np.float32(LOWEST_SINGLE)


@jit(fast=True)
def exp2_of_single(y: np.float32) -> np.float32:
    """2^y for a y ≤ 0 in single precision, whose fraction has lost digits if |y| is large."""
    z = LOWEST_OF_SINGLE if y < LOWEST_OF_SINGLE else y
    n = np.rint(z)
    f = z - n
    tail = f * (S1 + f * (S2 + f * (S3 + f * (S4 + f * (S5 + f * (S6 + f * S7))))))
    bits = (np.int32(n) + np.int32(127)) << np.int32(23)
    value = (np.float32(1.0) + tail) * np.int32(bits).view(np.float32)
    return np.float32(0.0) if y < LOWEST_OF_SINGLE else value


@jit(fast=True)
def exp2_of_singles(t: np.ndarray) -> None:
    """2^t in place, in single precision."""
    for i in range(t.shape[0]):
        row = t[i]
        for j in range(row.shape[0]):
            row[j] = exp2_of_single(row[j])


@jit(fast=True)
def exponential(t: np.ndarray, rate: float) -> None:
    """exp(−rate·t)."""
    factor = -LOG2_E * rate
    for i in range(t.shape[0]):
        row = t[i]
        for j in range(row.shape[0]):
            row[j] = exp2(factor * row[j])


@jit(fast=True)
def gaussian(r: np.ndarray, width: float) -> None:
    """exp(−(r/width)²), for widths whose squares are no floating-point numbers."""
    for i in range(r.shape[0]):
        row = r[i]
        for j in range(row.shape[0]):
            t = row[j] / width
            row[j] = exp2(-LOG2_E * t * t)


@jit(fast=True)
def matern(r: np.ndarray, rate: float, linear: float, quadratic: float) -> None:
    """(1 + linear·s + quadratic·s²) exp(−s) at s = rate·r."""
    for i in range(r.shape[0]):
        row = r[i]
        for j in range(row.shape[0]):
            s = rate * row[j]
            value = (1.0 + s * (linear + quadratic * s)) * exp2(-LOG2_E * s)
            row[j] = 0.0 if s > 1000.0 else value  # not inf · 0


@jit(fast=True)
def multiquadric(r: np.ndarray, width: float) -> None:
    """−√(1 + (r/width)²)."""
    for i in range(r.shape[0]):
        row = r[i]
        for j in range(row.shape[0]):
            t = row[j] / width
            row[j] = -np.sqrt(1.0 + t * t) if t < 1e100 else -t


@jit(fast=True)
def power(x: float, n: int) -> float:
    """x^n for an integer n ≥ 1, by squaring."""
    result = 1.0
    while n > 0:
        if n % 2 == 1:
            result *= x
        x *= x
        n //= 2
    return result


@jit(fast=True)
def polyharmonic(r: np.ndarray, exponent: int, sign: float, with_log: bool) -> None:
    """sign · r^exponent, times log r if `with_log`, for an integer exponent."""
    for i in range(r.shape[0]):
        row = r[i]
        for j in range(row.shape[0]):
            value = sign * power(row[j], exponent)
            if with_log:
                value *= np.log(row[j])
            row[j] = 0.0 if row[j] == 0.0 else value  # not 0 · (−inf), and not −0


@jit(fast=True)
def shifted_power(t: np.ndarray, offset: float, degree: int) -> None:
    """(offset + t)^degree."""
    for i in range(t.shape[0]):
        row = t[i]
        for j in range(row.shape[0]):
            row[j] = power(offset + row[j], degree)
