"""G-RLS over translates at n centres, with free features, in O(m(ℓ+k) + n² + a panel) of memory.

In the orthonormal coordinates ẑ of a `CenterBasis`, with the features projected out and rows scaled
by √w as in `grls.problem` (M = I − QQᵀ), the problem is a ridge regression in r ≤ n unknowns,

    minimize  ‖M(ỹ − Ẑu)‖² + ρ‖u‖²,      ρ = mγ,
    (ẐᵀMẐ + ρI) u = ẐᵀMỹ,                                                                 (1)

and c = Tu, and λ by least squares from ỹ − Ẑu.  With all samples as centres it is the exact
problem.  It never is solved by (K_nm K_mn + ρK_nn)c = K_nm y, whose condition number is up to
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
of that, and the residual from rows says how good it was: `nystrom.sums`.

**Certificate** (of the optimum *in the span of the centres and features*).  e = M(ỹ − Ẑu) is what
the fitted function leaves.  The dual of (1) at α = e/ρ gives

    primal − dual = ‖r‖²/ρ,       r = Ẑᵀe − ρu, the residual of (1),

which also is what strong convexity says.  The gap bounds the mean square error of the fitted
values against those of the optimum; `kkt` is its root, in the units of the exact solver.

**Dropped centres.**  A centre that depends on others to rounding has no function of its own in ẑ.
What is solved is the problem of the kernel matrix ẐẐᵀ instead of that of all centres, which differs
from it by a positive semidefinite R_c.  So the minimum over the span of all centres is below that
of (1) by at most eᵀR_ce/ρ, and the fitted values of the two differ by at most ‖R_c‖‖e‖/ρ (e of the
minimizer, which is known to the root of the gap).  R_c ⪯ R = SKS − ẐẐᵀ, and so
‖R_c‖ ≤ tr R = Σ S_i²K(x_i, x_i) − tr ẐᵀẐ, known from the sums of the pass; but R also is what *no*
centre knows of the samples.  At a centre the diagonal of R_c is at most `CenterBasis.lost`: taken
for all samples, an estimate and no bound, ‖R_c‖ ≤ m·lost.  The smaller of the two counts.  Where
the full problem is looked at anyway (below), eᵀRe is computed, and for centres at the samples ‖Re‖
in place of ‖R‖‖e‖.  The first goes into `gap`, and `kkt` is the smaller of the root of that and
of the sum of what CG, rounding and the second leave.  Conjugate gradients do not work on such
centres: with the `rtol` that their rounding asks for, too much would be dropped.

**Rounding.**  The direct solution over ẑ knows r from its sums, plus ε‖ẐᵀẐ‖‖u‖, what these
may have lost.  Where that is above `tol` (γ below some 10⁻⁷) the residual is computed anew in
a pass over rows of ẑ, and solved for once more.  Conjugate gradients work with k instead of ẑ,
to spare n² operations a row: there r carries about ε/√(rtol·γ), and `suitable_basis` takes the
rtol that keeps that below `tol`.  And f is predicted from c, not from u: by how much the
two differ is measured on some rows and added to `kkt`.  It is of the same size, because nearly
dependent centres have large coefficients of both signs.

**And the full problem?**  The same α is feasible for the dual of the full kernel ridge: its gap is
‖u‖² + αᵀK̃α − 2u·Ẑᵀα, the squared distance of f's kernel part from Σα_iK(x_i, ·), times ρ.  It costs
a pass over the m×m kernel matrix; `full_gap` is computed where that adds no more than a quarter to
the fit, and where m ≤ 4096.

References
----------
[1] Rudi, Carratino & Rosasco, *FALKON: an optimal large scale kernel method*, NIPS 2017; Meanti,
Carratino, Rosasco & Rudi, *Kernel methods through the roof*, NeurIPS 2020.
"""

import numpy as np
from scipy import linalg, sparse

