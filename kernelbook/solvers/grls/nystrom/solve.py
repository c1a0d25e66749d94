"""G-RLS over translates at n centres, with free features, in O(m(ℓ+k) + n² + a panel) of memory.

In the orthonormal coordinates ẑ of a `CenterBasis`, with the features projected out and rows scaled
by √w as in `grls.problem` (M = I − QQᵀ), the problem is a ridge regression in r ≤ n unknowns,

    minimize  ‖M(ỹ − Ẑu)‖² + ρ‖u‖²,      ρ = mγ,
    (ẐᵀMẐ + ρI) u = ẐᵀMỹ,                                                                 (1)

and c = Tu, and λ by least squares from ỹ − Ẑu.  With all samples as centres it is the exact
problem.  It is never solved by (K_nm K_mn + ρK_nn)c = K_nm y, whose condition number is up to
cond K_nn times larger.

**Preconditioner.**  Conjugate gradients on (1) need one pass over K_mn for each step, and the
number of steps is that of a good preconditioner: the matrix of (1) with s rows of the sample in
place of m,

    B = (m/s) Ẑ_sᵀ M_s Ẑ_s + ρI,        M_s the projection that belongs to the features on them.

Falkon [1] takes the centres themselves for these rows; drawing them anew costs little more, lets
the centres be anywhere, and the features and the weights take part.

**All rows, s = m,** makes B the matrix of (1), and its Cholesky factor the solution: one heavy
pass, 2mn² operations instead of some twenty light ones.  `direct_pays` compares the two by
counting operations.  Where the centres are well conditioned the pass sums over k, which takes half
of that, and the residual from rows says how good it was: `nystrom.normal_equations`.

**Certificate** (of the optimum *in the span of the centres and features*).  e = M(ỹ − Ẑu) is what
the fitted function leaves.  The dual of (1) at α = e/ρ gives

    primal − dual = ‖r‖²/ρ,       r = Ẑᵀe − ρu, the residual of (1),

which also is what strong convexity says.  The gap bounds the mean square error of the fitted
values against those of the optimum; `kkt` is its root, in the units of the exact solver.

**Dropped centres**, and the rounding of predictions, are counted by `nystrom.bounds`.  Where the
full problem is looked at anyway (below), eᵀRe is computed, and for centres at the samples ‖Re‖ in
place of ‖R‖‖e‖.  The first goes into `gap`, and `kkt` is the smaller of the root of that and of the
sum of what CG, rounding and the second leave.  Conjugate gradients do not work on such centres:
with the `rtol` that their rounding asks for, too much would be dropped.

**Rounding.**  The direct solution over ẑ takes r from its sums, plus ε‖ẐᵀẐ‖‖u‖, what these
may have lost.  Where that is above `tol` (γ below some 10⁻⁷) the residual is recomputed in
a pass over rows of ẑ, and solved for once more.  Conjugate gradients work with k instead of ẑ,
to spare n² operations a row: there r carries about ε/√(rtol·γ), and `suitable_basis` takes the
rtol that keeps that below `tol`.

**And the full problem?**  The same α is feasible for the dual of the full kernel ridge: its gap is
‖u‖² + αᵀK̃α − 2u·Ẑᵀα, the squared distance of f's kernel part from Σα_iK(x_i, ·), times ρ.  It costs
a pass over the m×m kernel matrix; `full_gap` is computed where that adds no more than a quarter to
the fit, and where m ≤ 4096.

Chapter: book/computing/beyond

References
----------
[1] Rudi, Carratino & Rosasco, *FALKON: an optimal large scale kernel method*, NIPS 2017; Meanti,
Carratino, Rosasco & Rudi, *Kernel methods through the roof*, NeurIPS 2020.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelbook.numeric.conjugate_gradients import restarted
from kernelbook.numeric.linalg import norms, project_out, refine, squared_norms
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from kernelbook.solvers.grls.nystrom.bounds import dropped_centers, prediction_rounding
from kernelbook.solvers.grls.nystrom.normal_equations import (
    fast_equations,
    sketched_equations,
    stable_equations,
)
from kernelbook.solvers.grls.predictor import KernelExpansion
from kernelbook.solvers.grls.problem import Scaled, Target, relative_constraint
from kernelbook.solvers.grls.solution import (
    Solution,
    certify,
    rank_warnings,
    zero_kernel_warnings,
)

__all__ = ["direct_pays", "solve", "suitable_basis"]

_EPS = np.finfo(float).eps
MAX_REFINEMENTS = 6
TYPICAL_STEPS = 20  # of conjugate gradients with a sketched preconditioner
FULL_GAP_ROWS = 4096  # samples whose full duality gap is cheap, whatever the fit costs
FULL_GAP_BUDGET = 0.25  # of the cost of the fit that the full duality gap may add to it
PROBE = 256  # rows on which the rounding of predictions is measured


def entry_cost(d):
    """Operations for one entry of K: an inner product and a profile."""
    return 2 * d + 40


def direct_pays(n, d, k=1):
    """Whether one heavy pass, 2mn², is cheaper than `TYPICAL_STEPS` light ones."""
    return 2 * n <= TYPICAL_STEPS * (entry_cost(d) + 4 * k)


def suitable_basis(kernel, centers, P, reg, tol, k=1) -> CenterBasis:
    """The basis that suits the solver: see **Rounding** and **Dropped centres**."""
    if not direct_pays(centers.shape[0], centers.shape[1], k):
        largest = np.abs(kernel(centers[:PROBE])).max()
        rtol = (_EPS / max(tol, _EPS)) ** 2 * largest / reg
        basis = CenterBasis(kernel, centers, P, float(np.clip(rtol, 32 * _EPS, 1e-9)))
        if not basis.dropped:
            return basis
    return CenterBasis(kernel, centers, P)


def solve(
    basis,
    X,
    P,
    Y,
    reg,
    weights=None,
    tol=1e-8,
    max_iter=1000,
    sketch=None,
    random_state=None,
    tick=silent,
) -> Solution:
    """The minimizer in the span of centres and features, for each column of Y.

    Parameters
    ----------
    basis : CenterBasis
    X : (m, d) rows
    P : (m, ℓ) array
        Any rank; ℓ = 0 is allowed.
    Y : (m, k) array
    reg : float
        γ > 0.
    weights : (m,) array of positive numbers, optional
    tol : float
        Wanted for `kkt`.
    max_iter : int
        The largest number of passes of conjugate gradients.
    sketch : int, optional
        s, the number of rows of the preconditioner; by default all, where that pays or centres
        have been dropped, otherwise 4n.
    random_state : RandomState instance, optional
        Draws these rows.
    tick : callable, optional
        tick(rows) as passes proceed.
    """
    sample = _Sample(basis, X, P, Y, reg, weights, tick)
    target, m, k = sample.target, sample.m, Y.shape[1]
    if sketch is None:
        direct = basis.dropped or direct_pays(basis.rank, X.shape[1], k)
        sketch = m if direct else 4 * basis.n
    tolerance = tol * np.sqrt(sample.rho) * target.y_scale
    if basis.rank == 0 or target.explained.all():
        found = _features_alone(sample)
    elif sketch >= m:
        found = _solve_cholesky(sample, tolerance)
    else:
        rng = random_state or np.random.RandomState(0)
        rows = np.sort(rng.choice(m, size=sketch, replace=False))
        found = _solve_pcg(sample, tolerance, rows, max_iter)
    return _finish(sample, found, tick)


class _Sample:
    """The scaled problem, and passes over the rows of K that it takes."""

    def __init__(self, basis, X, P, Y, reg, weights, tick):
        self.basis, self.X, self.P, self.m = basis, X, P, X.shape[0]
        self.problem = Scaled(P, weights)
        self.target = Target(self.problem, Y)
        self.root = self.problem.sqrt_weights
        self.rho = self.m * float(reg) / basis.unit
        if not 0 < self.rho < np.inf:
            raise ValueError(
                f"reg={reg!r} is not a positive number in the units of the kernel: this solver "
                "needs 0 < reg < ∞."
            )
        self.panels = basis.kernel.panels(X, basis.points, tick)

    def some_panels(self, rows):
        return self.basis.kernel.panels(self.X[rows], self.basis.points)

    def probe(self):
        """The numbers of some rows, spread over the sample."""
        return np.unique(np.linspace(0, self.m - 1, PROBE).astype(int))

    def fit_features(self, u):
        """λ and e."""
        return self.target.fit_features(self.panels.times(self.basis.times(u)))

    def state(self, u):
        """u, λ, e and r, in two passes over K: the rounding of r is not the least possible."""
        lam, e = self.fit_features(u)
        residual = self.basis.adjoint(self.panels.adjoint(self.root * e)) - self.rho * u
        return u, lam, e, residual * ~self.target.explained

    def accurate_state(self, u, B, over_translates=False):
        """u, λ, e and r in one pass over K and ẑ, and Qᵀ of what the kernel part leaves of y; or
        over K alone, with the rounding of that.
        """
        basis, root, Q, left_of = self.basis, self.root, self.problem.Q, self.target.residual_target
        c, g = basis.times(u), np.empty_like(left_of)

        def work(total, rows, panel):
            np.matmul(panel, c, out=g[rows])
            Z = panel if over_translates else basis.coordinates(panel)
            left = left_of[rows] - root[rows] * g[rows]
            total[0][...] += Z.T @ (root[rows] * left)
            total[1][...] += Q[rows].T @ left

        shapes = u.shape, (Q.shape[1], u.shape[1])
        products, feature_component = self.panels.each(work, lambda: tuple(map(np.zeros, shapes)))
        if over_translates:
            products = basis.adjoint(products)
        residual = products - B @ feature_component - self.rho * u
        lam, e = self.target.fit_features(g)
        return (u, lam, e, residual * ~self.target.explained), feature_component


@dataclass(frozen=True)
class _Found:
    """A solution of the normal equations.

    Attributes
    ----------
    u, lam, e : arrays
    residual_bound : (k,) array
        A bound of ‖r‖.
    trace : float
        tr ẐᵀẐ.
    cost : float
        Operations for each row of the sample.
    loss_change : (k,) array or 0
        What ‖e‖² misses, where u has been corrected after the last pass.
    n_iter : int
    """

    u: np.ndarray
    lam: np.ndarray
    e: np.ndarray
    residual_bound: np.ndarray
    trace: float
    cost: float
    loss_change: np.ndarray | float = 0.0
    n_iter: int = 0


def _pass_cost(basis, X, gram_passes, light_passes):
    return basis.n * (gram_passes * basis.n + light_passes * entry_cost(X.shape[1]))


def _features_alone(sample):
    """u = 0: the optimum where no u is wanted; elsewhere the gap is at most the loss."""
    basis, target = sample.basis, sample.target
    lam, e = target.fit_features(np.zeros_like(target.values))
    bound = norms(e) * np.sqrt(sample.rho) * (basis.rank > 0)
    u = np.zeros((basis.rank, e.shape[1]))
    return _Found(u, lam, e, bound, 0.0, _pass_cost(basis, sample.X, 2, 2))


def _solve_cholesky(sample, tolerance):
    """By the factor of (1), from the fast sums if they are accurate enough, or the stable ones."""
    fast = fast_equations(sample, tolerance)
    found = fast and _corrected(sample, *fast, tolerance)
    if found:
        return found
    equations = stable_equations(sample)
    u = equations.solve(equations.right)
    u += equations.solve(equations.residual(u))
    bound = norms(equations.residual(u)) + equations.rounding_level * norms(u)
    if np.all(bound <= tolerance):
        lam, e = sample.fit_features(u)
    else:  # the sums do not know the residual well enough: take it from rows

        def improve(state, active):
            step = equations.solve(state[-1] * active)
            return sample.accurate_state(state[0] + step, equations.B)[0]

        state = sample.accurate_state(u, equations.B)[0]
        u, lam, e, residual = refine(improve, state, tolerance, MAX_REFINEMENTS)
        bound = norms(residual)
    return _Found(u, lam, e, bound, equations.trace, _pass_cost(sample.basis, sample.X, 2, 2))


def _corrected(sample, equations, rounding, tolerance):
    """Steps u + Ĥ⁻¹r, without a pass for the last: the proposition of `nystrom.normal_equations`
    bounds what it leaves, and the sums know by how much it changes λ and the loss.  None if the
    tolerance is not reached.
    """
    target, rho = sample.target, sample.rho
    u, before = equations.solve(equations.right), np.inf
    for _ in range(MAX_REFINEMENTS):
        (_, lam, e, r), feature_component = sample.accurate_state(u, equations.B, True)
        du = equations.solve(r)
        left = np.hypot(norms(e), norms(feature_component)) * ~target.explained
        delta = rounding.residual(left)
        bound = rounding.contraction_factor(rho) * norms(r) + delta
        if np.all(bound <= tolerance):
            change = np.einsum("ij,ij->j", du, equations.A @ du - 2 * (r + rho * u))
            return _Found(
                *(u + du, lam - sample.problem.T @ (equations.B.T @ du), e, bound),
                trace=equations.trace,
                cost=_pass_cost(sample.basis, sample.X, 1, 2),
                loss_change=change,
            )
        if not np.any(bound < 0.5 * before) or np.any(delta > tolerance):
            return None
        u, before = u + du, bound
    return None


def _solve_pcg(sample, tolerance, rows, max_iter):
    """By conjugate gradients, preconditioned with the equations of some rows."""
    basis, panels, rho = sample.basis, sample.panels, sample.rho
    equations = sketched_equations(sample, rows)
    weights = sample.root[:, 0] ** 2

    def apply(V):
        """(ẐᵀMẐ + ρI)V in one pass: what the features take away is known from ẐᵀQ."""
        product = basis.adjoint(panels.normal(basis.times(V), weights))
        return product - equations.B @ (equations.B.T @ V) + rho * V

    right = equations.right
    lam, e = sample.target.fit_features(np.zeros_like(sample.target.values))
    start = np.zeros_like(right), lam, e, right
    (u, lam, e, residual), steps, _ = restarted(
        apply, equations.solve, sample.state, start, tolerance, max_iter
    )
    cost = _pass_cost(basis, sample.X, 0, steps + 4)
    return _Found(u, lam, e, norms(residual), equations.trace, cost, n_iter=steps)


def _finish(sample, found, tick):
    """The certificate: the residual, the rounding of predictions, dropped centres, the full gap."""
    basis, target, rho, m = sample.basis, sample.target, sample.rho, sample.m
    u, e, y_unit = found.u, found.e, target.y_unit
    penalty = rho * squared_norms(u)
    loss = np.maximum(squared_norms(e) + found.loss_change, 0.0)
    rows = sample.probe()
    error = found.residual_bound / np.sqrt(rho)
    error += np.sqrt(m) * prediction_rounding(basis, sample.X[rows], u, sample.root[rows])

    nystrom_residual, moved = _full_problem(sample, e, found.cost, tick)
    diagonal = 0.0
    if basis.dropped and not basis.kernel.cpd_order:
        diagonal = sample.root[:, 0] ** 2 @ basis.kernel.diag(sample.X) / basis.unit
    dropped_gap, dropped_error = dropped_centers(
        basis, m, diagonal, found.trace, norms(e), error, rho
    )
    full_gap = None
    if nystrom_residual is not None:
        dropped_gap = np.minimum(dropped_gap, nystrom_residual / rho)
        with np.errstate(over="ignore"):
            full_gap = np.minimum(error**2 + nystrom_residual / rho, loss + penalty) / m
            full_gap = full_gap * y_unit * y_unit
    if moved is not None:
        dropped_error = np.minimum(dropped_error, moved / rho)
    dropped_error = np.minimum(dropped_error, np.sqrt(dropped_gap))

    # The dual objective is 0 at α = 0: the gap is never above the objective.
    gap = np.minimum(error**2 + dropped_gap, loss + penalty)
    fit_error = np.minimum(np.sqrt(gap), error + dropped_error)
    with np.errstate(over="ignore"):
        c, lam = basis.scatter(basis.times(u)) * y_unit, found.lam * y_unit
    constraint = relative_constraint(sample.problem.P, e)
    return Solution(
        *(c, lam),
        energy=(penalty + loss) / rho,
        y_unit=y_unit,
        unit=basis.unit,
        rank=sample.problem.rank,
        certificates=certify(target.y_scale, y_unit, loss + penalty, gap, fit_error, constraint, m),
        predictor=KernelExpansion(basis.kernel, basis.centers, c),
        n_iter=found.n_iter,
        solver="nystrom",
        full_gap=full_gap,
        warnings=rank_warnings(sample.problem.features, sample.P)
        + zero_kernel_warnings(basis.rank == 0, sample.problem.rank, m, "centres"),
        advice=basis.advice,
    )


def _full_problem(sample, e, cost, tick):
    """eᵀRe for the full kernel matrix, where that is cheap beside the fit, otherwise None; and
    ‖MRe‖ where it bounds what dropped centres move.
    """
    basis, m = sample.basis, sample.m
    # Half of a symmetric matrix is computed.
    if m > FULL_GAP_ROWS and m * entry_cost(sample.X.shape[1]) / 2 > FULL_GAP_BUDGET * cost:
        return None, None
    Se = sample.root * e
    product = basis.kernel.gram_matvec(sample.X, Se, tick) / basis.unit
    ZSe = basis.adjoint(sample.panels.adjoint(Se))
    square = np.einsum("ij,ij->j", Se, product)
    # The sums cancel to a part of their terms; the rounding that remains, as of random errors:
    largest = np.abs(basis.kernel(sample.X[:PROBE])).max() / basis.unit
    rounding = _EPS * largest * np.abs(Se).sum(axis=0) * norms(Se)
    residual = np.maximum(square - squared_norms(ZSe), 0.0) + rounding
    if not (basis.dropped and _equal_rows(basis.centers, sample.X)):
        return residual, None
    product -= sample.panels.times(basis.times(ZSe))
    return residual, norms(project_out(sample.problem.Q, sample.root * product))


def _equal_rows(A, B):
    """Whether two sets of rows are equal, row by row."""
    if A.shape != B.shape:
        return False
    return abs(A - B).max() == 0 if sparse.issparse(A) else np.array_equal(A, B)
