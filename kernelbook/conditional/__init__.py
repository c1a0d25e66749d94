"""The conditional kernel: a Hilbert space in which the features cost nothing, made executable.

Papers A (8)–(16) and B (10)–(18), after Light & Wayne and Beatson, Light & Billings.  Given
features φ_1 … φ_ℓ with span H₀ and a kernel Φ that is conditionally positive definite with respect
to H₀, we want a reproducing kernel K whose space contains H₀ and splits *orthogonally* into H₀
and the rest.

**Construction.**  Choose linear functionals μ_1 … μ_ℓ, each a combination of point evaluations,
and the basis φ'_1 … φ'_ℓ of H₀ with μ_p(φ'_q) = δ_pq.  Then Πg = Σ μ_p(g) φ'_p is a projector onto
H₀.  Apply I − Π to both arguments of Φ:

    H(x,x') = Φ(x,x') − Σ_p φ'_p(x) μ_pΦ(·,x') − Σ_q φ'_q(x') μ_qΦ(x,·)
              + Σ_pq φ'_p(x) φ'_q(x') μ_pμ_qΦ,
    K(x,x') = H(x,x') + Σ_p φ'_p(x) φ'_p(x').

The coefficients of δ_x − Σ φ'_p(x) μ_p annihilate H₀, so a Gram matrix of H is one of Φ over
admissible coefficients: positive semidefinite, even for thin plates.  For points, μ_p = δ_{a_p},

    K_{a_p} = φ'_p,    ⟨φ'_p, φ'_q⟩ = δ_pq,    H_{a_p} = 0,    ⟨H_x, φ'_p⟩ = 0,
    ⟨H_x, H_x'⟩ = H(x, x')

in the space of K.  The seminorm |f| = ‖P₁f‖ does not depend on the functionals, nor does the
solution of any learning problem that is regularized by it; ‖f‖, P₁f and K do (the book's chapter
on anchor invariance).  So no learner of this library needs an anchor.  This object is for
looking at the space itself, and for turning a conditionally positive definite kernel into a
positive definite one: `K` is a kernel like any other.

**Which functionals** (`anchors`):

- an array of ℓ points, the *anchors* of the papers: μ_p(g) = g(a_p).  They must be *unisolvent*:
  the matrix φ_q(a_p) must be invertible.
- `"sample"`: ℓ points of the sample, chosen by a pivoted QR of an orthonormal basis of range P.
  Every step takes the point at which the functions of unit mean square that vanish at the
  points taken before are largest (approximate Fekete points), so the choice is well conditioned
  and depends on H₀ only, not on its basis.
- `"least-squares"`: Π is the least-squares projection on the sample, and φ' is orthonormal there,
  (1/m) Σ_i φ'_p(x_i) φ'_q(x_i) = δ_pq, by Gram–Schmidt in the order of the features.  For the
  constant feature H is the centred kernel of kernel principal components.
- `"virtual"`: φ' = φ, the features themselves are orthonormal in K.  Paper A asks for points v_q
  with φ_p(v_q) = δ_pq, which need not exist: φ_1 = 1 never vanishes.

**Virtual points, made possible.**  For positive semidefinite Φ adjoin abstract points v_1 … v_ℓ
to the domain and put φ_p(v_q) = Φ(v_p, v_q) = δ_pq, Φ(v_p, x) = 0.  The extended Φ is positive
semidefinite, and the formulas above with the anchors v_p give, between old points,

    H = Φ + Σ φ_p φ_p,        K = Φ + 2 Σ φ_p φ_p.

(Any Φ(v_p, v_q) = s·δ_pq with s ≥ 0 will do: H = Φ + sΣφ_pφ_p, K = Φ + (s+1)Σφ_pφ_p.  With s = 0, H
is Φ itself and K is Φ with the features added to it.)  The five properties hold on
the *extended* domain; as a kernel on the old one, K gives the same functions other norms.  No
rank of P is needed, since the v's tell any features apart.

If Φ is only conditionally definite, the extension is not even that.  There we take real
unisolvent points a, the matrix M_qp = φ_p(a_q) and μ_p = Σ_q (M⁻¹)_pq δ_{a_q}.  Then
μ_p(φ_q) = δ_pq, Π and H are those of the anchors a, and K = H + Σ φ_pφ_p.

References
----------
Light & Wayne, *Spaces of distributions, interpolation by translates of a basis function and
error estimates*, Numer. Math. 81 (1999); Beatson, Light & Billings, *Fast solution of the radial
basis function interpolation equations*, SIAM J. Sci. Comput. 22 (2000); Sommariva & Vianello,
*Computing approximate Fekete points by QR factorizations of Vandermonde matrices*, Comput. Math.
Appl. 57 (2009); Schölkopf, Smola & Müller, *Nonlinear component analysis as a kernel eigenvalue
problem*, Neural Computation 10 (1998).
"""

from kernelbook.conditional.expansion import Expansion
from kernelbook.conditional.space import ConditionalKernel

__all__ = ["ConditionalKernel", "Expansion"]