from kernelbook.numeric.blas import one_thread
from kernelbook.numeric.conjugate_gradients import conjugate_gradients, norms
from kernelbook.numeric.tiles import silent
from kernelbook.solvers.grls.nystrom.basis import CenterBasis
from kernelbook.solvers.grls.nystrom.normal_equations import accumulate, factored
from kernelbook.solvers.grls.nystrom.sums import Rounding, sums
from kernelbook.solvers.grls.problem import IterativeSolution, ScaledData
from kernelbook.solvers.grls.saddle_factor import project

__all__ = ["direct_pays", "solve", "suitable_basis"]

_EPS = np.finfo(float).eps
_ROUNDS = 6  # residuals computed anew
_TYPICAL_STEPS = 20  # of conjugate gradients with a sketched preconditioner
_SMALL = 4096  # samples whose full duality gap is cheap, whatever the fit costs
_SHARE = 0.25  # of what the fit costs that the full duality gap may add to it
_PROBE = 256  # rows on which the rounding of predictions is measured


def entry_cost(d):
    """Operations for one entry of K: an inner product and a profile."""
    return 2 * d + 40


def direct_pays(n, d, k=1):
    """Whether one heavy pass, 2mn², is cheaper than `_TYPICAL_STEPS` light ones."""
    return 2 * n <= _TYPICAL_STEPS * (entry_cost(d) + 4 * k)


def suitable_basis(kernel, centers, P, reg, tol, k=1) -> CenterBasis:
    """The basis that suits the solver: see **Rounding** and **Dropped centres**."""
    if not direct_pays(centers.shape[0], centers.shape[1], k):
        largest = np.abs(kernel(centers[:_PROBE])).max()
        rtol = (_EPS / max(tol, _EPS)) ** 2 * largest / reg
        basis = CenterBasis(kernel, centers, P, float(np.clip(rtol, 32 * _EPS, 1e-9)))
        if not basis.dropped:
            return basis
    return CenterBasis(kernel, centers, P)


