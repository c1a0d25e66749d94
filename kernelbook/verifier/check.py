"""`verify`: the objective and the duality gap of a fit, computed anew, beside what it claims.

With L_i the loss of sample i, L*_i its conjugate, and any β with Pᵀβ = 0, Fenchel and Young give

    p(f) − d(β) = ½‖f − Σ β_i K(x_i, ·)‖² + Σ [L_i(f_i) + L*_i(−β_i) + β_i f_i],

a sum in which no term is negative.  `verify` moves the coefficients that it finds to such a β,
evaluates f, adds up in balls, and compares.  Over a basis whose span is not the whole space Σ β_i
K(x_i, ·) is replaced by its projection.

Chapter: book/back/verify
"""

from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kernelbook.verifier.balls import Ball
from kernelbook.verifier.fits import EPS, Untrue, over_basis, over_samples
from kernelbook.verifier.models import Unknown, features
from kernelbook.verifier.reading import read, record
from kernelbook.verifier.stated import check_parameters

__all__ = ["Verdict", "fingerprint", "verify"]


@dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    Attributes
    ----------
    status : {"proved", "not proved", "refuted"}
    gap, relative_gap : float
        The objective is above its minimum by no more than this; infinite where nothing is known.
    primal : float
        The objective.
    reasons : tuple of str
        Why it is refuted, or not proved.
    assumed : tuple of str
        What the proof takes on trust: the values of a function of yours, for instance.

    Examples
    --------
    >>> from kernelbook import GRLSRegressor, verify
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> verdict = verify(GRLSRegressor(reg=0.1).fit(X, y), X, y)
    >>> verdict.status, verdict.relative_gap < 1e-25, verdict.assumed
    ('proved', True, ())
    """

    status: str
    gap: float = np.inf
    relative_gap: float = np.inf
    primal: float = np.nan
    reasons: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    def __str__(self) -> str:
        bound = f" optimal within {self.gap:.1e} ({self.relative_gap:.1e} of the objective)"
        head = self.status + (bound if self.status == "proved" else "")
        why = [f"  because {reason}" for reason in self.reasons]
        return "\n".join([head, *why, *(f"  given that {what}" for what in self.assumed)])


def fingerprint(X: Any, y: Any, sample_weight: Any = None) -> str:
    """A digest of a training sample, whatever the types of its arrays."""
    if hasattr(X, "tocsr"):
        X = X.tocsr().sorted_indices()
        arrays = [X.data, X.indices, X.indptr]
    else:
        arrays = [X]
    y = np.asarray(y)
    arrays += [np.ones(len(y)) if sample_weight is None else sample_weight, y.ravel()]
    digest = sha256()
    for array in map(np.asarray, arrays):
        numbers = array.dtype.kind in "biuf"
        array = array.astype(np.float64) + 0.0 if numbers else array.astype("U")
        text = b"" if numbers else "\0".join(array.ravel()).encode()
        digest.update(f"{array.shape}{array.dtype.kind}".encode() + text)
        if numbers:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def verify(
    model: Any, X: Any, y: Any, sample_weight: Any = None, P: Any = None, tol: float = 1e-3
) -> Verdict:
    """Whether a fitted learner is optimal, and what its parameters and certificate say true.

    Judged are f and its objective.  Statistics of the fit, such as `rank_`, `scale_` and
    `loo_errors_`, are not.

    The checker imports NumPy and none of the solvers; the book's chapter on it says why one may
    believe what it proves.

    Parameters
    ----------
    model : fitted learner, or the name of a file that `model.save` has written
        Of a file nothing but numbers and words is read: no class of a learner is loaded.
    X, y, sample_weight, P
        What it was fitted to.
    tol : float
        The gap, relative to the objective, up to which it counts as optimal.

    Returns
    -------
    Verdict
        "proved" optimal within a gap; "refuted" where a statement of the fit is false; or "not
        proved".

    Examples
    --------
    >>> from kernelbook import Gaussian, SVMGBClassifier, verify
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0]
    >>> model = SVMGBClassifier(Gaussian(1.0)).fit(X, y)
    >>> verify(model, X, y).status
    'proved'
    >>> model.dual_coef_[0, 0] *= 1.001
    >>> print(verify(model, X, y))
    refuted
      because Pᵀc is 2.5e-04 and not 0; the certificate says 0.0e+00
    """
    if isinstance(model, str | PathLike):
        if not Path(model).exists():
            raise ValueError(
                f"model={model!r} is no file: pass a fitted learner, or the name of a file that "
                "model.save has written."
            )
        model = read(model, record)
    raw, X, y, w, P = _checked(model, X, y, sample_weight, P, tol)
    assumed: set[str] = set()
    try:
        data = raw if hasattr(raw, "tocsr") else X
        known = {None, fingerprint(data, y, sample_weight), fingerprint(raw, y, sample_weight)}
        if getattr(model, "fingerprint_", None) not in known:
            raise Untrue("the data are not those of the fit: their fingerprint is another")
        check_parameters(model, X.shape[1])
        with np.errstate(all="ignore"):
            parts = _parts(model, raw, X, y, w, P, assumed)
    except (Untrue, Unknown) as why:
        status = "refuted" if isinstance(why, Untrue) else "not proved"
        return Verdict(status, reasons=(str(why),), assumed=tuple(sorted(assumed)))
    gap, primal = sum(part[0] for part in parts), sum(part[1] for part in parts)
    worst = float(np.max([gap / max(primal, unit) for gap, primal, unit in parts]))
    optimal = worst <= tol
    reasons = () if optimal else (f"the gap is {worst:.1e} of the objective, and tol={tol:g}",)
    status = "proved" if optimal else "not proved"
    return Verdict(status, gap, worst, primal, reasons, tuple(sorted(assumed)))


def _checked(model, X, y, sample_weight, P, tol):
    if not hasattr(model, "certificate_"):
        raise TypeError(f"model={model!r:.60} must be a fitted learner: call its fit first.")
    if not (isinstance(tol, float | int) and 0 < tol < np.inf):
        raise ValueError(f"tol={tol!r} must be a positive number: the largest relative gap.")
    raw, y = X, np.asarray(y)
    wanted = "labels" if hasattr(model, "classes_") else "numbers"
    if wanted == "labels" and y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim not in (1, 2) or (wanted == "numbers" and not _is_finite(y)):
        raise ValueError(f"y={y!r:.60} must be the {wanted} that fit has got, one for each row.")
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    X = _numbered(X, getattr(model, "levels_", None) or {})
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
    if given := type(getattr(model, "features_", None)).__name__ == "GivenFeatures":
        P = np.asarray(P)
    elif P is not None:
        raise ValueError("P= is taken only where fit got one: leave it out for this model.")
    for name, value in [("X", X), ("sample_weight", w), *[("P", P)] * given]:
        if not _is_finite(value) or value.ndim != 1 + (name != "sample_weight"):
            raise ValueError(
                f"{name} is an array of {value.dtype}, shape {value.shape}; it must be finite "
                f"numbers, for each of the {len(y)} entries of y: pass what fit has got."
            )
        if len(value) != len(y):
            raise ValueError(
                f"{name} has {len(value)} rows, and y {len(y)} entries: pass what fit has got."
            )
    return raw, X.astype(np.float64), y, w.astype(np.float64), P


def _is_finite(array):
    return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())


def _numbered(X, levels):
    """Text as the places of its levels, a column at a time; what no level is stays as it is."""
    if not levels or X.ndim != 2:
        return X
    X = X.copy()
    for k, known in levels.items():
        place = {level: float(i) for i, level in enumerate(known)}
        X[:, k] = [place.get(str(entry), entry) for entry in X[:, k]]
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return X


def _problems(model, y, w):
    """(rows, targets, weights) of each problem that was solved."""
    every = np.arange(len(y))
    if not hasattr(model, "classes_"):
        for column in np.reshape(y, (len(y), -1)).T.astype(np.float64):
            yield every, column, w
        return
    classes, squared = np.asarray(model.classes_), hasattr(model, "reg_")
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    if (classes[codes] != y).any():
        raise Untrue("y has labels that are not among classes_")
    k, balance = len(classes), None if squared else getattr(model, "class_weight", None)
    if balance == "balanced":
        factors = w.sum() / (k * np.bincount(codes, w, k))
    else:
        factors = np.array([1.0 if balance is None else balance.get(c, 1.0) for c in classes])
    weights = w if squared else model.C * w * factors[codes]
    if k == 2:
        yield every, np.where(codes == 1, 1.0, -1.0), weights
    elif not squared and model.multiclass == "ovo":
        for a, b in combinations(range(k), 2):
            rows = np.flatnonzero((codes == a) | (codes == b))
            yield rows, np.where(codes[rows] == b, 1.0, -1.0), weights[rows]
    else:
        for a in range(k):
            yield every, np.where(codes == a, 1.0, -1.0), weights


def _duals(model, kept, m):
    """dual_coef_ with a column for each sample that is kept; None over the centres of G-RLS."""
    dual = np.atleast_2d(model.dual_coef_) if hasattr(model, "dual_coef_") else None
    if dual is None:
        raise Unknown("the learner has no dual_coef_")
    if hasattr(model, "support_"):
        if dual.shape[1] != len(model.support_):
            raise Untrue("support_ and dual_coef_ have different lengths")
        narrow, dual = dual, np.zeros((len(dual), m))
        dual[:, model.support_] = narrow
    if dual.shape[1] != m or np.delete(dual, kept, axis=1).any():
        raise Untrue("dual_coef_ does not fit the samples")
    return dual[:, kept]


def _parts(model, raw, X, y, w, P, assumed):
    """(gap, objective, unit of the objective) of each problem, after its claims have been tried."""
    if getattr(model, "train_on", "all") != "all" or getattr(model, "stop", None) == "held_out":
        raise Unknown("the learner was trained on a part of the sample")
    kept, lam, m = np.flatnonzero(w > 0), np.atleast_2d(model.coef_), len(w)
    P = features(model, raw, X, P, assumed)[kept]
    X = X[kept][:, kept] if isinstance(getattr(model, "kernel", None), str) else X[kept]
    problems = list(_problems(model, y[kept], w[kept]))
    claims = model.certificate_.parts or (model.certificate_,)
    squared = hasattr(model, "reg_")
    gamma = float(model.reg_) if squared else 0.5
    duals = [] if getattr(model, "solver_", "") == "nystrom" else _duals(model, kept, m)
    counts = {len(problems), len(claims), len(lam), len(duals) or len(lam)}
    if len(counts) > 1 or lam.shape[1] != P.h.shape[1]:
        raise Untrue("the fitted attributes do not fit each other, or the data")
    _check_intercept(model, lam, P)
    loss = "squared" if squared else getattr(model, "loss", "hinge")
    if loss not in ("squared", "hinge", "squared_hinge"):
        raise Unknown(f"loss={loss!r} is not one that the checker knows")
    if not (gamma >= 0 and all((a > 0).all() for *_, a in problems)):
        raise Unknown("reg or C is negative, or no number")
    bound = 0.0 if loss == "hinge" else np.inf  # how far α may be above its weight
    boxes = [(rows, a + bound) for rows, _, a in problems]
    if hasattr(model, "basis_coef_") or not len(duals):

        def beta_of(p, h):
            _, t, a = problems[p]
            return duals[p] if len(duals) else (t - (h + P @ lam[p]).h) * a / (a.sum() * gamma)

        fits = over_basis(model, X, boxes, claims, P, beta_of, assumed)
    else:
        fits = over_samples(model, X, boxes, claims, duals, P, assumed)
    parts = zip(problems, claims, fits, lam, strict=True)
    return [_judged(*part, P, loss, gamma, X.shape[1]) for part in parts]


def _check_intercept(model, lam, P):
    """intercept_, where there is one, is the coefficient of the constant times its value."""
    constant = np.flatnonzero((P.h == P.h[0]).all(axis=0) & (P.h[0] != 0))
    if hasattr(model, "intercept_"):
        should = lam[:, constant[:1]] * P.h[0, constant[:1]]
        if not np.allclose(np.reshape(model.intercept_, (-1, 1)), should, rtol=1e-14, atol=0):
            raise Untrue("intercept_ is not what coef_ says")


def _positive(x):
    """max(x, 0), no farther from the exact one than x is."""
    return Ball(np.maximum(x.h, 0.0), np.where(x.h > 0, x.l, 0.0), x.e)


def _judged(problem, claim, fit, lam, P, loss, gamma, d):
    """(gap, objective, unit) of one problem; an error where the certificate claims another."""
    rows, t, a = problem
    f, beta = fit.h[rows] + P[rows] @ lam, fit.beta[rows]
    noise = (len(fit.size) + d + 64) * EPS * (fit.size[rows] + np.abs(P.h[rows]) @ np.abs(lam))
    if loss == "squared":
        share, short = a / a.sum(), t - f
        losses, slope = short * short * share, 2 * share * short.size
        rest = short - beta * (Ball(gamma) * a.sum() / a)
        excess, unit = rest * rest * share, 1e-16 * float(share @ t**2)
        rounding = 16 * float(share @ noise**2)
    else:
        alpha, short = beta * t, 1.0 - f * t
        if alpha.h.min(initial=0.0) < 0 or (loss == "hinge" and (alpha.h > a).any()):
            raise Untrue("dual_coef_ has the wrong sign, or is above C, at some sample")
        over, under = _positive(short), alpha * _positive(-short)
        losses, slope = over * a, a
        excess, unit = (a - alpha) * over + under, 1e-9 * float(a.sum())
        if loss == "squared_hinge":
            losses, slope = over * over * a, 2 * a * over.size
            off = over - alpha / (2.0 * a)
            excess = off * off * a + under
        rounding = 4 * float(np.maximum(slope, alpha.size) @ noise)
    primal = losses.total() + fit.square * gamma
    gap = excess.total() + fit.apart * gamma
    if not np.isfinite(primal.size + gap.size):
        raise Unknown("the bounds of the errors are infinite: the numbers are too extreme")
    rounding += 4 * gamma * fit.square_rounding if loss != "squared" else 0.0
    if loss == "squared":  # a sum of squares, each of which may be rounded
        allowed = (np.sqrt(max(claim.gap, 0.0)) + np.sqrt(rounding)) ** 2
    else:
        allowed = claim.gap + rounding
    slack = float(slope @ noise) + gamma * fit.square_rounding
    slack += (len(a) + 64) * EPS * float(primal.size) + allowed
    if not -(-gap).high <= allowed * (1 + 1e-6) + 1e-290:
        raise Untrue(f"the gap is {gap.high:.2e}, and the certificate says {claim.gap:.2e}")
    if not abs(float(primal.h) - claim.primal) <= slack + 1e-290:
        raise Untrue(f"the objective is {primal.h:.16g}; the certificate says {claim.primal:.16g}")
    slack += 1e-12 * max(abs(claim.primal), abs(claim.dual))
    if not abs(claim.primal - claim.gap - claim.dual) <= slack + 1e-290:
        raise Untrue(f"the dual objective {claim.dual:.16g} is not the objective less the gap")
    return float(gap.high), float(primal.high), unit
