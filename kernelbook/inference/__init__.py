"""What a G-RLS fit says about effects, and how sure it is.

In the Bayesian reading of the fit (`solvers.grls.posterior`) f is a Gaussian process:
y = f + noise, f = Pλ + g, g of covariance s·Φ, normal noise of variance s·ρ/w_i, and λ with a flat
prior.  Everything here is a *linear functional* of λ and g, and one formula has the mean and the
covariance of all of them.  Unless something else is said, Φ and ρ are taken as known, intervals are
pointwise, and their 95 % are over draws of g and the noise, not over the noise beside one fixed g.

    functionals    L ↦ mean, variance, joint covariance, draws
    components     f apart: a functional for each group of features and each summand of the kernel
    derivatives    ∂f/∂x_k at a point, and its average over a sample
    residuals      leave-one-out residuals, standardized, from one factorization
    quadratic      the distribution of a ratio of quadratic forms in normal variables
    needed         is a group of features, or a summand of the kernel, needed?
    small_sample   what the choice of parameters on the same sample adds to the errors of λ
    table          estimates with standard errors, t, p and intervals
    summary        the table that a fit is read from

Arrays in, arrays out: this room knows solvers and kernels, and nothing of estimators.
"""
