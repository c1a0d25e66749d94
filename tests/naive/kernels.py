"""Kernel matrices straight from the formula, one entry at a time, in extended precision."""

import math

import numpy as np
from scipy import special

LD = np.longdouble


def matrix(function, X, Z):
    """K_ij = function(x_i, z_j)."""
    X, Z = np.asarray(X, dtype=LD), np.asarray(Z, dtype=LD)
    K = np.empty((len(X), len(Z)), dtype=LD)
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K[i, j] = function(x, z)
    return K


def distance(x, z):
    """‖x − z‖."""
    total = LD(0)
    for a, b in zip(x, z, strict=True):
        total += (a - b) ** 2
    return np.sqrt(total)


def inner(x, z):
    """x·z."""
    total = LD(0)
    for a, b in zip(x, z, strict=True):
        total += a * b
    return total


def are_whole(A, most):
    """Whether all of A is whole numbers, and no ‖a_i‖² is above `most`, in Python's integers."""
    for row in A:
        if not all(math.isfinite(a) and float(a).is_integer() for a in row):
            return False
        if sum(int(a) ** 2 for a in row) > most:
            return False
    return True


def squares_of_whole(X, Z):
    """‖x_i − z_j‖² of whole numbers, in Python's integers."""
    return [[sum((int(a) - int(b)) ** 2 for a, b in zip(x, z, strict=True)) for z in Z] for x in X]


def whole_to_squares(product, a2, b2):
    """‖a_i‖² + ‖b_j‖² − 2a_i·b_j, in Python's integers."""
    return [
        [int(s) + int(t) - 2 * int(p) for p, t in zip(line, b2, strict=True)]
        for line, s in zip(product, a2, strict=True)
    ]


def gaussian(width):
    return lambda x, z: np.exp(-((distance(x, z) / LD(width)) ** 2))


def laplacian(width):
    return lambda x, z: np.exp(-distance(x, z) / LD(width))


def matern(width, nu):
    """The general formula with Bessel's function, in double precision; K(x, x) = 1."""

    def k(x, z):
        s = float(distance(x, z)) / width * math.sqrt(2 * nu)
        return 2 ** (1 - nu) / math.gamma(nu) * s**nu * special.kv(nu, s) if s > 0 else 1.0

    return k


def linear():
    return inner


def polynomial(degree, offset):
    return lambda x, z: (LD(offset) + inner(x, z)) ** degree


def polyharmonic(exponent):
    """(−1)^⌈b/2⌉ r^b, and (−1)^(b/2+1) r^b log r for even b."""

    def k(x, z):
        r = distance(x, z)
        if exponent % 2 != 0:
            return LD(-1) ** math.ceil(exponent / 2) * r ** LD(exponent)
        return LD(-1) ** (exponent // 2 + 1) * r**exponent * np.log(r) if r > 0 else LD(0)

    return k


def multiquadric(width):
    return lambda x, z: -np.sqrt(1 + (distance(x, z) / LD(width)) ** 2)


def monomials(X, degree):
    """All monomials of degree ≤ `degree` in the columns of X, as columns."""
    m, d = X.shape
    powers = [p for p in np.ndindex(*[degree + 1] * d) if sum(p) <= degree]
    P = np.empty((m, len(powers)))
    for j, p in enumerate(powers):
        for i in range(m):
            P[i, j] = math.prod(X[i, k] ** p[k] for k in range(d))
    return P


def rational_quadratic(width, alpha):
    return lambda x, z: (1 + (distance(x, z) / LD(width)) ** 2 / LD(alpha)) ** LD(-alpha)


def periodic(period, width):
    def k(x, z):
        sines = np.sin(LD(np.pi) * (x - z) / LD(period))
        return np.exp(-4 * inner(sines, sines) / LD(width) ** 2)

    return k
