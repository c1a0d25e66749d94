"""Large samples: what a search needs of the Gram matrix is computed in single precision.

- `solve`: the loop of search, certificate, and refinement from the exact gradient.
- `search`: SMO on fewer and fewer coordinates (shrinking), then Newton's method.
- `smo_lanes`: the steps of SMO, vectorized; `lanes`: rows of K, stored and computed on demand.
- `state`: the point, its gradient, and the known rows.
"""
