"""G-RLS learners whose solver never sees a Gram matrix: `solver="nystrom"` and `solver="cg"`.

Both choose centres, make a `CenterBasis` of them, and call a solver: "nystrom" looks for f among
the translates at the centres, "cg" for the exact f, with the centres as its preconditioner.

`BlockwiseCenters` is "nystrom" on blocks of data (`kernelbook.distributed`): centres first, then
sums over the blocks, then the solution.
"""

import time
from contextlib import contextmanager
from numbers import Integral

import numpy as np
from sklearn.utils import check_array, check_random_state
from tqdm import tqdm

from kernelbook.bases.centers import check_rule, choose_centers
from kernelbook.certificates import Certificate
from kernelbook.estimators._grls_checks import check_number, doubts_about_rank, total
from kernelbook.features import check_order, evaluate
from kernelbook.kernels import as_kernel
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls import cg
from kernelbook.solvers.grls.nystrom import normal_equations
from kernelbook.solvers.grls.nystrom import solve as nystrom
from kernelbook.solvers.grls.nystrom.basis import CenterBasis

__all__ = ["BlockwiseCenters", "fit_with_centers"]

_N_CENTERS = 1000
_POOL = 10  # rows drawn from blocks for each centre that a rule chooses among them
_FACTOR = 10**8  # entries of the preconditioner's m×n factor: 800 MB


def fit_with_centers(learner, sample, Y, reg, m):
    """Fit `learner` to the columns of Y and leave the attributes that predictions need."""
    if learner._pairwise:
        raise ValueError(
            f"solver={learner.solver!r} saves the Gram matrix, and kernel='precomputed' has it: "
            "use solver='auto', or pass the points and a kernel."
        )
    _check(learner, reg)
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
            solution = cg.solve(learner.kernel_, *arrays, basis, **options)
    shape = Y.shape[1:]
    if nystrom_:
        _keep_centers(learner, basis, solution.c, shape)
        full = solution.full_gap
        learner.full_gap_ = full if full is None or shape else float(full[0])
    else:
        learner._help = "A larger max_iter, reg, tol or n_centers help."
        learner._remember(sample)
        learner._kept = sample.kept
        learner.dual_coef_ = np.zeros((m, *shape))
        learner.dual_coef_[sample.kept] = solution.c.reshape(-1, *shape)
    _keep(learner, solution, sample, shape)
    learner._doubts = doubts_about_rank(solution.features, sample.P) + (
        _doubts_about_centers(basis, learner.rank_ < len(Y)) if nystrom_ else []
    )


def _check(learner, reg):
    if not reg > 0:
        raise ValueError(
            f"reg={reg!r}: solver={learner.solver!r} needs reg > 0; interpolation is for "
            "solver='cholesky' or 'nullspace'."
        )
    steps = learner.max_iter
    if not isinstance(steps, Integral) or isinstance(steps, bool | np.bool_) or steps < 1:
        raise ValueError(f"max_iter must be an integer ≥ 1, not {steps!r}.")


def _doubts_about_centers(basis, more):
    """Warnings; `more` says whether there are more samples than what the features fit."""
    if basis.rank == 0 and more:
        return [
            "the kernel is zero at every pair of centres: only the features are learned.  If its "
            "values underflow, scale X."
        ]
    return []


def _keep_centers(learner, basis, c, shape):
    learner._centers, learner._kept = basis.centers.copy(), slice(None)
    learner.centers_ = learner._centers
    learner.dual_coef_ = c.reshape(-1, *shape)
    learner._help = "A larger max_iter, reg, tol or n_centers help."
    if basis.dropped:
        learner._help = (
            f"{basis.dropped} of its {basis.n} centres depend on others to rounding and were "
            "dropped, which kkt counts: a larger reg or tol, a narrower kernel, or fewer centres "
            "help."
        )


