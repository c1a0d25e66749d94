"""Kernels, free features and bases from their public parameters, as arrays of balls.

The formulas are those of the docstrings, written once more.  What is a function of the user's own
(a kernel, features, basis functions) is what it returns; each such thing is added to `assumed`.

Chapter: book/back/verify
"""

from typing import Any

import numpy as np

from kernelbook.verifier.balls import PI, Ball, as_ball, exp, log, sin_squared, sqrt, stacked

__all__ = ["Unknown", "basis", "expansion", "features", "kernel", "required"]

BLOCK = 2**16  # entries of a kernel matrix at a time: they stay in the cache


class Unknown(Exception):
    """Something that cannot be computed here."""


def _seen(k, *rows):
    """The columns that a kernel sees, of each array."""
    columns = getattr(k, "columns", None)
    return rows if columns is None else tuple(X[:, np.atleast_1d(columns)] for X in rows)


def kernel(k: Any, X: np.ndarray, Z: np.ndarray, assumed: set[str]) -> Ball:
    """The matrix of K(x_i, z_j)."""
    X, Z = _seen(k, X, Z)
    _check_parameters(k)
    name = type(k).__name__ if type(k).__module__.startswith("kernelbook.kernels") else ""
    if name in ("Sum", "Product"):
        left, right = kernel(k.left, X, Z, assumed), kernel(k.right, X, Z, assumed)
        return left + right if name == "Sum" else left * right
    if name == "Scaled":
        return kernel(k.kernel, X, Z, assumed) * float(k.factor)
    if name == "FunctionKernel":
        assumed.add(f"{k!r} has the values that its function returns, and is definite")
        return Ball(k.function(X, Z))
    if name == "Categorical":
        return Ball((X[:, None] == Z).all(axis=2))
    if name in ("Linear", "Polynomial"):
        products = _sum(Ball(X[:, None, j]) * Z[None, :, j] for j in range(X.shape[1]))
        return products if name == "Linear" else _power(products + float(k.offset), int(k.degree))
    if name == "Periodic":
        widths = np.broadcast_to(k.width, X.shape[1])
        angles = zip(_differences(X, Z, k.period), widths, strict=True)
        return exp(-_sum(4.0 * sin_squared(u) / (Ball(w) * w) for u, w in angles))
    if name in PROFILES:
        return PROFILES[name](k, _squares(X, Z, getattr(k, "width", 1.0)))
    raise Unknown(f"kernel {k!r} is not one that the checker knows")


LEAST = {"factor": 0.0, "offset": 0.0, "degree": 0.0, "alpha": 1e-300, "exponent": 1e-300}


def _check_parameters(k):
    """Below these values, and as a product, a kernel need not be definite."""
    for name, least in LEAST.items():
        if not float(getattr(k, name, least)) >= least:
            raise Unknown(f"{k!r} is no kernel with {name}={getattr(k, name)!r}")
    if type(k).__name__ == "Product" and required(k):
        raise Unknown(f"{k!r} is a product of conditionally positive definite kernels")


def _differences(X, Z, units):
    """(x_j − z_j)/unit_j for each column."""
    units = np.broadcast_to(np.asarray(units, dtype=float), X.shape[1])
    return ((Ball(X[:, None, j]) - Z[None, :, j]) / u for j, u in enumerate(units))


def _squares(X, Z, units=1.0):
    return _sum(u * u for u in _differences(X, Z, units))


def _sum(balls):
    total = None
    for ball in balls:
        total = ball if total is None else total + ball
    return total


def _power(x, n):
    value = Ball(np.ones(x.h.shape))
    for bit in bin(n)[2:]:
        value = value * value
        value = value * x if bit == "1" else value
    return value


def _matern(k, square):
    nu = float(k.nu)
    if nu == np.inf:
        return exp(-square * 0.5)
    if nu not in (0.5, 1.5, 2.5):
        raise Unknown(f"kernel {k!r}: Bessel functions of this order are not known here")
    s = sqrt(square * (2.0 * nu))
    return (1.0 + (s if nu > 1 else 0.0) + (s * s / 3.0 if nu > 2 else 0.0)) * exp(-s)