def solve(basis, X, P, Y, reg, weights=None, **options) -> IterativeSolution:
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
        At most so many passes of conjugate gradients.
    sketch : int, optional
        s, the number of rows of the preconditioner; by default all, where that pays or centres
        have been dropped, otherwise 4n.
    random_state : RandomState instance, optional
        Draws these rows.
    tick : callable, optional
        tick(rows) as passes proceed.
    """
    return _Nystrom(basis, X, P, Y, reg, weights).solve(**options)


class _Nystrom:
    def __init__(self, basis, X, P, Y, reg, weights):
        self.basis, self.X = basis, X
        self.data = ScaledData(P, Y, weights)
        self.m = X.shape[0]
        self.rho = self.m * float(reg) / basis.unit
        if not 0 < self.rho < np.inf:
            raise ValueError(
                f"reg={reg!r} is not a positive number in the units of the kernel: this solver "
                "needs 0 < reg < ∞."
            )

    def solve(self, tol=1e-8, max_iter=1000, sketch=None, random_state=None, tick=silent):
        data, basis, m = self.data, self.basis, self.m
        k = data.target.shape[1]
        if sketch is None:
            direct = basis.dropped or direct_pays(basis.rank, self.X.shape[1], k)
            sketch = m if direct else 4 * basis.n
        self.direct, self.light, self.trace, self.change = sketch >= m, False, 0.0, 0.0
        self.panels = basis.kernel.panels(self.X, basis.points, tick)
        if basis.rank == 0 or data.explained.all():
            lam, e = data.given(np.zeros_like(data.target))
            # u = 0 is the optimum where there is no u; elsewhere the gap is at most the loss.
            bound = norms(e) * np.sqrt(self.rho) * (basis.rank > 0)
            return self._finish((np.zeros((basis.rank, k)), lam, e, bound), 0, tick)
        find = self._directly if self.direct else self._by_gradients
        enough = tol * np.sqrt(self.rho) * data.size
        return self._finish(*find(enough, sketch, max_iter, random_state, tick), tick)

    def _directly(self, enough, sketch, max_iter, random_state, tick):
        """(u, λ, e, bound of ‖r‖) by the factor of (1), refined as long as that pays."""
        data, rho = self.data, self.rho
        right = self._all_translates(enough)
        if right is not None:
            u, before = self._precondition(right), np.inf
            for _ in range(_ROUNDS):
                state = self._corrected(self._anew(u, translates=True))
                u, bound = state[0], state[3]
                if np.all(bound <= enough):
                    return state, 0
                if not np.any(bound < 0.5 * before) or np.any(self.delta > enough):
                    break
                before = bound
        self.light, self.change = False, 0.0
        right = self._all_rows(tick)
        u = self._precondition(right)
        u += self._precondition(right - self.A @ u - rho * u)
        bound = norms(right - self.A @ u - rho * u) + self.noise * norms(u)
        if np.all(bound <= enough):
            lam, e = data.given(self.panels.times(self.basis.times(u)))
            return (u, lam, e, bound), 0
        state = self._anew(u)
        for _ in range(_ROUNDS):
            before = norms(state[3])
            if np.all(before <= enough):
                break
            state = self._better(state, self._anew(u + self._precondition(state[3])))
            u = state[0]
            if not np.any(norms(state[3]) < 0.5 * before):
                break
        return (*state[:3], norms(state[3])), 0

    def _corrected(self, state):
        """A step u + Ĥ⁻¹r without a pass of its own: the proposition of `nystrom.sums` bounds what
        it leaves, and the sums know by how much it changes λ and the loss."""
        u, lam, e, r = state
        du = self._precondition(r)
        ZMe = r + self.rho * u
        self.change = np.einsum("ij,ij->j", du, self.A @ du - 2 * ZMe)
        left = np.hypot(norms(e), norms(self.along)) * ~self.data.explained
        self.delta = self.rounding.residual(left)
        bound = self.rounding.share(self.rho) * norms(r) + self.delta
        return u + du, lam - self.data.T @ (self.B.T @ du), e, bound

    def _by_gradients(self, enough, sketch, max_iter, random_state, tick):
        """The same by conjugate gradients with the preconditioner of `sketch` rows."""
        residual = self._sketch(sketch, random_state, tick)
        state, u, steps = None, np.zeros_like(residual), 0
        for _ in range(_ROUNDS):
            before = norms(residual)
            left = np.maximum(0.3 * enough, 1e-9 * before)
            du, used, _ = conjugate_gradients(
                self._apply, self._precondition, residual, left, max_iter - steps
            )
            steps += used
            trial = self._from_c(u + du)
            state = trial if state is None else self._better(state, trial)
            u, residual = state[0], state[3]
            after = norms(residual)
            if not np.any((after > enough) & (after < 0.5 * before)) or steps >= max_iter:
                break
        return (*state[:3], norms(residual)), steps

    @staticmethod
    def _better(old, new):
        """Column by column, the one of two states with the smaller residual."""
        better = norms(new[3]) < norms(old[3])
        return tuple(np.where(better, b, a) for a, b in zip(old, new, strict=True))

    # ------------------------------------------------------------------ the matrix of (1)

    def _all_rows(self, tick):
        """Factor the matrix itself; returns the right-hand side."""
        Q = self.data.Q
        gram, products = accumulate(
            self.basis, self.X, np.hstack([Q, self.data.rest]), self.data.root[:, 0], tick
        )
        B, right = products[:, : Q.shape[1]], products[:, Q.shape[1] :]
        with one_thread(self.basis.rank):
            self.B, self.A, self.noise = B, gram - B @ B.T, _EPS * np.linalg.norm(gram)
            self.trace = np.trace(gram)
            self.factor = factored(self.A, self.rho, self.noise)
        # Where the features explain y, u stays exactly zero.
        return right * ~self.data.explained

    def _all_translates(self, enough):
        """As `_all_rows`, from sums over k; None where they would lose too many digits."""
        data, basis, left = self.data, self.basis, norms(self.data.rest)
        if basis.dropped or basis.unit != 1.0 or basis.inverse_norm == np.inf:
            return None  # what dropped centres cost is a difference that leaves no digit to lose
        rows = self._probe()
        panel = data.root[rows] * basis.kernel(self.X[rows], basis.points)
        expected = Rounding(self.m / len(rows) * np.sum(panel**2), basis.inverse_norm)
        if not expected.harmless(self.rho, left, enough):
            return None
        root = data.root if data.weighted else None
        gram, (along, right) = sums(self.panels, root, [data.Q, data.rest])
        self.rounding = Rounding(np.trace(gram), basis.inverse_norm)
        if not self.rounding.harmless(self.rho, left, enough):
            return None
        with one_thread(basis.rank):
            self.B, ZZ = basis.adjoint(along), basis.whitened(gram)
            self.trace, self.light = np.trace(ZZ), True
            self.A = ZZ - self.B @ self.B.T
            self.factor = factored(self.A, self.rho, self.rounding.matrix)
            return basis.adjoint(right) * ~data.explained

    def _sketch(self, s, random_state, tick):
        """Factor the matrix of s rows; returns the right-hand side."""
        data, rng = self.data, random_state or np.random.RandomState(0)
        rows = np.sort(rng.choice(self.m, size=s, replace=False))
        root = data.root[rows, 0] * np.sqrt(self.m / s)
        Q = np.linalg.qr(data.Q[rows])[0]
        gram, B = accumulate(self.basis, self.X[rows], Q, root)
        self.trace = np.trace(gram)  # an estimate
        self.factor = factored(gram - B @ B.T, self.rho, _EPS * np.linalg.norm(gram))
        both = self.panels.adjoint(data.root * np.hstack([data.Q, data.rest]))
        both = self.basis.adjoint(both)
        self.B = both[:, : data.Q.shape[1]]
        return both[:, data.Q.shape[1] :] * ~data.explained

    def _precondition(self, R):
        with one_thread(len(R)):
            return linalg.cho_solve(self.factor, R, check_finite=False)

    def _apply(self, V):
        """(ẐᵀMẐ + ρI)V in one pass: what the features take away is known from ẐᵀQ."""
        weights = self.data.root[:, 0] ** 2
        product = self.basis.adjoint(self.panels.normal(self.basis.times(V), weights))
        return product - self.B @ (self.B.T @ V) + self.rho * V

    # -------------------------------------------------------------------------- the result

    def _from_c(self, u):
        """u, λ, e and r, in two passes over K: rounding of r is not the least possible."""
        data, basis = self.data, self.basis
        lam, e = data.given(self.panels.times(basis.times(u)))
        residual = basis.adjoint(self.panels.adjoint(data.root * e)) - self.rho * u
        return u, lam, e, residual * ~data.explained

    def _anew(self, u, translates=False):
        """u, λ, e and r, in one pass over K and ẑ; or over K alone, with the rounding of that."""
        data, basis, root = self.data, self.basis, self.data.root
        c, g = basis.times(u), np.empty_like(data.target)

        def work(total, rows, panel):
            np.matmul(panel, c, out=g[rows])
            Z = panel if translates else basis.coordinates(panel)
            left = data.rest[rows] - root[rows] * g[rows]
            total[0][...] += Z.T @ (root[rows] * left)
            total[1][...] += data.Q[rows].T @ left

        shapes = u.shape, (data.Q.shape[1], u.shape[1])
        products, self.along = self.panels.each(work, lambda: tuple(map(np.zeros, shapes)))
        if translates:
            products = basis.adjoint(products)
        residual = products - self.B @ self.along - self.rho * u
        return u, *data.given(g), residual * ~data.explained

    def _finish(self, state, steps, tick):
        data, basis, rho = self.data, self.basis, self.rho
        u, lam, e, bound = state
        penalty, loss = rho * norms(u) ** 2, np.maximum(norms(e) ** 2 + self.change, 0.0)
        off = bound / np.sqrt(rho) + self._rounding(u)
        outside, along = self._full(e, steps, tick)
        lost, moved = self._dropped(e, off, outside, along)
        # The dual objective is 0 at α = 0: the gap is never above the objective.
        gap = np.minimum(off**2 + lost, loss + penalty)
        full = None
        if outside is not None:
            with np.errstate(over="ignore"):
                full = np.minimum(off**2 + outside / rho, loss + penalty) / self.m
                full = full * data.y_unit * data.y_unit
        with np.errstate(over="ignore"):
            c, coef = basis.place(basis.times(u)) * data.y_unit, lam * data.y_unit
        if not (np.isfinite(c).all() and np.isfinite(coef).all()):
            raise ValueError("the coefficients overflow: rescale y, or the kernel.")
        return IterativeSolution(
            *(c, coef),
            energy=(penalty + loss) / rho,
            y_unit=data.y_unit,
            unit=basis.unit,
            features=data.features,
            certificates=data.certificates(loss, penalty, gap, e, off + moved),
            n_iter=steps,
            full_gap=full,
        )

    def _dropped(self, e, off, outside, along):
        """What dropped centres could take from the objective (times m), and move fitted values."""
        if not self.basis.dropped:
            return 0.0, 0.0
        trace, size = self.m * self.basis.lost, norms(e)
        if not self.basis.kernel.cpd_order:  # else K(x, x) is no squared norm
            diagonal = self.basis.kernel.diag(self.X) / self.basis.unit
            largest = self.data.root[:, 0] ** 2 @ diagonal
            trace = min(trace, max(largest - self.trace, 0.0) + 2 * _EPS * largest)
        lost, moved = trace * size**2 / self.rho, trace * (size + off) / self.rho
        if outside is not None:
            lost = np.minimum(lost, outside / self.rho)
            if _same(self.basis.centers, self.X):
                moved = np.minimum(moved, along / self.rho)
        return lost, np.minimum(moved, np.sqrt(lost))

    def _rounding(self, u):
        """An estimate of the norm of Kc − Ẑu, two ways to say the same, from some rows."""
        if not u.any():
            return np.zeros(u.shape[1])
        rows = self._probe()
        panel = self.basis.kernel(self.X[rows], self.basis.points)
        off = panel @ self.basis.times(u)
        off -= self.basis.coordinates(panel) @ u
        return norms(self.data.root[rows] * off) * np.sqrt(self.m / len(rows))

    def _probe(self):
        """Some rows, spread over the sample."""
        return np.unique(np.linspace(0, self.m - 1, _PROBE).astype(int))

    def _full(self, e, steps, tick):
        """eᵀRe and ‖MRe‖ where they are cheap beside the fit, otherwise None."""
        n, d = self.basis.n, self.X.shape[1]
        entry = entry_cost(d)
        fit = n * ((1 if self.light else 2) * n + 2 * entry if self.direct else (steps + 4) * entry)
        # Half of a symmetric matrix is computed.
        if self.m > _SMALL and self.m * entry / 2 > _SHARE * fit:
            return None, None
        data, basis = self.data, self.basis
        Se = data.root * e
        product = basis.kernel.gram_matvec(self.X, Se, tick) / basis.unit
        ZSe = basis.adjoint(self.panels.adjoint(Se))
        square = np.einsum("ij,ij->j", Se, product)
        # The sums cancel to a part of their terms; what that leaves of them, as of random errors:
        largest = np.abs(basis.kernel(self.X[:_PROBE])).max() / basis.unit
        rounding = _EPS * largest * np.abs(Se).sum(axis=0) * norms(Se)
        outside = np.maximum(square - norms(ZSe) ** 2, 0.0) + rounding
        if not basis.dropped:
            return outside, None
        product -= self.panels.times(basis.times(ZSe))
        return outside, norms(project(data.Q, data.root * product))


def _same(A, B):
    """Whether two sets of rows are equal, row by row."""
    if A.shape != B.shape:
        return False
    return abs(A - B).max() == 0 if sparse.issparse(A) else np.array_equal(A, B)
