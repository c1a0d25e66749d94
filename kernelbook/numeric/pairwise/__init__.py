"""Functions of pairs of rows, compiled, tile by tile.

- `distances`      ‖x − z‖ without cancellation
- `profiles`       functions of one number, applied to a tile in place
- `gaussian_sums`  Σ_j c_j exp(−‖x − z_j‖²/width²) in few dimensions, without a tile
"""