def _polyharmonic(k, square):
    """± r^b, or ± r^b log r; 0 at r = 0."""
    b, zero = float(k.exponent), square.h == 0
    square = Ball(np.where(zero, 1.0, square.h), np.where(zero, 0.0, square.l), square.e)
    if b % 2 == 0:
        value = _power(square, int(b) // 2) * log(square) * (0.5 * (-1.0) ** (b / 2 + 1))
    else:
        whole = b.is_integer()
        value = sqrt(square) * _power(square, int(b) // 2) if whole else exp(log(square) * (b / 2))
        value = value * (-1.0) ** np.ceil(b / 2)
    return value * np.where(zero, 0.0, 1.0)


PROFILES = {  # functions of ‖x − z‖², in units of the width
    "Gaussian": lambda k, square: exp(-square),
    "Laplacian": lambda k, square: exp(-sqrt(square)),
    "Matern": _matern,
    "RationalQuadratic": lambda k, s: exp(log(1.0 + s / float(k.alpha)) * -float(k.alpha)),
    "Polyharmonic": _polyharmonic,
    "ThinPlate": _polyharmonic,
    "Multiquadric": lambda k, square: -sqrt(1.0 + square),
}


def required(k: Any, columns: Any = None) -> list[tuple[int, Any]]:
    """(degree, columns) of the polynomials that must be free beside a kernel."""
    columns = getattr(k, "columns", None) if columns is None else columns
    parts = [getattr(k, name) for name in ("left", "right", "kernel") if hasattr(k, name)]
    if parts:
        return [pair for part in parts for pair in required(part, columns)]
    if type(k).__name__ == "Multiquadric":
        return [(0, columns)]
    if type(k).__name__ in ("Polyharmonic", "ThinPlate"):
        b = float(k.exponent)
        return [(int(b // 2) if b % 2 == 0 else int(np.ceil(b / 2)) - 1, columns)]
    return [(int(k.cpd_order) - 1, columns)] if type(k).__name__ == "FunctionKernel" else []


def expansion(
    k: Any, X: np.ndarray, Z: np.ndarray, C: Ball, assumed: set[str]
) -> tuple[Ball, np.ndarray]:
    """(Σ_j C_jp K(x_i, z_j), Σ_j |C_jp| |K(x_i, z_j)|): balls, and doubles."""
    if not len(Z):
        return Ball(np.zeros((len(X), C.h.shape[1]))), np.zeros((len(X), C.h.shape[1]))
    values, sizes, step = [], [], max(1, BLOCK // len(Z))
    for start in range(0, len(X), step):
        K = kernel(k, X[start : start + step], Z, assumed)
        values.append(K @ C)
        sizes.append(np.abs(K.h) @ np.abs(C.h))
    return stacked(*values), np.vstack(sizes)


def features(model: Any, raw: Any, X: np.ndarray, P: Any, assumed: set[str]) -> Ball:
    """The matrix P of the free features."""
    given = model.features_
    name = type(given).__name__ if type(given).__module__.startswith("kernelbook.feat") else ""
    if name == "GivenFeatures":
        return Ball(np.asarray(P, dtype=float))
    if name == "NoFeatures":
        return Ball(np.zeros((len(X), 0)))
    if name == "Constant":
        return Ball(np.ones((len(X), 1)))
    if name == "Polynomials":
        U = (Ball(X) - given.center_) / given.half_range_
        return stacked(*(_monomial(U, powers)[:, None] for powers in given.powers_), axis=1)
    assumed.add(f"the free features are what {given!r:.60} returns")
    return Ball(np.asarray(given.transform(raw), dtype=float))


def _monomial(U, powers):
    value = Ball(np.ones(len(U.h)))
    for j in np.flatnonzero(powers):
        value = value * _power(U[:, j], int(powers[j]))
    return value


def dense(rows: Any) -> np.ndarray:
    """Rows, sparse or not, as doubles."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def basis(model: Any, X: np.ndarray, assumed: set[str]) -> tuple[Ball, Ball | None]:
    """B, the functions at the rows of X, and G, their inner products (None for the identity)."""
    b: Any = model.basis_
    chosen: Any = slice(None)
    if hasattr(model, "selected_"):
        chosen = model.selected_[: model.n_basis_]
    name = type(b).__name__ if type(b).__module__.startswith("kernelbook.bases") else ""
    if name == "LinearBasis":
        return Ball(X[:, chosen]), None
    if name == "KernelBasis":
        Z = dense(b.centers_)[chosen]
        return kernel(b.kernel_, X, Z, assumed), kernel(b.kernel_, Z, Z, assumed)
    if name == "GaussianBasis":
        Z, widths = (
            np.tile(b.centers_, (b.widths_.shape[1], 1))[chosen],
            b.widths_.T.ravel()[chosen],
        )
        if b.reading == "evaluation":
            return _bumps(X, Z, widths), _overlaps(Z, widths, Z, widths)
        return _sum(_overlaps(X, w, Z, widths) for w in b.widths_[0]), _overlaps(
            Z, widths, Z, widths
        )
    assumed.add(f"the values of {b!r:.60}, and their inner products, are what it returns")
    B = b.evaluate(X)[:, chosen]
    return Ball(B), None if b.orthonormal else Ball(b.gram()[chosen][:, chosen])


def _bumps(X, Z, widths):
    """(2/πw²)^(d/4) exp(−‖x − z‖²/w²), of norm one in L₂."""
    w2, quarter = Ball(widths) * widths, X.shape[1] / 4
    height = log(2.0 / (w2 * PI))
    return exp(height * quarter - _squares(X, Z) / w2)


def _overlaps(X, s, Z, w):
    """(2sw/(s² + w²))^(d/2) exp(−‖x − z‖²/(s² + w²)), the inner products of two of them."""
    s, w = Ball(np.broadcast_to(s, len(X))[:, None]), as_ball(w)
    both = s * s + w * w
    return exp(log(s * w * 2.0 / both) * (X.shape[1] / 2) - _squares(X, Z) / both)
