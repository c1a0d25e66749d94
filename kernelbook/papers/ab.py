"""Papers A and B: what they have in common, their formulas and their errata.

Both papers take the first ℓ samples as anchors and split everything in two: index 1 for the
anchors, index 2 for the other m − ℓ samples.  Their unknowns are λ̃ (ℓ) and c̃ (m − ℓ),

    f = Σ_p λ̃_p φ'_p + Σ_{i>ℓ} c̃_i H(x_i, ·),

with φ' and H as in `cardinal` and `conditional`, and their matrices are

    H = (H(x_i, x_j)),  i, j > ℓ            and     E = (φ'_p(x_i)),  p ≤ ℓ < i,

so that f(x_p) = λ̃_p at the anchors and f = Eᵀλ̃ + Hc̃ at the others.

**How B's solution goes wrong, and where.**  Write K̃ = [[I, 0], [Eᵀ, H]] for the matrix that takes
(λ̃, c̃) to the values of f on the sample and H̃ = diag(0, H).  B's (22) is right:

    L = ‖y − K̃z‖²/m + γ zᵀH̃z,    z = (λ̃, c̃),    with gradient zero iff  (K̃ᵀK̃ + γmH̃)z = K̃ᵀy.

K̃ is not symmetric, but (23) has K̃² and K̃y.  The second block row of the true equation is, for
invertible H, Eᵀλ̃ + (H + γmI)c̃ = y₂: this is (27), which is *right*.  The first is
λ̃ + E(Eᵀλ̃ + Hc̃) = y₁ + Ey₂, and with (27) it becomes λ̃ = y₁ + γmEc̃ in place of (26).  So the one
wrong line is λ̃ = y₁, the zero block of (25).  It makes f interpolate the anchors: it minimizes
over the other samples what is left when the first ℓ samples have infinite weight.

**How A's solution goes wrong.**  A's dual (23)(24) is right.  Its (25) computes coefficients of
φ_p and its (26) uses them as coefficients of φ'_p.  With the virtual points of 4.2, for which
φ' = φ, (25) is right as it stands.
"""

import numpy as np
from scipy import linalg, optimize

from kernelbook.papers.erratum import Erratum

__all__ = [
    "ERRATA",
    "a6_lagrangian",
    "a23_24",
    "a25_printed",
    "a25_repaired",
    "b22",
    "b23_printed",
    "b23_repaired",
    "b24_inverse_printed",
    "b24_inverse_repaired",
    "b25_printed",
    "b25_repaired",
    "b26_27_printed",
    "b26_27_repaired",
    "cardinal",
    "conditional",
    "least_slack",
    "split",
    "values",
    "virtual_gram",
]


# ------------------------------------------------------------------ what A and B have in common


def cardinal(P, P_anchors):
    """A (10) = B (12): φ'(x) = M⁻¹φ(x) with M_pq = φ_p(a_q); a row of P is φ(x)ᵀ.

    M is invertible only if the anchors are unisolvent; NumPy raises LinAlgError if M is exactly
    singular, and nothing warns of a matrix that is nearly so (`ConditionalKernel` does).
    """
    return np.linalg.solve(P_anchors.T, P.T).T


def conditional(gram, gram_left, gram_right, gram_anchors, E_left, E_right):
    """A (9) = B (11): H(x, x') at all pairs of two lists of points.

    Parameters
    ----------
    gram : (n, k) array, Φ between the points of the two lists
    gram_left, gram_right : (n, ℓ) and (k, ℓ) arrays, Φ between them and the anchors
    gram_anchors : (ℓ, ℓ) array, Φ between the anchors
    E_left, E_right : (n, ℓ) and (k, ℓ) arrays, the cardinal features at the points
    """
    return gram - E_left @ gram_right.T - gram_left @ E_right.T + E_left @ gram_anchors @ E_right.T


def split(gram, P):
    """H (m−ℓ, m−ℓ) and E (ℓ, m−ℓ) of both papers: the first ℓ samples are the anchors."""
    l = P.shape[1]
    E = cardinal(P[l:], P[:l])
    H = conditional(gram[l:, l:], gram[l:, :l], gram[l:, :l], gram[:l, :l], E, E)
    return H, E.T


