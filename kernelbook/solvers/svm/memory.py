"""How much memory each way of solving needs, said before it is taken, and what needs less.

The search of a large sample keeps K in single precision; rows that it never asks for are never
touched, but which these are is not known before.  Everything else works on the Gram matrix in
double precision, and on a copy of it where that is not the solver's own.  Newton's method factors a
part of it.
"""

from kernelbook.numeric.memory import room_for
from kernelbook.numeric.threads import n_threads

__all__ = ["room_for_blocks", "room_for_matrix", "room_for_search"]

FACE = 0.2
"""The largest factor of Newton's method, in units of the Gram matrix (`Relay.modest_face`)."""
REFERENCE = 6
"""Matrices of m×m numbers that the quadratic and the linear program of cvxopt take."""
CENTERS = 1000
"""The number of translates that the advice names."""


def room_for_search(source, m):
    """Room for K in single precision."""
    what = f"m={m} samples need {{}} for the kernel matrix in single precision"
    return room_for(4.0 * m * m, what, _advice(source, m))


def room_for_matrix(source, m, largest, solver):
    """Room for the Gram matrix of m samples, and to solve problems of up to `largest` of them."""
    ours = source.writable and largest == m  # and may be destroyed
    copies = REFERENCE if solver == "cvxopt" else FACE if ours else 1.0 + FACE
    numbers = copies * largest**2 + (m * m if hasattr(source, "kernel") else 0)
    what = f"m={m} samples need {{}} for the Gram matrix and what solver={solver!r} makes of it"
    return room_for(8.0 * numbers, what, _advice(source, m))


def room_for_blocks(source, sizes):
    """Room for the kernel matrices of classes of these sizes and, in each thread, of a pair."""
    pair = sum(sorted(sizes)[-2:]) ** 2
    numbers = sum(n * n for n in sizes) + 1.25 * n_threads() * pair
    what = f"{len(sizes)} classes of up to {max(sizes)} samples need {{}} for their kernel matrices"
    return room_for(8.0 * numbers, what, _advice(source, sum(sizes)))


def _advice(source, m):
    """What needs less."""
    kernel = getattr(source, "kernel", None)
    if kernel is None:
        return "take fewer samples, or pass the points and a kernel instead of their Gram matrix."
    if kernel.cpd_order:
        return (
            "take fewer samples, or GRLSClassifier(…, solver='nystrom'), which takes this kernel."
        )
    return (
        "take fewer samples, or PrimalSVMClassifier(KernelBasis(kernel, centers='subset', "
        f"n_centers={CENTERS})), which needs some {3 * 8.0 * m * CENTERS / 2**30:.1f} GiB."
    )
