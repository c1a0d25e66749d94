"""What a fit says: f at the samples, its norm, and a feasible point of the dual.

Chapter: book/back/verify
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from kernelbook.verifier.balls import Ball, stacked
from kernelbook.verifier.models import Unknown, basis, dense, expansion, kernel, required

__all__ = ["EPS", "Fit", "Untrue", "over_basis", "over_samples"]

EPS, DEPENDENT, MAX_PRODUCTS = 2.0**-52, 1e-10, 1e8
CONDITIONAL = 1e-8  # of Pᵀc, beside a conditionally positive definite kernel


class Untrue(Exception):
    """A statement of a fit that is not true."""


@dataclass
class Fit:
    """Of one problem: the kernel part h of f at all samples and Σ|…| of its terms, ‖h‖² and what
    rounding may do to it, β with Pᵀβ = 0 (at all samples), and ‖h − Σ β_i K(x_i, ·)‖².
    """

    h: Ball
    size: np.ndarray
    square: Ball
    square_rounding: float
    beta: Ball
    apart: Ball


def feasible(c: np.ndarray, upper: np.ndarray, P: Ball, assumed: set[str]) -> Ball:
    """A ball around c that holds a β with Pᵀβ = 0 exactly, of the signs of c and |β_i| ≤ upper_i.

    Each |c_i| is moved in proportion to how far it is from 0 and `upper`; where coefficients at
    `upper` are needed for Pᵀβ = 0, all of them are scaled down to make room.
    """
    used = np.flatnonzero(c)
    if not used.size or not P.h.shape[1]:
        return Ball(c)
    c_used, P = c[used], P[used]
    size = np.abs(c_used)
    within = np.minimum(size, upper[used] - size)
    moved, relative, rank = _moved(c_used, size, P)
    if rank < P.h.shape[1]:
        assumed.add(f"free features that depend on others to {DEPENDENT:g} at these samples do so")
    freely = _moved(c_used, np.where(within > 1e-9 * size, within, 0.0), P)
    if freely[2] == rank and freely[1] < 0.5:
        moved = freely[0]
    elif relative < 0.5:
        moved = moved * (1.0 - relative)
    else:
        raise Unknown("there is no point with Pᵀβ = 0 near dual_coef_")
    above = np.max((np.abs(moved.h) + np.abs(moved.l) + moved.e) / upper[used], initial=0.0)
    if 1.0 < above < 1.0 + 1e-12:  # by rounding
        moved = moved * ((1.0 - 4 * EPS) / above)
    h, l, e = (np.zeros(c.size) for _ in range(3))
    h[used], l[used], e[used] = moved.h, moved.l, moved.e
    return Ball(h, l, e)


def _moved(c, room, P):
    """c + room·u with Pᵀ(c + room·u) = 0 somewhere in the ball, the largest |u_i|, and the rank.

    What is left of Pᵀc is a combination of the rows of P where c ≠ 0: if `room` has their rank, it
    is one of the rows with room, and u exists.
    """
    A = P.h * room[:, None]
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = np.inf
    U, values, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = values > DEPENDENT * max(values[0], 1e-300)
    left = (P * c[:, None]).total()
    u = -U[:, kept] @ ((Vt[kept] @ (left.h / size)) / values[kept])
    moved = Ball(c) + Ball(room) * u
    along = np.abs(Vt[kept]) @ ((P * moved[:, None]).total().size / size)
    missing = np.linalg.norm(along / values[kept]) * (1 + 1e-5)
    largest = float(np.abs(u).max(initial=0.0) + missing)
    return Ball(moved.h, moved.l, moved.e + room * missing), largest, int(kept.sum())


def _feasible(c, upper, P, rows, claim, assumed, most=np.inf):
    """The same for the samples of one problem, after Pᵀc ≈ 0 has been compared with the claim."""
    if np.delete(c, rows).any():
        raise Untrue("samples that have no part in a problem have coefficients in it")
    products = P[rows] * c[rows][:, None]
    total = np.abs(products.h).sum(axis=0)
    total = np.maximum(total, 1e-8 * np.abs(P.h[rows]).max(axis=0, initial=0) * np.abs(c).sum())
    left = np.max(np.where(total > 0, products.total().size / total, 0.0), initial=0.0)
    if left > 4 * claim.constraint + len(rows) * EPS + 1e-13:
        raise Untrue(f"Pᵀc is {left:.1e} and not 0; the certificate says {claim.constraint:.1e}")
    if left > most:
        raise Unknown(f"Pᵀc is {left:.1e} and not 0, and only with 0 f has a norm")
    beta = feasible(c[rows], upper, P[rows], assumed)
    h, l, e = (np.zeros(c.size) for _ in range(3))
    h[rows], l[rows], e[rows] = beta.h, beta.l, beta.e
    return Ball(h, l, e)


def _check_polynomials(k, X, P):
    """A conditionally positive definite kernel is none without its polynomials."""
    for degree, columns in required(k):
        V = X if columns is None else X[:, np.atleast_1d(columns)]
        V = (V - V.mean(axis=0)) / (np.abs(V - V.mean(axis=0)).max(axis=0) + 1e-300)
        for d in range(degree + 1):
            for chosen in combinations_with_replacement(range(V.shape[1]), d):
                g = V[:, list(chosen)].prod(axis=1)
                scaled = P.h / np.maximum(np.abs(P.h).max(axis=0, initial=0), 1e-300)
                left = g - scaled @ np.linalg.lstsq(scaled, g, rcond=None)[0]
                if np.abs(left).max() > 1e-8:
                    raise Unknown(f"{k!r} needs polynomials that are not among the free features")


def over_samples(
    model: Any,
    X: np.ndarray,
    boxes: Sequence,
    claims: Sequence,
    c: np.ndarray,
    P: Ball,
    assumed: set[str],
) -> Iterator[Fit]:
    """Of a learner f = Σ c_i K(x_i, ·) + …; c has a row for each problem."""
    pairwise, origin = isinstance(model.kernel, str), getattr(model, "origin_", None)
    if not pairwise:
        _check_polynomials(model.kernel_, X, P)
    conditional = not pairwise and bool(required(model.kernel_))
    betas = [
        _feasible(row, upper, P, rows, claim, assumed, CONDITIONAL if conditional else np.inf)
        for row, (rows, upper), claim in zip(c, boxes, claims, strict=True)
    ]
    used = np.flatnonzero(c.any(axis=0))
    # f as it is published; only Pᵀc = 0 gives it a norm where the kernel is conditional.
    published = betas if conditional else [Ball(row) for row in c]
    C = stacked(*(part[used][:, None] for part in [*published, *betas]), axis=1)
    if pairwise:
        assumed.add("the matrix X is positive semidefinite where Pᵀc = 0")
        G = Ball(X[:, used])
        H, sizes = G @ C, np.abs(X[:, used]) @ np.abs(C.h)
    else:
        Z = X[used] if origin is None else X[used] - origin
        H, sizes = expansion(model.kernel_, X, Z, C, assumed)
    for p, beta in enumerate(betas):
        h, g, b, a = H[:, p], H[:, p + len(betas)], beta[used], published[p][used]
        moved = a - b
        square, apart = (a * h[used]).total(), (moved * (h - g)[used]).total()
        if origin is not None:  # the centres are not the samples, but these moved, and rounded
            square = (a * (kernel(model.kernel_, Z, Z, assumed) @ a)).total()
            both, signed = np.vstack([Z, X[used]]), stacked(a, -b)
            apart = (signed * (kernel(model.kernel_, both, both, assumed) @ signed)).total()
        rounding = (len(used) + X.shape[1] + 64) * EPS * float(np.abs(b.h) @ sizes[used, p])
        yield Fit(h, sizes[:, p], square, rounding, beta, apart)


def over_basis(
    model: Any,
    X: np.ndarray,
    boxes: Sequence,
    claims: Sequence,
    P: Ball,
    beta_of: Callable[[int, Ball], np.ndarray],
    assumed: set[str],
) -> Iterator[Fit]:
    """Of a learner f = Σ a_j f_j + … in the span of some functions f_j.

    `beta_of(p, h)` gives the coefficients of a dual point for problem p.
    """
    nystrom = not hasattr(model, "basis_coef_")
    if nystrom:
        if required(model.kernel_):
            raise Unknown("centres of a conditionally positive definite kernel")
        Z = np.asarray(model.centers_, dtype=float)
        B: Ball = kernel(model.kernel_, X, Z, assumed)
        G: Ball | None = kernel(model.kernel_, Z, Z, assumed)
        A, T = np.atleast_2d(model.dual_coef_), _inverse_root(G)
    else:
        B, G = basis(model, X, assumed)
        A, T = np.atleast_2d(model.expansion_), model.orthonormal_.T
        if T is not None and G is not None and T.shape[1] < T.shape[0]:
            some = f"{T.shape[1]} of them"
            assumed.add(f"the {T.shape[0]} basis functions span no more than {some} do")
    if A.shape[1] != B.h.shape[1]:
        raise Untrue(f"there are {A.shape[1]} coefficients for {B.h.shape[1]} basis functions")
    at_samples = not nystrom and _at_samples(model, X)
    defect = np.nan if at_samples or G is None else _defect(T, G)
    for p, ((rows, upper), claim) in enumerate(zip(boxes, claims, strict=True)):
        a = Ball(A[p])
        h, Ga = B @ a, a if G is None else G @ a
        if nystrom:
            beta = feasible(beta_of(p, h)[rows], upper, P[rows], assumed)
        else:
            beta = _feasible(beta_of(p, h), upper, P, rows, claim, assumed)
        if G is None:
            rest = a - B.T @ beta
            apart = (rest * rest).total()
        elif at_samples:
            rest = a - beta
            apart = (rest * (G @ rest)).total()
        else:
            apart = _from_projection(a, B.T @ beta, T, G, defect)
        large = np.abs(A[p]) if nystrom or T is None else np.abs(T) @ np.abs(model.basis_coef_[p])
        size = np.abs(B.h) @ large
        rounding = (3 * len(large) + X.shape[1] + 64) * EPS
        rounding *= float(large @ large if G is None else large @ (np.abs(G.h) @ large))
        if not nystrom:
            _same_function(A[p], model.basis_coef_[p], T, G, rounding)
        yield Fit(h, size, (a * Ga).total(), rounding, beta, apart)


def _from_projection(a, v, T, G, defect):
    """A ball around 0 that holds ‖Σ a_j f_j − g‖² for the g in the span of FT with ⟨f_j, g⟩ = v_j.

    g = FTx with TᵀGTx = Tᵀv.  As TᵀGT ≈ I, steps x + Tᵀ(v − GTx) lead to x; what is left of the
    equation, r, leaves an error of at most ‖r‖/√(1 − defect).
    """
    T, x = Ball(T), Ball(np.zeros(T.shape[1]))
    for _ in range(30):
        rest = T.T @ (v - G @ (T @ x))
        if np.linalg.norm(rest.h) <= 1e-25 * np.linalg.norm(x.h):
            break
        x = Ball((x + rest).h, (x + rest).l)  # any x will do: the bound is from what it leaves
    missing = a - T @ x
    near = np.sqrt(max(float((missing * (G @ missing)).total().high), 0.0))
    far = float(np.linalg.norm(rest.size)) / np.sqrt(1 - defect)
    return Ball(0.0, 0.0, (near + far) ** 2 * (1 + 1e-12))


def _same_function(a, w, T, G, rounding):
    """Whether w, the coefficients of the orthonormal functions, are those of the same f."""
    rest = Ball(a) - (w if T is None else Ball(T) @ w)
    square = (rest * (rest if G is None else G @ rest)).total()
    if not float(-(-square).high) <= 1e-12 * float(w @ w) + 4 * rounding:
        raise Untrue("basis_coef_ and expansion_ are two different functions")


def _at_samples(model, X):
    """Whether the basis is all translates of a kernel at the samples."""
    Z = getattr(model.basis_, "centers_", None)
    whole = type(model.basis_).__name__ == "KernelBasis" and not hasattr(model, "selected_")
    return whole and Z.shape == X.shape and np.array_equal(dense(Z), X)


def _defect(T, G):
    """A bound on ‖TᵀGT − I‖, below one."""
    if T.shape[0] * T.shape[1] * (T.shape[0] + T.shape[1]) > MAX_PRODUCTS:
        raise Unknown(f"{T.shape[0]} basis functions are too many for the checker")
    E = Ball(T).T @ (G @ Ball(T)) - np.eye(T.shape[1])
    defect = float(np.linalg.norm(E.size)) * (1 + 1e-12)
    if not defect < 0.5:
        raise Unknown(f"the orthonormal functions are so only to {defect:.1e}")
    return defect


def _inverse_root(G):
    """T with TᵀGT ≈ I, of as many functions as are independent; `_defect` says how nearly."""
    try:
        return np.linalg.inv(np.linalg.cholesky(G.h)).T
    except np.linalg.LinAlgError:
        raise Unknown("the centres depend on each other to rounding") from None
