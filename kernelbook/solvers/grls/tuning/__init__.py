"""Choosing all parameters at once: widths, weights of components, and the noise.

- `criteria`  restricted and full likelihood, leave-one-out and GCV, with their gradients, from one
              factorization
- `boxes`     which parameters are free, between which bounds, and where a search starts
- `search`    several starts, a quasi-Newton method, Newton's method at the end, the curvature there
- `settings`  what may be asked for, `Tuning`, and what comes back, `TuningResult`
- `checks`    what to say of an optimum on a bound, a flat one, and one that other criteria dispute
- `spectral`  the restricted likelihood for many γ and one kernel, from one eigendecomposition
"""
