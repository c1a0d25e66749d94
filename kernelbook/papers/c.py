"""Paper C: its orthonormal bases, its Gaussians in L₂, its classifier, and its errata.

C's unknown is w = Σ_j ŵ_j e_j with orthonormal functions e_j made from given ones, f_1 … f_M:
e_k = Σ_j T_jk f_j.  All the functions below that make a basis return this (M, r) matrix T.  With
the Gram matrix G of the f's it has to satisfy TᵀGT = I; a sample is x̂_i = (e_1(x_i), …), so
x̂ = BT with B_ij = f_j(x_i).  C's γ is the *inverse* width of a Gaussian, 1/σ².

**The two readings of section 3.1.**  C lets a sample enter as x̂_ij = e_j(x_i).  Whatever T, the
learner then is the kernel machine of x̂x̂ᵀ = BG⁻¹Bᵀ.  In section 2 the f's are kernel functions
at the samples, B = G = K, and this is K.  In section 3.1 the f's are Gaussians with the inner
product of L₂: B_ij = f_j(x_i) has the exponent γ, G_ij = ⟨f_i, f_j⟩ has γ/2, and BG⁻¹Bᵀ is neither.
C's remark that equal widths give back the Gaussian machine holds if a sample enters as the
*element* f_i of the space, x̂_ij = ⟨f_i, e_j⟩, for which the equivalent kernel is GG⁻¹G = G.
"""

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from kernelbook.papers.erratum import Erratum

__all__ = [
    "c2_eigen_printed",
    "c2_eigen_repaired",
    "c2_gram_schmidt",
    "c3_decision_printed",
    "c3_decision_repaired",
    "c31_covariance",
    "c31_gram",
    "c31_kernel",
    "c31_values",
    "equivalent_kernel",
]


# ----------------------------------------------------------------- section 2: orthonormal bases


def c2_gram_schmidt(K):
    """C 2, Gram–Schmidt on k_1 … k_n as printed, in coefficients of the k's.

    Right, if K is positive definite.  If a k_i depends on those before it (two equal samples), the
    denominator is zero and NumPy says so.
    """
    n = len(K)
    T = np.zeros((n, n))
    for i in range(n):
        v = np.zeros(n)
        v[i] = 1.0
        v -= T[:, :i] @ (T[:, :i].T @ K[:, i])  # ⟨k_i, e_j⟩ = (Te_j)ᵀKe_i
        T[:, i] = v / np.sqrt(v @ K @ v)
    return T


def c2_eigen_printed(K):
    """C 2: e_i = λ_i^(−1/2) Σ_j u_ij k_j with UᵗKU = D.  It takes rows of U for columns."""
    values, U = linalg.eigh(K)
    return U.T / np.sqrt(values)


def c2_eigen_repaired(K):
    """e_i = λ_i^(−1/2) Σ_j u_ji k_j."""
    values, U = linalg.eigh(K)
    return U / np.sqrt(values)


def equivalent_kernel(B_left, G, B_right):
    """x̂·x̂' = BG⁻¹B'ᵀ: the kernel of the machine that C trains in the primal (G invertible)."""
    return B_left @ linalg.solve(G, B_right.T, assume_a="pos")


# ----------------------------------------------------------------------- section 3: classifiers


def c3_decision_printed(w, b, y, x_hat):
    """C 3: Σ_{i≤m} w_iy_ie_i(x) + b.  There is a label for each sample, not for each function."""
    return x_hat @ (w * y) + b


def c3_decision_repaired(w, b, x_hat):
    """Σ_i w_ie_i(x) + b, whose sign is the class."""
    return x_hat @ w + b


# ------------------------------------------------------------------ section 3.1: Gaussians in L₂


def c31_values(X, centers, gamma):
    """C 3.1: f_j(x_i), f_j(x) = (2γ_j/π)^(d/4) exp(−γ_j‖x − z_j‖²).  Right; ‖f_j‖ = 1 in L₂."""
    gamma = np.broadcast_to(np.asarray(gamma, dtype=float), len(centers))
    size = (2 * gamma / np.pi) ** (X.shape[1] / 4)
    return size * np.exp(-gamma * cdist(X, centers, "sqeuclidean"))


def c31_gram(X, gamma, Z=None, gamma_Z=None):
    """C 3.1: ⟨f_i, f_j⟩ for Gaussians at X (and at Z, by default the same).  Right as printed."""
    if Z is None:
        Z, gamma_Z = X, gamma
    a = np.broadcast_to(np.asarray(gamma, dtype=float), len(X))[:, None]
    b = np.broadcast_to(np.asarray(gamma_Z, dtype=float), len(Z))
    size = (2 * np.sqrt(a * b) / (a + b)) ** (X.shape[1] / 2)
    return size * np.exp(-a * b / (a + b) * cdist(X, Z, "sqeuclidean"))


def c31_kernel(X, Z, gamma):
    """C 3.1: exp(−(γ/2)‖x − x'‖²), said to be the kernel that equal widths γ lead to."""
    return np.exp(-gamma / 2 * cdist(X, Z, "sqeuclidean"))


def c31_covariance(gamma, d):
    """Covariance matrix of the density proportional to exp(−γ‖x‖²): I/(2γ), not I."""
    return np.eye(d) / (2 * gamma)


# ------------------------------------------------------------------------------------- the errata


