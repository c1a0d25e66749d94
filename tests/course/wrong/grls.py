"""Plausible mistakes in assignment 2: (what stands in the solution, what stands there instead)."""

WRONG = {
    "fit_grls": [
        ("m * reg", "reg"),
        ("np.zeros((l, l))", "np.eye(l)"),
        ("return solution[:m], solution[m:]", "return solution[m:], solution[:m]"),
    ],
    "objective": [
        ("/ len(y)", ""),
        ("(c @ gram @ c)", "(c @ c)"),
        ("gram @ c - P @ lam", "gram @ c"),
    ],
    "leave_one_out": [
        ("(G @ y) / np.diag(G)", "m * reg * (G @ y)"),
        ("G = Q @ np.linalg.solve(Q.T @ A @ Q, Q.T)", "G = np.linalg.inv(A)"),
        ("m * reg", "(m - 1) * reg"),
    ],
    "cardinal": [
        ("np.linalg.solve(P_anchors.T, P.T).T", "np.linalg.solve(P_anchors, P.T).T"),
        ("np.linalg.solve(P_anchors.T, P.T).T", "P @ P_anchors.T"),
        ("np.linalg.solve(P_anchors.T, P.T).T", "P / np.diag(P_anchors)"),
    ],
    "conditional_gram": [
        ("- cross.T", ""),
        ("+ E @ gram_anchors", "- E @ gram_anchors"),
        ("+ E @ gram_anchors @ E.T", "+ E @ E.T"),
    ],
    "printed_solution": [
        ("len(y1) + len(y2)", "len(y2)"),
        ("y2 - E @ y1", "y2"),
        ("return y1.copy(), c", "return y1 + reg * m * (E.T @ c), c"),
    ],
    "excess": [
        ("ratios.append(value / least)", "ratios.append(value)"),
        ("residual = m * reg * c", "residual = reg * c"),
        ("first, rest = order[:l], order[l:]", "first, rest = order[-l:], order[:-l]"),
    ],
    "repaired_solution": [
        ("np.eye(len(y2)) + E @ E.T", "np.eye(len(y2))"),
        ("y1 + s * (E.T @ c)", "y1.copy()"),
        ("(len(y1) + len(y2)) * reg", "len(y2) * reg"),
    ],
}
