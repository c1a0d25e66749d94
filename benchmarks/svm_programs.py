"""Ten free features by general quadratic programming: what one writes without this library.

All solve the semiparametric dual,

    minimize  ½αᵀ(yyᵀ∘K)α − 1ᵀα,      Pᵀ(y∘α) = 0,   0 ≤ α ≤ C;

cvxopt, OSQP, Clarabel and PIQP get it in the form they like best, and λ is the multiplier of the
equations.  The first-order method OSQP is asked for 10⁻⁴, which is as much as it gives in time.
"""

import clarabel
import cvxopt
import numpy as np
import osqp
import piqp
from scipy import sparse

from benchmarks.harness import Case, Target
from benchmarks.problems import noisy_xor
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "SVM-GB with ℓ=10 beside general solvers of quadratic programs"
TARGETS = {
    "cvxopt": Target(median=30.0),
    "Clarabel": Target(median=5.0),
    "OSQP": Target(median=5.0),
    "PIQP": Target(median=5.0),
}

C = 1.0
WIDTH = 10**0.5


def free(X):
    return np.column_stack([np.ones(len(X)), X[:, :9]])


def cases(quick):
    everybody = {"cvxopt": by_cvxopt, "PIQP": by_piqp, "Clarabel": by_clarabel, "OSQP": by_osqp}
    yield case(500 if quick else 2000, everybody)


def case(m, solvers):
    X, y = noisy_xor(m, 10)
    P = free(X)

    def program():
        K = Gaussian(WIDTH)(X)
        return y[:, None] * K * y, (P * y[:, None]).T

    def objective(answer):
        """½βᵀKβ + CΣ(1 − yf)₊ with the multipliers that were returned, whatever their sign."""
        alpha, lam = answer
        beta = y * np.clip(alpha, 0.0, C)
        h = Gaussian(WIDTH)(X) @ beta
        loss = min(np.maximum(0, 1 - y * (h + P @ s)).sum() for s in (lam, -lam))
        return 0.5 * beta @ h + C * loss

    def ours():
        model = SVMGBClassifier(Gaussian(WIDTH), features=free, C=C).fit(X, y)
        beta = np.zeros(m)
        beta[model.support_] = model.dual_coef_[0]
        return y * beta, model.coef_[0]

    peers = {name: lambda solve=solve: solve(*program()) for name, solve in solvers.items()}
    return Case(f"noisy_xor m={m} d=10 C=1", ours, peers, objective, {"m": m, "l": 10})


def by_cvxopt(H, A):
    m = len(H)
    G = cvxopt.spmatrix([-1.0] * m + [1.0] * m, range(2 * m), [*range(m), *range(m)])
    h = cvxopt.matrix(np.concatenate([np.zeros(m), np.full(m, C)]))
    answer = cvxopt.solvers.qp(
        cvxopt.matrix(H), cvxopt.matrix(-np.ones(m)), G, h,
        cvxopt.matrix(A), cvxopt.matrix(np.zeros(len(A))), options={"show_progress": False},
    )  # fmt: skip
    return np.ravel(answer["x"]), np.ravel(answer["y"])


def by_clarabel(H, A):
    m, l = len(H), len(A)
    eye = sparse.identity(m, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(H)), -np.ones(m),
        sparse.vstack([sparse.csc_matrix(A), -eye, eye], format="csc"),
        np.concatenate([np.zeros(l), np.zeros(m), np.full(m, C)]),
        [clarabel.ZeroConeT(l), clarabel.NonnegativeConeT(2 * m)], settings,
    )  # fmt: skip
    answer = solver.solve()
    return np.array(answer.x), np.array(answer.z)[:l]


def by_osqp(H, A):
    m, l = len(H), len(A)
    constraints = sparse.vstack([sparse.csc_matrix(A), sparse.identity(m)], format="csc")
    low, high = np.zeros(l + m), np.concatenate([np.zeros(l), np.full(m, C)])
    solver = osqp.OSQP()
    solver.setup(
        sparse.csc_matrix(np.triu(H)), -np.ones(m), constraints, low, high,
        verbose=False, eps_abs=1e-4, eps_rel=1e-4, max_iter=20_000,
    )  # fmt: skip
    answer = solver.solve()
    return answer.x, answer.y[:l]


def by_piqp(H, A):
    m = len(H)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.setup(H, -np.ones(m), A, np.zeros(len(A)), x_l=np.zeros(m), x_u=np.full(m, C))
    solver.solve()
    return np.array(solver.result.x), np.array(solver.result.y)
