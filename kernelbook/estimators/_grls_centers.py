"""G-RLS learners whose solver never sees a Gram matrix: `solver="nystrom"` and `solver="cg"`.

Both choose centres, make a `CenterBasis` of them, and call a solver: "nystrom" looks for f among
the translates at the centres, "cg" for the exact f, with the centres as its preconditioner.
"""

import time
from contextlib import contextmanager
from numbers import Integral

import numpy as np
from sklearn.utils import check_array, check_random_state
from tqdm import tqdm

from kernelbook.certificates import Certificate
from kernelbook.estimators._grls_checks import doubts_about_rank, total
from kernelbook.features import evaluate
from kernelbook.solvers import grls_cg, nystrom
from kernelbook.solvers.center_basis import CenterBasis
from kernelbook.solvers.centers import choose_centers
from kernelbook.solvers.panels import silent

__all__ = ["fit_with_centers"]

_N_CENTERS = 1000
_FACTOR = 10**8  # entries of the preconditioner's m×n factor: 800 MB


def fit_with_centers(learner, sample, Y, reg, m):
    """Fit `learner` to the columns of Y and leave the attributes that predictions need."""
    if learner._pairwise:
        raise ValueError(
            f"solver={learner.solver!r} saves the Gram matrix, and kernel='precomputed' has it: "
            "use solver='auto', or pass the points and a kernel."
        )
    if not reg > 0:
        raise ValueError(
            f"reg={reg!r}: solver={learner.solver!r} needs reg > 0; interpolation is for "
            "solver='cholesky' or 'nullspace'."
        )
    steps = learner.max_iter
    if not isinstance(steps, Integral) or isinstance(steps, bool | np.bool_) or steps < 1:
        raise ValueError(f"max_iter must be an integer ≥ 1, not {steps!r}.")
    nystrom_ = learner.solver == "nystrom"
    rng = check_random_state(learner.random_state)
    columns = Y.reshape(len(Y), -1)
    with _bar(learner.verbose, 2 if nystrom_ else 20, len(Y)) as tick:
        centers, rows = _centers(learner, sample, reg, rng, tick)
        P = None
        if learner.kernel_.cpd_order:
            P = evaluate(learner.features_, centers) if rows is None else sample.P[rows]
        if nystrom_:
            basis = nystrom.suitable_basis(
                learner.kernel_, centers, P, reg, learner.tol, columns.shape[1]
            )
        else:
            basis = CenterBasis(learner.kernel_, centers, P)
        arrays = sample.X, sample.P, columns, reg, sample.w
        options = {"tol": learner.tol, "max_iter": learner.max_iter, "tick": tick}
        if nystrom_:
            solution = nystrom.solve(basis, *arrays, random_state=rng, **options)
        else:
            solution = grls_cg.solve(learner.kernel_, *arrays, basis, **options)
    shape = Y.shape[1:]
    if nystrom_:
        learner._centers, learner._kept = centers.copy(), slice(None)
        learner.centers_ = learner._centers
        learner.dual_coef_ = solution.c.reshape(-1, *shape)
        full = solution.full_gap
        learner.full_gap_ = full if full is None or shape else float(full[0])
    else:
        learner._remember(sample)
        learner._kept = sample.kept
        learner.dual_coef_ = np.zeros((m, *shape))
        learner.dual_coef_[sample.kept] = solution.c.reshape(-1, *shape)
    _keep(learner, solution, sample, shape)
    learner._help = "A larger max_iter, reg, tol or n_centers help."
    if nystrom_ and basis.dropped:
        learner._help = (
            f"{basis.dropped} of its {basis.n} centres depend on others to rounding and were "
            "dropped, which kkt counts: a larger reg or tol, a narrower kernel, or fewer centres "
            "help."
        )
    if solution.uncounted:
        learner._doubts.append(
            f"{solution.uncounted} of the {basis.n} centres depend on others to rounding and were "
            "dropped; certificate_ speaks of the best function of the rest.  Use fewer centres, "
            "or centers='kmeans', which keeps them apart."
        )
    if basis.rank == 0 and nystrom_ and learner.rank_ < len(Y):
        learner._doubts.append(
            "the kernel is zero at every pair of centres: only the features are learned.  If its "
            "values underflow, scale X."
        )


def _keep(learner, solution, sample, shape):
    learner.coef_ = solution.lam.reshape(-1, *shape)
    learner.rank_ = solution.features.rank
    learner.n_iter_ = max(1, solution.n_iter)
    learner.certificate_ = Certificate.joint(solution.certificates)
    learner._doubts = doubts_about_rank(solution.features, sample.P)
    free = total(sample.w) - learner.rank_
    deviation = np.sqrt(solution.energy / (free if free > 0 else np.nan))
    deviation = deviation / np.sqrt(solution.unit) * solution.y_unit
    with np.errstate(over="ignore"):
        scale = deviation**2
    learner.scale_ = scale.reshape(shape) if shape else float(scale[0])


def _centers(learner, sample, reg, rng, tick):
    """The centres and, where they are rows of the sample, which."""
    m, rule, n = sample.X.shape[0], learner.centers, learner.n_centers
    if not isinstance(rule, str):
        centers = check_array(
            rule, accept_sparse="csr", dtype=np.float64, input_name="centers", copy=True
        )
        if centers.shape[1] != sample.X.shape[1]:
            raise ValueError(
                f"centers has {centers.shape[1]} columns and X has {sample.X.shape[1]}; a centre "
                "must be a point of the same space."
            )
        return centers, None
    if n is None:
        n = _N_CENTERS
        if learner.solver == "cg":
            n = max(min(n, m // 10, _FACTOR // m), min(50, m))
    return choose_centers(rule, sample.X, n, sample.w, rng, learner.kernel_, reg, tick)


@contextmanager
def _bar(verbose, passes, m):
    """What the solvers call as rows go by; an interruption says what has become of the fit."""
    start = time.perf_counter()
    try:
        if not verbose:
            yield silent
            return
        with tqdm(total=passes * m, unit=" rows", unit_scale=True, desc="fit") as bar:

            def tick(rows):
                if bar.n + rows > bar.total:  # one more pass than was foreseen
                    bar.total += m
                bar.update(rows)

            yield tick
            bar.total = bar.n
            bar.refresh()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"fit was interrupted after {time.perf_counter() - start:.0f} s and has kept nothing. "
            "A larger tol, or fewer centres, make it shorter."
        ) from None
