"""A basis that grows: one orthonormal function more, and the hinge loss minimized again.

Paper C, section 3.2: add basis functions one at a time, each made orthogonal to those before.

**The factor.**  With Gram matrix G and chosen functions p_1 … p_k the growing Cholesky factor has
L_jk = ⟨f_j, e_k⟩ for *all* functions f_j.  One more function p costs one column,

    d = G_pp − Σ_k L_pk²,     L_·,k+1 = (G_·p − L L_pᵀ)/√d,     x̂_·,k+1 = (B_·p − X̂ L_pᵀ)/√d,

O((n + M)k) operations for n samples and M functions; nothing is factorized afresh.  √d is the
distance of f_p from the span.  It is a difference of numbers with a rounding error of about
kε G_pp; a function no farther than that is refused, whatever `rtol`: what would be normalized is
noise.

**Patience.**  A function that is a little farther is normalized with a relative error of about
η = kε G_pp/d in the square, and so is what all others have in common with it: L_jp², which by
Cauchy and Schwarz is at most the squared distance of f_j.  As long as some f_j is far, that is a
large error, and X̂X̂ᵀ no longer the kernel of a subspace: objectives then fall below that of the
whole space.  Always to take the farthest function (full pivoting) would avoid it, but here others
choose.  So a function is *postponed* while η times the largest squared distance, in units of the
squared norm, exceeds `TRUSTED` (threshold pivoting).  The farthest never waits, and distances only
fall: in the end everyone is chosen or refused.

**The solution.**  The old (w, λ, α) with a zero appended to w is feasible in the larger space and
nearly optimal: few samples change sides.  The method of multipliers starts there with a large
penalty, and looks for the sides; as soon as they are nearly right `kernelbook.solvers.sides` ends
it, exactly.  Every step is proved by its duality gap.  If that is not small the solver starts
again without the memory, and then with coordinate descent; the best is kept.

Two facts for selection rules.  The objective never rises, since w_{k+1} = 0 is allowed; and it
cannot fall by more than ½g², g = Σ β_i x̂_{i,k+1}: the old β is feasible in the new dual, where its
value is less by ½g².

References
----------
Giesen, Laue & Mueller (2012), section 3.2.  Higham (2002), *Accuracy and stability of numerical
algorithms*, on Cholesky factorization, with and without pivoting.
"""

from functools import partial

import numpy as np
from scipy import linalg, sparse

from kernelbook.solvers.multipliers import by_multipliers
from kernelbook.solvers.primal import solve_primal
from kernelbook.solvers.primal_problem import PrimalProblem, PrimalSolution
from kernelbook.solvers.sides import by_sides

__all__ = ["GrowingFactor", "GrowingHinge"]

EPS = float(np.finfo(float).eps)
EXACT = 1e-11
"""The relative gap that the warm start aims for; a Newton step from there leaves only rounding."""
GOOD = 1e-9
"""A larger relative gap makes the solver start again."""
TRUSTED = 1e-8
"""The relative error of an inner product that one more function may cause."""
BOLD = 1e2
"""The first penalty from a warm start."""
INDEFINITE = (
    "the Gram matrix of the basis is not positive semidefinite: a combination of the functions has "
    "a squared norm that is negative, or not finite.  Check the kernel, or `gram` of FunctionBasis."
)


