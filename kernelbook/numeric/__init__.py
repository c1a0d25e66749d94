"""What the solvers compute with; nothing here knows of learning.

| file | one idea |
|---|---|
| `jit` | how functions are compiled, and where compiled code is kept |
| `threads` | `parallel_for`, `parallel_sum`; what BLAS may do meanwhile |
| `blas` | BLAS in place, from several threads; a Cholesky factor of blocks |
| `memory` | is there room for large arrays? |
| `arrays` | real, finite, float64, contiguous; or an error in words |
| `rows` | rows, dense or sparse, as coordinate solvers visit them |
| `pairwise/` | distances, functions of distances |
| `tiles` | a matrix by tiles: fill it, mirror it, multiply by it |
| `panels` | passes over a matrix that is never in memory |
| `column_space`, `span_basis` | bases of the range of P, and the way back to λ |
| `linalg`, `small_algebra` | algebra of columns; compiled algebra of some dozens of equations |
| `conjugate_gradients` | conjugate gradients, and refinement |
| `piecewise_linear` | the zero of an increasing piecewise linear function |
"""
