"""The support vector machine with free features: the dual, solved exactly and certified.

    primal:  minimize  ½|f|² + Σ C_i (1 − y_i f(x_i))₊,      f = Σ β_i Φ(x_i, ·) + Σ λ_p φ_p
    dual:    minimize  ½βᵀΦβ − yᵀβ,      Pᵀβ = 0,   0 ≤ y_iβ_i ≤ C_i

`solve.solve_binary` is the front door of one binary problem, `several.solve_several` that of many
classes.  Each takes the first solver that applies, and the next one where the certificate is not
good enough:

===================  ===============  ==========================  =================================
solver               samples m        kernel                      features
===================  ===============  ==========================  =================================
`large.solve`        more than 1,000  definite, dense rows        the constant in their span
`pairs.solve`        up to 1,000      definite                    any (only for pairs of classes)
`solve.solve_robust` any              any, tested where unknown   any
`reference`          any              any, tested where unknown   any (only if asked for: cvxopt)
===================  ===============  ==========================  =================================

**Why.**  `large` reads a single-precision matrix, whose rows are computed when needed.  `pairs` is
one compiled call for hundreds of small problems.  `solve_robust` uses a Gram matrix in double
precision and a relay of methods, `smo` → `active_set` → `interior`; for one small problem it needs
the least compiled code and a few milliseconds.  `reference` is the papers' own program, to be read.

**The way through.**  `problem` supplies Gram matrix, blocks and products, and brings the dual into
solver units → a solver finds a point (β, ν) → `certificate.finish` makes it feasible
(`feasibility`), determines λ (by least squares, or where the data leave a choice by the rule of
`multipliers`) and certifies it → a `certificate.Tolerance` accepts it or does not.  `convexity`
tests matrices of which nothing is known.  `path/` follows the solution as C changes.

**Words.**  *Free* support vectors have 0 < α_i < C_i, α = y∘β; *bounded* ones α_i = C_i.  The
*violation* is LIBSVM's m(α) − M(α), in units of the margin.  The *face* is the set of coordinates
that a Newton step moves; those that it would carry out of the box are *clipped*.  *Damping* is the
proximal term of that step.  ν are the multipliers of an orthonormal basis Q of the features, λ
those of the features themselves; `lower` and `upper` are the box of β.  The *point* that a solver
finds may be slightly infeasible, a *solution* never is.
"""