def values(H, E, lam, c):
    """f on the sample, anchors first: K̃(λ̃, c̃) of B (22)."""
    return np.concatenate([lam, E.T @ lam + H @ c])


# --------------------------------------------------------------------------------- B, section 3.2


def b22(H, E, y, reg, lam, c):
    """B (22), the objective ‖y − K̃z‖²/m + γ zᵀH̃z.  Right as printed."""
    return np.mean((y - values(H, E, lam, c)) ** 2) + reg * c @ H @ c


def _K_and_H(H, E):
    l, k = E.shape
    K = np.block([[np.eye(l), np.zeros((l, k))], [E.T, H]])
    return K, linalg.block_diag(np.zeros((l, l)), H)


def b23_printed(H, E, y, reg):
    """B (23): matrix and right-hand side of (K̃² + γmH̃)z = K̃y."""
    K, H0 = _K_and_H(H, E)
    return K @ K + reg * len(y) * H0, K @ y


def b23_repaired(H, E, y, reg):
    """What the derivative of B (22) gives: (K̃ᵀK̃ + γmH̃)z = K̃ᵀy."""
    K, H0 = _K_and_H(H, E)
    return K.T @ K + reg * len(y) * H0, K.T @ y


def b24_inverse_printed(H, E):
    """B before (24), K̃⁻¹ with the zero block O_(m−ℓ)×ℓ: the blocks fit only if m = 2ℓ."""
    l, k = E.shape
    H_inv = np.linalg.inv(H)
    return np.block([[np.eye(l), np.zeros((k, l))], [-H_inv @ E.T, H_inv]])


def b24_inverse_repaired(H, E):
    """K̃⁻¹ with the zero block O_ℓ×(m−ℓ); H must be invertible, a linear kernel's is not."""
    l, k = E.shape
    H_inv = np.linalg.inv(H)
    return np.block([[np.eye(l), np.zeros((l, k))], [-H_inv @ E.T, H_inv]])


def b25_printed(H, E, y, reg):
    """B (25), the matrix [[I, 0], [Eᵀ, H + γmI]]."""
    l, k = E.shape
    return np.block([[np.eye(l), np.zeros((l, k))], [E.T, H + reg * len(y) * np.eye(k)]])


def b25_repaired(H, E, y, reg):
    """The matrix [[I, −γmE], [Eᵀ, H + γmI]]: one block differs, and no inverse of H is needed."""
    l, k = E.shape
    mg = reg * len(y)
    return np.block([[np.eye(l), -mg * E], [E.T, H + mg * np.eye(k)]])


def b26_27_printed(H, E, y, reg):
    """B (26)(27): λ̃ = y₁, (H + γmI)c̃ = y₂ − Eᵀλ̃."""
    l, k = E.shape
    lam = y[:l]
    return lam, linalg.solve(H + reg * len(y) * np.eye(k), y[l:] - E.T @ lam, assume_a="pos")


def b26_27_repaired(H, E, y, reg):
    """λ̃ = y₁ + γmEc̃, so that (27) reads (H + γm(I + EᵀE))c̃ = y₂ − Eᵀy₁."""
    l, k = E.shape
    mg = reg * len(y)
    c = linalg.solve(H + mg * (np.eye(k) + E.T @ E), y[l:] - E.T @ y[:l], assume_a="pos")
    return y[:l] + mg * E @ c, c


# ------------------------------------------------------------------------------ A, sections 2 to 4


def a6_lagrangian(gram, P, y, reg, alpha, lam, c):
    """A (6) at f = Σλ_pφ_p + Σc_iK_{x_i}, Pᵀc = 0: γcᵀKc − αᵀYf + 1ᵀα.

    It falls without bound along any feature with (PᵀYα)_p ≠ 0, so "the minimizer" of which A
    speaks exists only for PᵀYα = 0, a condition that A first meets, for other reasons, in (20).
    """
    return reg * c @ gram @ c - (alpha * y) @ (gram @ c + P @ lam) + alpha.sum()