ERRATA = (
    Erratum(
        "C 2, basis",
        "“the basis” {k_i} of ℋ; “Since K is positive definite”",
        "only if K is nonsingular; equal samples (Ionosphere has a pair) make it singular",
        "H",
    ),
    Erratum("C 2, eigenbasis", "e_i = λ_i^(−1/2) Σ_j u_ij k_j", "u_ji in place of u_ij", "W"),
    Erratum(
        "C 2, norm",
        "‖w‖_k “is the squared Euclidean norm of the coefficient vector”",
        "‖w‖²_k is, as the display before says",
        "T",
    ),
    Erratum(
        "C 2, solvers",
        "“can also be used to optimize kernelized primal SVMs, for example LIBLINEAR [5], PEGASOS "
        "[11]”",
        "LIBLINEAR penalizes b, which the displayed problem leaves free; PEGASOS in its basic form "
        "has none",
        "H",
    ),
    Erratum(
        "C 2, squared slacks",
        "“or the solver by Keerthi and DeCoste”",
        "that solver minimizes Σξ_i², a different machine",
        "H",
    ),
    Erratum("C 3, space", "ℋ “is finite”", "finite dimensional", "T"),
    Erratum(
        "C 3, classifier",
        "h: ℋ → {−1, 1}, sgn(Σ_i w_iy_ie_i(x) + b), i ≤ m",
        "h: Ω → {−1, 1}, sgn(Σ_i w_ie_i(x) + b)",
        "W",
    ),
    Erratum(
        "C 3, C 4.2, dual",
        "m ≠ n is “not possible in the standard dual formulation of an SVM”",
        "true of the dual with k(x_i, x_j); the dual with the kernel x̂·x̂' is C’s machine for any m",
        "R",
    ),
    Erratum(
        "C 3.1, values",
        "L₂(ℝᵈ) ⊂ 𝓕(ℝᵈ)",
        "elements of L₂ have no values at points.  The span of finitely many Gaussians, which C "
        "uses, has; as the span grows, ‖x̂‖² grows without bound",
        "W",
    ),
    Erratum("C 3.1, covariance", "“with unit covariance matrix”", "I/(2γ_i)", "T"),
    Erratum(
        "C 3.1, equal widths",
        "with equal widths the problem “coincides up to constant scaling with a Gaussian kernel "
        "support vector machine”",
        "if a sample enters as ⟨f_i, e_j⟩; with C’s x̂_ij = e_j(x_i) the kernel is BG⁻¹Bᵀ",
        "W",
    ),
    Erratum(
        "C 3.1, hyper-parameter",
        "a Gaussian kernel machine “with hyper-parameter” γ",
        "γ/2, as the display that follows has it",
        "T",
    ),
    Erratum(
        "C 3.1, uniform",
        "functions derived from a kernel are uniform “in hyper-parameters”, others need not be",
        "true of stationary kernels; C’s own ⟨f_x, f_x'⟩ is a kernel with any γ(x)",
        "R",
    ),
    Erratum(
        "C 3.1, weights",
        "“cannot provide the same variability since the weights of the different kernel functions "
        "have to be fixed in the combination”",
        "the reason holds for 2n functions too: the solution is w = Σα_iy_ix̂_i, n numbers",
        "W",
    ),
    Erratum(
        "C 3.2, sparseness",
        "“a classifier whose *sparseness* is optimized at a prescribed performance measure”",
        "a greedy one: fewer functions can do the same, what was added first stays",
        "R",
    ),
    Erratum(
        "C 3.2, indices",
        "h_1, …, h_m and b_i for i = 1, …, m; C: “provides us with” m − 1 values",
        "from 2 on: the construction starts with two functions",
        "T",
    ),
    Erratum("C 3.2, parameter", "c_i ≥ 0", "c_i > 0: for c = 0 only w = 0 is known of f", "T"),
    Erratum(
        "C 3.2, C 4.2, monotone",
        "“Ideally, these values decrease with growing number of basis functions”",
        "as C says, not always; what is monotone is the least training objective",
        "R",
    ),
    Erratum(
        "C 4.1, spirals",
        "“two Gaussians”, and the “minimal 5-fold cross validation error of 11%” at γ₂ = 2¹⁹",
        "the definitions do not explain it: a spike at each sample, evaluated as C defines, turns "
        "predictions around without a bias, and with one all become the majority class, or are "
        "near chance if the classes are equal",
        "R",
    ),
    Erratum(
        "C 4.1, Ionosphere",
        "4 % → 3.14 %, “a relative improvement of approximately 21%”",
        "true, and weak: 14 → 11 errors of 350, three samples, p ≥ 1/4",
        "R",
    ),
    Erratum(
        "C 4.1, grids",
        "“can improve the 5-fold cross validation”",
        "over a square that contains the line the minimum is never larger, and chance alone lowers "
        "it: nested cross-validation",
        "R",
    ),
    Erratum(
        "C 5",
        "LIBSVM’s “running time of only O(n)”",
        "at least the rows of its support vectors, whose number grows like n where classes "
        "overlap: about n² or more",
        "W",
    ),
    Erratum(
        "C, references",
        "[7] “pages 277–296, 1998”; [10] “41:595–502”; [11] “Yoram Singer and Nathan Srebro”; [15] "
        "“pages 1081–1088” of a journal",
        "1999; 495–502; Shalev-Shwartz, Singer and Srebro; pages 185–205, 2005",
        "T",
    ),
)
