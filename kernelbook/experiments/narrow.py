"""G-RLSC with γ by exact leave-one-out, for a linear kernel of fewer columns than samples.

`GRLSClassifierCV` decomposes the m×m Gram matrix.  Where Φ = FFᵀ with F of d < m columns, d×d is
enough.  Let Q be an orthonormal basis of range P, F̃ = (I − QQᵀ)F, F̃ᵀF̃ = VSVᵀ and U = F̃VS^(−1/2),
without the columns of zero S.  With ρ = mγ the matrix that gives c = Gy is

    G = (I − QQᵀ − U diag(S/(S + ρ)) Uᵀ) / ρ,

the leave-one-out residuals are c_i/G_ii, in which ρ cancels, and Pλ = y − ρc − Φc.  The numbers are
those of `GRLSClassifierCV` up to rounding (tested); at 3,200 documents and 2,000 words they come in
a third of the time.
"""

import numpy as np
from scipy import linalg

__all__ = ["grlsc_by_leave_one_out"]


def grlsc_by_leave_one_out(F, F_test, y, P, P_test, regs):
    """(labels of the test samples, the chosen γ, minus its leave-one-out error).

    P of no columns means no free features.  Of values of γ within 10⁻⁸ of the best the largest is
    taken, as in `GRLSClassifierCV`.
    """
    labels = np.unique(y)
    Y = np.where(y[:, None] == labels, 1.0, -1.0)
    Q = linalg.orth(P) if P.shape[1] else P
    inside = F - Q @ (Q.T @ F)
    S, V = linalg.eigh(inside.T @ inside, driver="evd")
    kept = S > 1e-13 * S[-1]
    S, V = S[kept], V[:, kept]
    U = (inside @ V) / np.sqrt(S)
    beside = Y - Q @ (Q.T @ Y)
    free = 1.0 - np.square(Q).sum(axis=1)
    regs = np.sort(np.asarray(regs))[::-1]
    shrunk = S[:, None] / (S[:, None] + len(y) * regs)
    diagonal = free[:, None] - np.square(U) @ shrunk
    within = U.T @ Y

    def residual(k):
        return beside - U @ (shrunk[:, k, None] * within)  # ρc

    # Where e_i ∈ range P, leaving i out is undefined: such samples do not count.
    counted = free > 1e-12
    errors = np.array(
        [
            np.mean((residual(k)[counted] / diagonal[counted, k, None]) ** 2)
            for k in range(regs.size)
        ]
    )
    best = int(np.argmax(errors <= errors.min() * (1 + 1e-8)))
    r = residual(best)
    c = r / (len(y) * regs[best])
    w = F.T @ c
    values = F_test @ w
    if P.shape[1]:
        values = values + P_test @ (linalg.pinv(P) @ (Y - r - F @ w))
    return labels[np.argmax(values, axis=1)], float(regs[best]), -float(errors[best])
