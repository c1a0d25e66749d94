"""Paper A's own way to the SVM-GB: a quadratic program, then a linear program, by cvxopt.

It is slow, and exists to be read and compared with.  The numbers are those of the paper
(*Generalizing the bias term of support vector machines*, IJCAI 2007); its α is 2γ·α here, so that
the box is [0, C_i] with C = 1/(2γm).

1. *Anchors.*  r samples on which the features are independent, r = rank P; the paper takes the
   first ℓ, which need not be.  Cardinal features φ'_p (10): one at the p-th anchor, zero at the
   others.
2. *Conditional kernel* (9): H(x, y) = Φ(x, y) − Σφ'_p(x)Φ(x_p, y) − Σφ'_q(y)Φ(x, x_q)
   + ΣΣφ'_p(x)φ'_q(y)Φ(x_p, x_q).  It vanishes at the anchors.
3. *Quadratic program* (23), (24), the anchors' coefficients in α₁, the others in α₂:

       minimize ½α₂ᵀY₂HY₂α₂ − 1ᵀα,       0 ≤ α ≤ C,    Y₁α₁ + E₂Y₂α₂ = 0 .

4. *Linear program* (25) for the λ̃ of f = Σλ̃_pφ'_p + Σ_j c̃_jH(x_j, ·), c̃ = Y₂α₂:

       minimize Σ C_iξ_i,     y_i f(x_i) ≥ 1 − ξ_i,   ξ_i ≥ 0 .

   The paper prints φ_p where φ'_p is meant; taken literally the program has another solution.

The linear program returns *some* optimal λ̃.  So that the answer does not depend on the solver, λ is
then chosen by the rule of `svm.multipliers`, starting from λ̃.

Chapter: book/free/svmgb
"""

import numpy as np
from scipy import linalg

from kernelbook.solvers.svm.certificate import DEFAULT_TOLERANCE, finish
from kernelbook.solvers.svm.convexity import definiteness_of
from kernelbook.solvers.svm.problem import DualPoint, pose

__all__ = ["conditional_gram", "solve_reference"]


def solve_reference(
    gram,
    P,
    y,
    C,
    *,
    tolerance=DEFAULT_TOLERANCE,
    definiteness="pd",
    linear_offset=None,
    product=None,
    max_iter=-1,
    verbose=0,
):
    """Solve one binary problem; parameters and result as in `svm.solve.solve_robust`."""
    cvxopt = _import_cvxopt()
    options = {
        "show_progress": bool(verbose),
        "maxiters": 200 if max_iter < 0 else max_iter,
        **dict.fromkeys(("abstol", "reltol", "feastol"), 1e-11),
    }
    dual = pose(P, y, C, max(gram.max(initial=0.0), -gram.min(initial=0.0)))
    if definiteness == "unknown":
        definiteness_of(gram, dual.Q)
    E, H = conditional_gram(gram, dual.Q)
    try:
        alpha, at_zero, at_C, steps = _quadratic_program(cvxopt, H, E, y, C, options)
        values, more = _linear_program(cvxopt, H, E, y, C, y * alpha, options)
    except (ArithmeticError, ValueError) as error:
        raise RuntimeError(
            f"cvxopt could not solve this problem ({error}); use solver='robust', or scale the "
            "data."
        ) from error
    beta = np.where(at_zero, 0.0, np.where(at_C, y * C, y * alpha))

    def from_gram(beta):
        return gram @ beta if linear_offset is None else gram @ beta + linear_offset @ beta

    # f = `values` on the sample; ν accounts for all of it, that is, for the kernel's part in H too.
    point = DualPoint(beta, dual.Q.T @ values, steps + more)
    return finish(dual, point, product or from_gram, tolerance, in_span=from_gram)


def conditional_gram(gram, Q):
    """The cardinal features E (r×m) and H (m×m) on the sample; equations (10) and (9)."""
    m, r = Q.shape
    if r == 0:
        return np.zeros((0, m)), gram
    anchors = linalg.qr(Q.T, mode="r", pivoting=True)[1][:r]
    E = linalg.solve(Q[anchors].T, Q.T)
    E[:, anchors] = np.eye(r)
    H = gram - E.T @ gram[anchors]
    H = H - H[:, anchors] @ E
    H[anchors], H[:, anchors] = 0.0, 0.0
    return E, 0.5 * (H + H.T)


def _quadratic_program(cvxopt, H, E, y, C, options):
    """α of (23), (24), and which of its entries belong to a bound, by the multipliers there."""
    m, matrix = y.size, cvxopt.matrix
    solution = cvxopt.solvers.qp(
        matrix(y[:, None] * H * y),
        matrix(-np.ones(m)),
        cvxopt.spmatrix(-1.0, range(m), range(m), (2 * m, m))
        + cvxopt.spmatrix(1.0, range(m, 2 * m), range(m), (2 * m, m)),
        matrix(np.concatenate([np.zeros(m), C])),
        matrix(E * y),
        matrix(np.zeros(len(E))),
        options=options,
    )
    alpha = np.clip(np.array(solution["x"]).ravel(), 0.0, C)
    z = np.array(solution["z"]).ravel()
    # Units that make a slack and its multiplier comparable.
    unit = np.maximum(H.diagonal().max(initial=0.0), 1.0 / C)
    at_zero = unit * alpha < z[:m]
    return alpha, at_zero, ~at_zero & (unit * (C - alpha) < z[m:]), solution["iterations"]


def _linear_program(cvxopt, H, E, y, C, c, options):
    """f on the sample for the λ̃ of (25), with the cardinal features where they belong."""
    m, r, matrix = y.size, len(E), cvxopt.matrix
    kernel_part = H @ c
    if r == 0:
        return kernel_part, 0
    G = np.block([[-(y[:, None] * E.T), -np.eye(m)], [np.zeros((m, r)), -np.eye(m)]])
    bound = np.concatenate([y * kernel_part - 1.0, np.zeros(m)])
    cost = np.concatenate([np.zeros(r), C / C.max()])
    solution = cvxopt.solvers.lp(matrix(cost), matrix(G), matrix(bound), options=options)
    lam = np.array(solution["x"]).ravel()[:r]
    return kernel_part + E.T @ lam, solution.get("iterations", 0)


def _import_cvxopt():
    try:
        import cvxopt
        import cvxopt.solvers
    except ImportError as error:
        raise ImportError(
            "solver='cvxopt' needs the package cvxopt: pip install 'kernelbook[reference]', "
            "or use solver='auto'."
        ) from error
    return cvxopt
