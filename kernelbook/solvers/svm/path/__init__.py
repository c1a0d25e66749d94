"""The SVM's path in C, and one engine for such paths: a quadratic program with moving data.

The rooms: `svm_path`, the front door, its result and what it proves; `tracer`, start and restarts
of the path in C; `pieces`, one piece and its violation; `follower`, one solution followed from
event to event; `pivots`, what an event does; `inverse`, M⁻¹ as it gains and loses rows; `gram` and
`problem`, the data.  Chapters `primal/path` and `computing/choosing`.

The support vector machine with free features is the quadratic program

    min ½βᵀΦβ − aᵀβ     subject to  Pᵀβ = q,  low ≤ β ≤ up,                           (QP)

with Φ positive semidefinite on ker Pᵀ.  Let a, q, low and up be affine functions of a parameter t.
Then an optimal (β, λ) is a piecewise affine function of t, and it can be followed exactly:

- C moves: the regularization path of Hastie et al., here with ℓ free features (`svm_path`);
- a ramp on `a` would switch a new basis function on, a ramp on `up` a new sample;
- a ramp on q leads from a problem with an obvious solution to the one wanted (the start).

**Optimality.**  With f = Φβ + Pλ every sample is in one of three places:

    β_i = up_i and f_i ≤ a_i,      low_i ≤ β_i ≤ up_i and f_i = a_i,      β_i = low_i and f_i ≥ a_i.

The samples in the middle form the *elbow* E.  Between two events no sample changes its place, so
the unknowns solve a linear system M z = r(t) with an affine right side.  Write the optimality
system as H = [Φ P; Pᵀ 0] over samples and features; then M = H_SS, where S holds the elbow and
those features p whose λ_p the elbow determines.  A λ_p that it does not determine (no sample in the
elbow, say) is *pinned* at its value: any value in a whole interval is optimal.

**Events.**  A sample of the elbow reaches a bound and leaves S, or f_j reaches a_j and j enters S.
Each is a principal pivot of H: M⁻¹ grows or shrinks by a block of one or two rows.  Three cases
need more than that.

1. *j brings a pinned λ_p to life* (its row of P is new to the elbow): j and p enter together.
   When the last sample that determines λ_p leaves, both leave.
2. *H_SS would become singular*: j depends on the elbow (duplicates, linear kernels).  Then
   β can move inside the elbow and j without changing f.  Move j off its bound until something
   else hits a bound, and let that leave instead: β is not unique here, and jumps; f does not.
3. *A pinned equation Pᵀβ = q would break* as t moves on.  Then λ must jump: move λ_p alone, at
   constant t and β, until f_j reaches a_j for some j; j and p enter together.

2 and 3 are duals of each other, and with them M stays invertible without any assumption on
rank P_E or on Φ_EE.

**Ties.**  If several events coincide, pivoting can cycle.  So what is followed is a problem with a,
low and up perturbed at random in the eleventh digit, in which no two events coincide; and what
is reported (`exact`) solves the unperturbed equations for the places that it finds.

References
----------
M. J. Best, *An algorithm for the solution of the parametric quadratic programming problem*, 1996.
T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, *The entire regularization path for the support
vector machine*, JMLR 5, 2004.
G. Cauwenberghs, T. Poggio, *Incremental and decremental support vector machine learning*, 2000.
H. J. Ferreau, H. G. Bock, M. Diehl, *An online active set strategy to overcome the limitations of
explicit MPC*, 2008.
"""

from kernelbook.solvers.svm.path.follower import ParametricQP
from kernelbook.solvers.svm.path.problem import Affine, PathError, Problem

__all__ = ["Affine", "ParametricQP", "PathError", "Problem"]
