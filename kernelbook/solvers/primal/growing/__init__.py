"""A basis that grows, one function at a time (paper C, section 3.2; chapter `primal/incremental`).

============  ====================================================================================
`selection`   the path of classifiers: which function comes next, by one of three rules
`factor`      the coordinates of one more orthonormal function, by a growing Cholesky factor
`hinge`       the hinge problem over one more function, from the last solution; restarts
`active_set`  the exact solution from a guess of the samples' sides
============  ====================================================================================

A step asks `selection` for a function, `factor` for its coordinates and `hinge` for the solution.
`hinge` first tries the old sides (`active_set`), then the method of multipliers
(`kernelbook.solvers.primal.proximal`) with a large penalty, then from zero, then coordinate
descent; the best certificate wins.
"""