def a23_24(H, E, y, reg):
    """A (23)(24) as Q, q, A, upper: min ½αᵀQα + qᵀα, Aα = 0, 0 ≤ α ≤ upper.  Right as printed.

    Not strictly convex, as A says: the block of Q that belongs to the anchors is zero.  It is so
    on the null space of A = (Y₁, EY₂), where α₁ is determined by α₂.
    Then c̃ = Y₂α₂/2γ, A (22).
    """
    l, m = E.shape[0], len(y)
    Q = linalg.block_diag(np.zeros((l, l)), y[l:, None] * H * y[l:])
    return Q, np.full(m, -2.0 * reg), np.hstack([np.eye(l), E]) * y, np.full(m, 1.0 / m)


def least_slack(F, h, y):
    """λ of the linear program min Σξ_i/m, y_i(Fλ + h)_i ≥ 1 − ξ_i, ξ ≥ 0 that is A (25).

    For h = 0 its minimum is zero iff the features F strictly separate the sample.
    """
    m, l = F.shape
    cost = np.concatenate([np.zeros(l), np.full(m, 1.0 / m)])
    result = optimize.linprog(
        cost,
        A_ub=-np.hstack([y[:, None] * F, np.eye(m)]),
        b_ub=y * h - 1.0,
        bounds=[(None, None)] * l + [(0, None)] * m,
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(f"the linear program (25) was not solved: {result.message}")
    return result.x[:l]


def a25_printed(H, E, P, y, c):
    """A (25): λ̃ from a linear program in which φ_p stands with λ̃_p.

    (26) then uses the λ̃_p with φ'_p.  The two agree only where φ' = φ.
    """
    return least_slack(P, values(H, E, np.zeros(E.shape[0]), c), y)


def a25_repaired(H, E, y, c):
    """A (25) with φ'_p, the functions that (26) uses."""
    P_cardinal = np.vstack([np.eye(E.shape[0]), E.T])
    return least_slack(P_cardinal, values(H, E, np.zeros(E.shape[0]), c), y)


def virtual_gram(gram, P):
    """A 4.2 made possible: Gram and feature matrix of v_1 … v_ℓ, x_1 … x_m, the v's abstract.

    φ_p(v_q) = Φ(v_p, v_q) = δ_pq and Φ(v_p, x) = 0.  For positive definite Φ the extension is
    positive definite again; for thin plates and their like it is not even conditionally so.
    """
    l = P.shape[1]
    return linalg.block_diag(np.eye(l), gram), np.vstack([np.eye(l), P])


# ------------------------------------------------------------------------------------- the errata


ERRATA = (
    Erratum(
        "A 2, B 2",
        "A: “is the direct sum of two subspaces”; B: “decomposes into the direct sum”",
        "the orthogonal sum, with φ_p ∈ H_K, as both go on to use it",
        "H",
    ),
    Erratum(
        "A 2, reproduction",
        "data from “a model that is perfectly linearly related to” the features: the c “will all "
        "be zero”",
        "for the hinge loss iff the features strictly separate the sample; λ is then undetermined",
        "H",
    ),
    Erratum(
        "A (6)",
        "“is the minimizer to (6)”",
        "there is one only if PᵀYα = 0, the condition that A meets later, in (20)",
        "H",
    ),
    Erratum(
        "A (10), B (12)",
        "the inverse of (φ_p(x_q)) over the first ℓ samples; B: “defines a linear transformation”",
        "needs a unisolvent choice of samples",
        "H",
    ),
    Erratum(
        "A after (16), B after (18)",
        "the matrix H “is strictly positive definite”",
        "so it is for strictly positive definite Φ, which both assume, and distinct points; not "
        "for the linear kernel of both text experiments",
        "H",
    ),
    Erratum(
        "A (23)",
        "Y₂ᵀHY₂ is a “positive definite matrix, and the problem becomes a standard quadratic "
        "program”",
        "true; the matrix of the program in all α has a zero block besides, for α₁: it is strictly "
        "convex on the feasible subspace only",
        "R",
    ),
    Erratum(
        "A (25)",
        "the linear program minimizes over λ̃ with f = Σλ̃_pφ_p + Σc̃_jH_xj",
        "Σλ̃_pφ'_p, as in (26); perhaps a prime lost in print",
        "W",
    ),
    Erratum(
        "A 3.2",
        "“these equality constraints will not affect the computations much”",
        "true for interior points; a feasible direction moves ℓ + 1 variables in general position, "
        "SMO two",
        "H",
    ),
    Erratum(
        "A 4.2, points",
        "“virtual points” with φ_p(x_vq) = δ_pq",
        "a constant feature has no such point in the domain; they exist beside it, where Φ(x_v, ·) "
        "has to be defined too",
        "H",
    ),
    Erratum(
        "A 4.2, invariance",
        "“To provide the invariance, we consider an alternative approach”",
        "the problem has this invariance without virtual points",
        "R",
    ),
    Erratum(
        "A 5, COIL-20",
        "A 4.1 asks for “predefined linearly independent features”; A 5: “Twenty predefined "
        "features” and “One-versus-one strategy”",
        "on the sample of a pair of classes their P has a low rank, and the kernel part vanishes",
        "H",
    ),
    Erratum(
        "A 5, nearest neighbours",
        "“implicitly used” a nearest-neighbour “classifier as a generalized bias term”",
        "the features say which classes are near, not how often: votes 1, 1, 2 and 2, 2, 1 look "
        "alike; the same classifier where the neighbours agree",
        "R",
    ),
    Erratum(
        "A 6",
        "“the most similar to our work is the semiparametric SVM”",
        "true, and more: it is the same model",
        "R",
    ),
    Erratum(
        "A, B, references",
        "Light and Wayne in “J. Numer. Math.”; Micchelli’s “Distances, matrices”",
        "Numerische Mathematik; distance matrices",
        "T",
    ),
    Erratum(
        "B 1, hinge",
        "(1) with the hinge loss “corresponds to the classical support vector machines”",
        "up to the bias, which (1) does not have; (2) with the constant free is the classical "
        "machine",
        "R",
    ),
    Erratum(
        "B 1, finite dimension",
        "“finite dimensional problems are often associated with well-posedness and do not need "
        "regularization”",
        "often; λ needs rank P = ℓ, and errors can grow by 1/σ_min(P)",
        "R",
    ),
    Erratum(
        "B before (8)", "“the orthogonality constraint between” Pf* and f − Pf*", "f* − Pf*", "T"
    ),
    Erratum(
        "B (9)",
        "λ and c “are uniquely specified by” m + ℓ equations",
        "c is; λ iff rank P = ℓ",
        "H",
    ),
    Erratum(
        "B (19)",
        "λ̃_p = λ'_p + c_p + Σc_iφ'_p(x_i)",
        "right; by B’s own (9) the sum is 0, so λ̃ = λ'",
        "R",
    ),
    Erratum("B (23)", "K̃²z + γmH̃z = K̃y", "K̃ᵀK̃z + γmH̃z = K̃ᵀy", "W"),
    Erratum("B before (24)", "K̃⁻¹ with O_(m−ℓ)×ℓ", "O_ℓ×(m−ℓ)", "T"),
    Erratum(
        "B before (24), inverse",
        "K̃⁻¹, and with it H⁻¹",
        "exists for strictly positive definite Φ and distinct points, not for the linear kernel of "
        "B 5; (27) gives a solution without it",
        "H",
    ),
    Erratum("B (25)", "[[I, 0], [Eᵀ, H + γmI]]", "[[I, −γmE], [Eᵀ, H + γmI]]", "W"),
    Erratum(
        "B (26)",
        "λ̃ = y₁: “uniquely specifies” λ̃",
        "λ̃ = y₁ + γmEc̃; with it (27) is right and reads (H + γm(I + EᵀE))c̃ = y₂ − Eᵀy₁",
        "W",
    ),
    Erratum(
        "B after (27)",
        "with fast products “the complexity reduces to nearly” O(m log m)",
        "for one product, in low dimension; conjugate gradients need more of them as γ falls",
        "R",
    ),
)