class GrowingFactor:
    """x̂ of the functions chosen so far, at all samples.

    Parameters
    ----------
    B : (n, M) array or sparse matrix
        The evaluations of all functions that can be chosen.
    G : (M, M) array or None
        Their inner products; None where they are orthonormal.
    capacity : int
        How many functions will be chosen at most.
    rtol : float
        A function whose squared distance from the span is at most `rtol` times its squared norm
        is refused.

    Attributes
    ----------
    chosen : list of int
    squares : (M,) array
        The squared norms of the functions.
    """

    def __init__(self, B, G, capacity, rtol=32 * EPS):
        n, M = B.shape
        self._B = sparse.csc_array(B) if sparse.issparse(B) else B
        self._G, self._rtol = G, rtol
        self.squares = np.ones(M) if G is None else np.array(G.diagonal())
        if not (np.isfinite(self.squares).all() and self.squares.min(initial=0.0) >= 0.0):
            raise ValueError(INDEFINITE)
        self._X = np.zeros((n, min(capacity, M)))
        self._L = None if G is None else np.zeros((M, self._X.shape[1]))
        self._along = np.zeros(M)  # squared norms of the projections onto the span
        self.chosen = []

    @property
    def capacity(self):
        return self._X.shape[1]

    @property
    def X(self):
        """X̂, (n, k); a view."""
        return self._X[:, : len(self.chosen)]

    def column(self, j):
        """The coordinate that function j would add to x̂, or None if it must be refused."""
        if self._G is None:
            return self._evaluations([j])[:, 0]
        d = self.distance(j)
        if d == 0.0:
            return None
        return self._left([j])[:, 0] / np.sqrt(d)

    def distance(self, j):
        """The squared distance of function j from the span; 0 if it must be refused."""
        d = self.squares[j] - self._along[j]
        return float(d) if d > self.blind() * self.squares[j] else 0.0

    def postponed(self):
        """Which functions must wait, as the module says: a mask."""
        if self._G is None:
            return np.zeros(self.squares.size, dtype=bool)
        left = np.maximum(self.squares - self._along, 0.0)
        share = left / np.where(self.squares > 0, self.squares, 1.0)
        least = self._hidden() / TRUSTED * share.max(initial=0.0)
        return (share > self.blind()) & (share < least)

    def farthest(self):
        """The largest distance of a function from the span; at least what would be refused."""
        d = self.squares - self._along
        return float(np.sqrt(np.max(np.maximum(d, self.blind() * self.squares))))

    def blind(self):
        """A squared distance, in units of the squared norm, below which a function is refused."""
        return max(self._rtol, self._hidden())

    def _hidden(self):
        """The rounding error of a squared distance, in units of the squared norm."""
        return 8 * (len(self.chosen) + 1) * EPS

    def _evaluations(self, functions):
        b = self._B[:, functions]
        return b.toarray() if sparse.issparse(b) else b

    def _left(self, functions):
        """What the span leaves of some functions, at the samples; one column each."""
        return self._evaluations(functions) - self.X @ self._L[functions, : len(self.chosen)].T

    def evaluations(self, rows):
        """All functions at some samples."""
        b = self._B[rows]
        return b.toarray() if sparse.issparse(b) else b

    def append(self, j, x):
        """Choose function j, x = column(j)."""
        k = len(self.chosen)
        if self._G is not None:
            # Cauchy and Schwarz; a negative distance would prove as much, but rounding makes those.
            norms = np.sqrt(self.squares)
            if not np.all(np.abs(self._G[:, j]) <= (1 + 1e-8) * norms * norms[j]):
                raise ValueError(INDEFINITE)
            across = self._L[:, :k] @ self._L[j, :k]
            self._L[:, k] = (self._G[:, j] - across) / np.sqrt(self.distance(j))
            self._along += self._L[:, k] ** 2
        self._X[:, k] = x
        self.chosen.append(j)

    def truncate(self, k):
        """Forget all functions but the first k."""
        if self._G is not None:
            self._along -= np.sum(self._L[:, k : len(self.chosen)] ** 2, axis=1)
        del self.chosen[k:]

    def core(self):
        """The upper triangular (k, k) matrix T with e = f_chosen T; None for the identity."""
        if self._G is None:
            return None
        k = len(self.chosen)
        L = self._L[self.chosen, :k]
        return linalg.solve_triangular(L, np.eye(k), lower=True, trans="T")

    def drift(self):
        """X̂ − BT, two ways to the same numbers: grown column by column, and as `core` says."""
        T = self.core()
        return np.zeros_like(self.X) if T is None else self.X - self._evaluations(self.chosen) @ T

    def remainder(self, functions):
        """The largest value at a sample of what is left of refused functions, as if it were kept.

        That is, normalized.  The distance from the span is known to be at most what is hidden;
        below, it is noise, and to divide by that would make any remainder look large.
        """
        largest = 0.0
        for begin in range(0, len(functions), 256):
            part = functions[begin : begin + 256]
            squares = self.squares[part]
            size = np.maximum(squares - self._along[part], self.blind() * squares)
            size = np.sqrt(size)
            left = np.abs(self._left(part)).max(axis=0, initial=0.0)
            largest = max(largest, float(np.max(left / np.where(size > 0, size, 1.0))))
        return largest


