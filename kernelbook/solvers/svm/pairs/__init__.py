"""Pairs of classes: hundreds of small problems, each in compiled code, several threads at a time.

- `blocks`: the kernel matrix of a pair, from blocks that the pairs share, row by row on demand.
- `active_set`: Newton's method on a small active set, the compiled twin of `svm.active_set`.
- `solve`: SMO, then Newton's method, then the common exit `svm.certificate.finish`; one attempt,
  judged by its certificate.  `svm.solve.solve_robust` takes what it leaves.

A single problem of this size takes `solve_robust` a few milliseconds, which is hardly worth the
time to compile anything else; with 45 or 300 pairs the compiled attempt is thirty times as fast.
"""