def _keep(learner, solution, sample, shape):
    learner.coef_ = solution.lam.reshape(-1, *shape)
    learner.rank_ = solution.features.rank
    learner.n_iter_ = max(1, solution.n_iter)
    learner.certificate_ = Certificate.joint(solution.certificates)
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
        return _given_centers(rule, sample.X.shape[1], "csr"), None
    if n is None:
        n = _N_CENTERS
        if learner.solver == "cg":
            n = max(min(n, m // 10, _FACTOR // m), min(50, m))
    return choose_centers(rule, sample.X, n, sample.w, rng, learner.kernel_, reg, tick)


def _given_centers(rows, d, accept_sparse):
    centers = check_array(
        rows, accept_sparse=accept_sparse, dtype=np.float64, input_name="centers", copy=True
    )
    if centers.shape[1] != d:
        raise ValueError(
            f"centers has {centers.shape[1]} columns and X has {d}; a centre must be a point of "
            "the same space."
        )
    return centers


class BlockwiseCenters:
    """Mixed into a G-RLS learner: what solver="nystrom" does before, and after, the sums."""

    def _begin_centers(self, d):
        """Parameters checked, and the kernel."""
        check_number("reg", self.reg)
        check_number("tol", self.tol)
        _check(self, self.reg)
        self.kernel_ = as_kernel(self.kernel, d).copy()
        if not isinstance(self.centers, str):
            _given_centers(self.centers, d, False)

    def _draws(self, blocks):
        """How many rows to draw for centres, and a seed for each block."""
        if not isinstance(self.centers, str):
            return 0, [0] * blocks
        n = _N_CENTERS if self.n_centers is None else self.n_centers
        check_rule(self.centers, n)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=blocks)
        return n * (1 if self.centers == "uniform" else _POOL), seeds.tolist()

    def _center_basis(self, drawn, given):
        """The basis; from rows that were drawn in proportion to their weights, or from none."""
        if drawn is None:
            drawn = np.empty((0, self.n_features_in_))
        if isinstance(self.centers, str):
            n = _N_CENTERS if self.n_centers is None else self.n_centers
            options = np.ones(len(drawn)), self.random_state, self.kernel_, self.reg
            centers, _ = choose_centers(self.centers, drawn, n, *options)
        else:
            centers = _given_centers(self.centers, self.n_features_in_, False)
        at = centers
        if hasattr(given, "iloc"):
            at = type(given)(centers, columns=given.columns)
        P = evaluate(self.features_, at)
        self._n_free = P.shape[1]
        check_order(P, centers, self.kernel_)
        return CenterBasis(self.kernel_, centers, P if self.kernel_.cpd_order else None)

    def _finish_centers(self, basis, sums, columns, probe):
        """Solve and keep the fitted attributes, all or none."""
        if not isinstance(sums, normal_equations.Statistics):
            raise ValueError(
                "sample_weight is zero for every sample; at least one must be positive."
            )
        l = len(sums.peaks)
        if l > max(sums.rows, sums.weight):
            raise ValueError(
                f"{l} free features on {sums.rows} samples: more features than samples interpolate "
                "any y.  Take fewer features, or more samples."
            )
        c, lam, rank, certificates = normal_equations.solve(sums, basis, self.reg, probe)
        if not (np.isfinite(c).all() and np.isfinite(lam).all()):
            raise ValueError("the coefficients overflow: rescale y, or the kernel.")
        _keep_centers(self, basis, c, columns)
        self._dense, self._fourier, self.full_gap_ = False, None, None
        self.solver_, self.rank_, self.n_iter_ = "nystrom", rank, 1
        self.coef_ = lam.reshape(-1, *columns)
        self.certificate_ = Certificate.joint(certificates)
        free = sums.weight - rank
        scale = np.array([part.primal for part in certificates]) / self.reg
        scale = scale / (free if free > 0 else np.nan)
        self.scale_ = scale.reshape(columns) if columns else float(scale[0])
        self._doubts = _doubts_about_centers(basis, rank < sums.rows)


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
