"""The incremental construction, slow and obvious: every classifier from scratch, by cvxopt."""

import numpy as np

from tests.naive.primal import gram_schmidt, quadratic_program


def coordinates(B, G, chosen):
    """x̂ of the chosen functions, by Gram–Schmidt as printed in C 2."""
    return B[:, chosen] @ gram_schmidt(G[np.ix_(chosen, chosen)])


def solve(B, G, P, y, C, chosen):
    """(f at the samples, objective) of the machine over the chosen functions."""
    X = coordinates(B, G, chosen) if chosen else np.zeros((len(y), 1))
    w, lam, _, value = quadratic_program(X, P, y, C)
    return X @ w + P @ lam, value


def grow(B, G, P, y, C, size, rule):
    """[(chosen function, objective)] of a path; functions are centred at the samples."""
    chosen, path = [], []
    while len(chosen) < size:
        f, _ = solve(B, G, P, y, C, chosen)
        left = [j for j in range(len(G)) if j not in chosen]
        if rule == "most_misclassified":
            j = min(left, key=lambda j: y[j] * f[j])
        else:
            j = min(left, key=lambda j: solve(B, G, P, y, C, [*chosen, j])[1])
        chosen.append(j)
        path.append((j, solve(B, G, P, y, C, chosen)[1]))
    return path
