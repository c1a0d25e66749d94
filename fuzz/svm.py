"""The support vector machine with free features: its dual, its primal and its path."""

import numpy as np

from fuzz.oracles import LD, hinge_optimum
from fuzz.problems import draw, log_uniform
from kernelbook import SVMGBClassifier, svm_path


def labels(rng, p, k=2):
    """Labels with every class among the rows that count."""
    f = np.sin(3 * p.X[:, 0] / (np.abs(p.X[:, 0]).max() or 1.0)) + 0.5 * rng.normal(size=len(p.X))
    y = np.clip((k * (f + 1.5) / 3).astype(int), 0, k - 1)
    there = np.flatnonzero(p.w > 0)
    y[there[: min(k, len(there))]] = np.arange(min(k, len(there)))
    return y


def binary(rng):
    """SVMGBClassifier on two classes."""
    p = draw(rng)
    y01, C = labels(rng, p), log_uniform(rng, -3, 4)
    solver = str(rng.choice(["auto", "auto", "robust"]))
    p.text += f" C={C:.1e} solver={solver}"
    model = SVMGBClassifier(p.kernel, p.features, C=C, solver=solver)
    yield p.text, lambda: model.fit(p.X, y01, sample_weight=p.w)
    kept = p.w > 0
    X, y, box = p.X[kept], np.where(y01[kept] == 1, 1.0, -1.0), C * p.w[kept]
    beta = np.zeros(len(p.X), LD)
    beta[model.support_] = model.dual_coef_[0]
    beta, lam = beta[kept], model.coef_[0].astype(LD)
    f = model.decision_function(X)
    moved = X if model.origin_ is None else X - model.origin_  # a linear kernel's own origin
    yield from judged(p, X, moved, y, box, beta, lam, model.certificate_, f)


def judged(p, X, moved, y, box, beta, lam, proof, f):
    """What is wrong with β and λ, by weak duality and by Clarabel."""
    K, P, f = p.matrix(X, moved), p.columns(X).astype(LD), f.astype(LD)
    size = np.abs(K).max() * np.abs(beta).sum() + np.abs(P @ lam).max(initial=0.0)
    off = np.abs(K @ beta + P @ lam - f).max()
    # Values that tie are set to zero, below 1e-9 of the margin.
    if off > 1e-9 * size + 2e-9:
        yield f"f differs from its coefficients by {float(off):.1e}, of terms of {float(size):.1e}"
    if (y * beta < 0).any() or (y * beta > box * (1 + 1e-12)).any():
        yield "β is outside of its box"
    Pb = np.abs(P.T @ beta).max(initial=0.0)
    if Pb > 1e-6 * (np.abs(P).T @ np.abs(beta)).max(initial=0.0) + 1e-300:
        yield f"Pᵀβ = {float(Pb):.1e} is not zero"
    seminorm = max(beta @ K @ beta, LD(0))
    primal = seminorm / 2 + (box * np.maximum(1 - y * f, 0)).sum()
    dual = y @ beta - seminorm / 2
    rounding = 1e-9 * (abs(primal) + seminorm + box.sum() * 1e-3) + 1e-12
    if primal - dual > proof.gap + rounding + 1e-6 * primal:
        yield f"a gap of {proof.gap:.1e} is claimed, and {float(primal - dual):.1e} is true"
    best = hinge_optimum(K, P, y, box)
    if np.isfinite(best) and primal > best + proof.gap + 1e-5 * abs(best) + rounding:
        yield f"the objective is {float(primal):.9g}, and {best:.9g} can be had"


def several(rng):
    """More classes: every binary problem has its gap, and the solvers agree."""
    p = draw(rng, largest=120)
    k, C = int(rng.integers(3, 5)), log_uniform(rng, -2, 3)
    y, scheme = labels(rng, p, k), str(rng.choice(["ovo", "ovr"]))
    options = {"C": C, "multiclass": scheme}
    p.text += f" classes={k} C={C:.1e} {scheme}"
    fast, slow = (
        SVMGBClassifier(p.kernel, p.features, solver=s, **options) for s in ("auto", "robust")
    )
    yield p.text, lambda: (fast.fit(p.X, y, sample_weight=p.w), slow.fit(p.X, y, sample_weight=p.w))
    a, b = fast.certificate_, slow.certificate_
    if abs(a.primal - b.primal) > a.gap + b.gap + 1e-6 * (a.primal + b.primal):
        yield f"the objectives are {a.primal:.9g} and {b.primal:.9g}"


def path(rng):
    """svm_path at C in between, against the optimum there."""
    p = draw(rng, largest=40)
    y01, C_max = labels(rng, p), log_uniform(rng, -1, 3)
    kept = p.w > 0
    X, y, w = p.X[kept], np.where(labels(rng, p)[kept] == 1, 1.0, -1.0), p.w[kept]
    y = np.where(y01[kept] == 1, 1.0, -1.0)
    K, P = p.matrix(X, X), p.columns(X)
    gram = np.asarray(K, float)
    p.text += f" C_max={C_max:.1e}"
    found = {}
    yield p.text, lambda: found.update(path=svm_path(gram, P, y, C_max, sample_weight=w))
    for C in C_max * rng.uniform(size=2):
        beta, lam = (a.astype(LD) for a in found["path"](C))
        f = K @ beta + P.astype(LD) @ lam
        seminorm = max(beta @ K @ beta, LD(0))
        primal = seminorm / 2 + (C * w * np.maximum(1 - y * f, 0)).sum()
        best = hinge_optimum(K, P, y, C * w)
        slack = (found["path"].kkt.max() + 1e-6) * C * w.sum() + 1e-5 * abs(best)
        if np.isfinite(best) and primal > best + slack:
            yield f"at C={C:.6g} the objective is {float(primal):.9g}, and {best:.9g} can be had"