class GrowingHinge:
    """One binary problem: ½‖w‖² + Σ C_i (1 − y_i f_i)₊, f = X̂w + Pλ, for more and more columns.

    Parameters
    ----------
    P : (n, ℓ) array;  y : (n,) array of ±1;  C : (n,) array, positive

    Attributes
    ----------
    solution : PrimalSolution
        For the columns that `solve` was last called with.
    n_restarts : int
        How often the warm start did not do.
    """

    def __init__(self, P, y, C):
        self.P, self.y, self.C = P, y, C
        self.n_restarts = 0
        self._separated = None
        problem = PrimalProblem(np.zeros((y.size, 1)), P, y, C, False)
        self._span = problem.span
        cold = by_multipliers(*self._arrays(problem), judge=problem.relative_gap)
        self.solution = problem.solution(cold.w, cold.lam, y * cold.alpha, cold.n_iter)
        self.lam, self.alpha, self.w = cold.lam, problem.unit * cold.alpha, np.zeros(0)
        if self.solution.certificate.primal <= 1e-8 * C.sum():
            self._separated = problem.separated()

    @staticmethod
    def _arrays(q):
        return q.X, q.P, q.y, q.top, q.delta

    def solve(self, X) -> PrimalSolution:
        """Solve for X̂ = X, from the present solution; keep the result."""
        self.solution, self.w, self.lam, self.alpha = self._solve(X)
        return self.solution

    def objective(self, X):
        """The objective for X̂ = X, keeping nothing."""
        return self._solve(X)[0].certificate.primal

    def _solve(self, X):
        k = X.shape[1]
        if self._separated is not None:  # T3: the features do it alone, whatever the basis
            s = self._separated
            kept = PrimalSolution(np.zeros(k), s.coef, s.beta, s.rank, 0, s.certificate)
            return kept, np.zeros(k), self.lam, self.alpha
        q = PrimalProblem(X, self.P, self.y, self.C, False, self._span)
        root = np.sqrt(q.unit)
        w = np.append(self.w, np.zeros(k - self.w.size)) / root
        warm = {"w": w, "lam": self.lam, "alpha": self.alpha / q.unit, "sigma": BOLD}
        ends = {
            "judge": q.relative_gap,
            "enough": EXACT,
            "finish": partial(by_sides, q.X, q.P, q.y, q.u),
        }
        best = None
        for start in (warm, {}):
            r = by_multipliers(*self._arrays(q), **start, **ends)
            found = q.solution(r.w, r.lam, q.y * r.alpha, r.n_iter)
            if best is None or found.certificate.gap < best[0].certificate.gap:
                best = (found, root * r.w, r.lam, q.unit * r.alpha)
            if best[0].certificate.relative_gap <= GOOD:
                return best
            self.n_restarts += 1
        found = solve_primal(X, self.P, self.y, self.C)
        if found.certificate.gap < best[0].certificate.gap:
            lam = linalg.lstsq(q.P, self.P @ found.coef)[0]
            best = (found, found.w, lam, self.y * found.beta)
        return best
