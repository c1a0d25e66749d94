"""Least squares with free features: the exact solvers, and those that are almost."""

import numpy as np

from fuzz.oracles import LD, least_squares
from fuzz.problems import draw, log_uniform
from kernelbook import GRLSRegressor, GRLSRegressorCV


def targets(rng, p, k=None):
    f = np.cos(2 * p.X / (np.abs(p.X).max() or 1.0)).sum(axis=1)
    Y = f[:, None] + 0.3 * rng.normal(size=(len(f), k or 1))
    Y = Y * log_uniform(rng, -6, 6)
    return Y if k else Y[:, 0]


def exact(rng):
    """cholesky and nullspace, several outputs, weights."""
    p, reg = draw(rng), log_uniform(rng, -9, 1)
    Y = targets(rng, p, k=int(rng.integers(1, 4)))
    solver = str(rng.choice(["auto", "nullspace"]))
    p.text += f" reg={reg:.1e} solver={solver}"
    model = GRLSRegressor(p.kernel, p.features, reg=reg, solver=solver)
    yield p.text, lambda: model.fit(p.X, Y, sample_weight=p.w)
    yield from compared(p, Y, reg, model, tol=1e-6)


def approximate(rng):
    """cg, which is exact to tol; nystrom with all centres; fourier where it applies."""
    solver = str(rng.choice(["cg", "nystrom", "fourier"]))
    p = draw(rng, largest=60, cpd=solver != "fourier", dims=2 if solver == "fourier" else 6)
    reg = log_uniform(rng, -4, 0)
    Y = targets(rng, p, k=1)
    p.text += f" reg={reg:.1e} solver={solver}"
    model = GRLSRegressor(p.kernel, p.features, reg=reg, solver=solver, tol=1e-6, max_iter=3000)
    yield p.text, lambda: model.fit(p.X, Y, sample_weight=p.w)
    if solver == "nystrom" and model.full_gap_ is None:
        return
    yield from compared(p, Y, reg, model, tol=1e-4)


def compared(p, Y, reg, model, tol):
    """Predictions against the saddle system in extended precision, as far as that is solved."""
    kept = p.w > 0
    X, Y, w = p.X[kept], Y[kept], p.w[kept]
    K, P = np.asarray(p.matrix(X, X), float), p.columns(X)
    size = np.abs(Y).max() or 1.0
    c, lam, left = least_squares(K, P, Y / size, reg, w)
    if not left < 1e-9:
        return
    f = np.asarray(K.astype(LD) @ c + P @ lam, float) * size
    off = np.abs(model.predict(X).reshape(f.shape) - f).max() / size
    # The certificate is of the root mean square, so a single value may miss by √(W/w).
    allowed = (model.certificate_.kkt + tol) * np.sqrt(w.sum() / w.min())
    if off > allowed:
        yield f"f misses the oracle by {off:.1e} of y, and {allowed:.1e} is allowed"


def leave_one_out(rng):
    """GRLSRegressorCV: its residuals against refits."""
    p = draw(rng, largest=30)
    p.w[:] = 1.0
    y = targets(rng, p)
    model = GRLSRegressorCV(p.kernel, p.features, regs=[log_uniform(rng, -5, 0)])
    yield p.text, lambda: model.fit(p.X, y)
    m, size = len(y), np.abs(y).max() or 1.0
    for i in rng.integers(m, size=3):
        rest = np.arange(m) != i
        K, P = p.matrix(p.X, p.X), p.columns(p.X)
        reg = model.reg_ * m / (m - 1)
        part = np.asarray(K[np.ix_(rest, rest)], float), P[rest]
        c, lam, left = least_squares(*part, y[rest, None] / size, reg, np.ones(m - 1))
        if not left < 1e-9 or np.linalg.matrix_rank(P[rest]) < np.linalg.matrix_rank(P):
            continue
        f = float((K[i, rest] @ c + P[i] @ lam)[0])
        off = abs(model.loo_errors_[i] / size - (y[i] / size - f))
        if off > 1e-5 * (1 + abs(f)):
            yield f"the leave-one-out residual of {i} is off by {off:.1e} of y"


def chunks(rng):
    """partial_fit on chunks is the fit of all of them, for Fourier and for given centres."""
    p = draw(rng, largest=80, cpd=False, dims=2)
    reg, y = log_uniform(rng, -3, 0), targets(rng, p)
    options = {"reg": reg, "tol": 1e-6}
    if rng.random() < 0.5:
        box = np.c_[p.X.min(axis=0), p.X.max(axis=0)].tolist()
        options |= {"solver": "fourier", "bounds": box}
    else:
        options |= {"solver": "nystrom", "centers": p.X[:: max(1, len(p.X) // 9)]}
    p.text += f" {options['solver']} reg={reg:.1e}"
    whole, parts = (GRLSRegressor(p.kernel, p.features, **options) for _ in range(2))
    cut = int(rng.integers(1, len(y)))

    def fit():
        whole.fit(p.X, y)
        for rows in (slice(0, cut), slice(cut, None)):
            parts.partial_fit(p.X[rows], y[rows])

    yield p.text, fit
    off = np.abs(whole.predict(p.X) - parts.predict(p.X)).max() / (np.abs(y).max() or 1.0)
    allowed = whole.certificate_.kkt + parts.certificate_.kkt + 1e-4
    if off > allowed * np.sqrt(len(y)):
        yield f"chunks and whole differ by {off:.1e} of y"
