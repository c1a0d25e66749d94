"""The SVM in the primal: a linear machine in orthonormal coordinates, with free features.

    minimize  ½‖w‖² + Σ C_i loss(y_i f_i),    f = X̂w + Pλ,    loss the hinge (1 − z)₊ or its square

x̂_i are the coordinates of sample i in an orthonormal basis (`kernelbook.bases.orthonormal`), P the
free features.  Chapters `primal/primal_trick`, `primal/solvers` and `primal/incremental`.

**The rooms**

======================  ==========================================================================
`solve`                 the front door: one binary problem, the chosen solver, the duality gap
`problem`               units in which no number is large; both objectives
`finish`                the one exit: a feasible dual point, λ by the rule, the certificate
`dcd`                   dual coordinate descent inside an augmented Lagrangian
`newton`                finite Newton for piecewise quadratic losses
`proximal`              the method of multipliers around `newton`: both losses to rounding error
`pegasos`               stochastic subgradients, for few digits
`passes`                compiled passes over the sample that `problem` and `finish` share
`growing`               a basis that grows by one function at a time
======================  ==========================================================================

**Which problem goes where** (m samples, M basis functions; a Newton step is *cheap* if
m·min(m, M)² ≤ 4·10⁹)

=========================  ==============  =======================================================
problem                    solver          what runs, and how it ends
=========================  ==============  =======================================================
either loss, step cheap    "dcd"           30 sweeps or 1 % gap, then Newton, to rounding error
either loss, dense rows    "dcd"           30 sweeps, Newton until `tol`, the remaining sweeps
either loss, sparse rows   "dcd"           sweeps until `tol`; if they run out, Newton
squared hinge              "newton"        Newton; with a huge C the method of multipliers after it
hinge, few digits          "pegasos"       epochs, in stages that double
features separate          any             w = 0 and the hard-margin λ (T3)
=========================  ==============  =======================================================

**Words.**  α_i = y_iβ_i is the dual variable in the box [0, u_i]; *free* means 0 < α_i < u_i.  The
*sides* are α_i = 0 (beyond the margin), α_i = u_i (short of it), and the margin itself.
"""
