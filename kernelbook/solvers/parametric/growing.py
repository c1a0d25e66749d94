"""The hinge loss over a basis that grows: one exact solution after the other.

    min ½‖w‖² + Σ C_i (1 − y_i f_i)₊,     f = X̂w + Pλ,

is the dual (QP) with Φ = X̂X̂ᵀ.  A new basis function adds a column x to X̂, xxᵀ to Φ and g x to f,
g = xᵀβ.  With a = y + g x in place of y the old β and λ are therefore still optimal; what is left
is to take the shift back, a path on which few samples change places.  (In the primal: the new
weight starts at zero, held there by a linear term −g w that fades.)

Two facts that selection rules can use.  The objective never rises, since w = 0 for the new function
is allowed; and it cannot fall by more than ½g²: the old β is feasible in the new dual, where its
value is ½g² less.
"""

import numpy as np

from kernelbook.solvers.parametric import Affine, ParametricQP, PathError, Problem

__all__ = ["GrowingHinge"]

EPS = float(np.finfo(float).eps)
GOOD = 1e-8
"""A larger violation of an optimality condition, beyond rounding, is not accepted."""
ATTEMPTS = 4


class GrowingHinge:
    """The exact solution for the columns that `gram` has at present.

    Parameters
    ----------
    gram : FactorGram
        X̂, without the part of it that the features can express.
    P : (n, r) array
        Features of full rank with PᵀP = nI.
    y : (n,) array of ±1
    C : (n,) array, positive

    Attributes
    ----------
    beta, lam, f : arrays
        The solution; f = X̂X̂ᵀβ + Pλ.
    kkt : float
        The largest violation of a condition of optimality: of the margin in units of f, of the
        box in units of C.
    n_restarts : int
        How often the path was lost to rounding errors and the solution found anew.
    """

    def __init__(self, gram, P, y, C):
        self.gram, self.P, self.y, self.C = gram, P, y, C
        top = y * C
        self.top, self.low, self.up = top, np.minimum(top, 0.0), np.maximum(top, 0.0)
        self.n_restarts = 0
        self._solve(lambda: self._begin(0))

    def copy(self):
        """An independent solver over the same columns."""
        other = object.__new__(GrowingHinge)
        other.__dict__.update(self.__dict__)
        other.qp = self.qp.copy()
        return other

    def grow(self, x):
        """Solve again, now that `gram` has got the column x."""
        self._solve(lambda: self._follow(x))

    def _solve(self, first):
        """Try `first`, and then more and more thorough ways, until the solution is good."""
        ways = [first, lambda: self.qp.settle(self._problem())]
        ways += [lambda seed=seed: self._begin(seed) for seed in range(1, ATTEMPTS)]
        best = None
        for attempt, way in enumerate(ways):
            self.n_restarts += attempt > 0
            try:
                way()
                found = self._unperturbed()
            except (PathError, np.linalg.LinAlgError):
                continue
            if best is None or found[-1] < best[-1]:
                best = found
            rounding = 1e2 * EPS * self.gram.scale * np.abs(found[0]).sum()
            if found[-1] <= GOOD + rounding:
                break
        if best is None:
            raise PathError(
                "rounding errors are too large to solve the problem: C, or the values of the basis "
                "functions, are too large."
            )
        self.beta, self.lam, self.f, self.kkt = best

    def _follow(self, x):
        shift = (x @ self.qp.beta) * x
        self.qp.add_column(x, self._problem(shift))
        self.qp.run(1.0)

    def _begin(self, seed):
        """From everybody at the bound."""
        problem = self._problem()
        self.qp = ParametricQP(self.gram, self.P, problem, 0.0, np.sign(self.y), seed=seed)
        self.qp.settle(problem)

    def _problem(self, shift=0.0):
        """a goes from y + shift to y."""
        shift = np.zeros_like(self.y) + shift
        low, up = Affine.constant(self.low), Affine.constant(self.up)
        q = Affine.constant(np.zeros(self.P.shape[1]))
        return Problem(Affine(self.y + shift, -shift), low, up, q)

    def _unperturbed(self):
        """(β, λ, f, violation) of the unperturbed problem for the places that were found; or the
        perturbed solution, moved into the box, if that is better."""
        qp = self.qp
        bounded = np.where(qp.side == np.sign(self.y), self.top, 0.0)
        bounded[qp.elbow] = 0.0
        beta, lam = bounded.copy(), np.where(qp.M.pinned, qp.lam, 0.0)
        f = qp.solve(beta, lam, self.gram.embed_all(bounded), self.y, np.zeros_like(lam))
        violation = self._violation(beta, f)
        if violation > GOOD:
            moved = np.clip(qp.beta, self.low, self.up)
            g = self.gram.evaluate(self.gram.embed_all(moved)) + self.P @ qp.lam
            if (other := self._violation(moved, g)) < violation:
                return moved, qp.lam.copy(), g, other
        return beta, lam, f, violation

    def _violation(self, beta, f):
        excess, side = f - self.y, self.qp.side
        margin = np.where(side == 0, np.abs(excess), side * excess).max()
        box = np.max(np.maximum(beta - self.up, self.low - beta) / self.C)
        balance = np.abs(self.P.T @ beta).max(initial=0.0) / (self.C.max() * self.y.size)
        return float(max(margin, box, balance, 0.0))
