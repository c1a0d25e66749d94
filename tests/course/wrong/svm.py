"""Plausible mistakes in assignment 3: (what stands in the solution, what stands there instead)."""

WRONG = {
    "primal_objective": [
        ("0.5 * (beta @ h)", "beta @ h"),
        ("y * (h + b)", "y * h"),
        ("losses.sum()", "losses.mean()"),
    ],
    "qp_matrices": [
        ("np.outer(y, y) * gram", "gram"),
        ("-np.ones(m)", "np.ones(m)"),
        ("np.vstack([-np.eye(m), np.eye(m)])", "np.vstack([np.eye(m), -np.eye(m)])"),
    ],
    "solve_dual": [
        ("np.full(m, C)", "np.full(m, 1e6)"),
        ("-np.ones((m, 1))", "-2 * np.ones((m, 1))"),
        ("return np.clip", "return y * np.clip"),
    ],
    "bias": [
        ("if free.any():", "if True:"),
        ("v[free].mean()", "(y * v)[free].mean()"),
        ("free = ~(low | high)", "free = ~low"),
    ],
    "violating_pair": [
        ("y > 0, alpha < C, alpha > 0", "y > 0, alpha <= C, alpha >= 0"),
        ("v = y - gram @ (y * alpha)", "v = 1 - y * (gram @ (y * alpha))"),
        ("return int(i), int(j)", "return int(j), int(i)"),
    ],
    "smo_step": [
        ("t = min(max(slope / curvature, least), most)", "t = slope / curvature"),
        ("- 2 * gram[i, j]", ""),
        ("t = most if slope > 0 else least", "t = 0.0"),
    ],
    "smo": [
        ("range(100_000)", "range(5)"),
        ("v -= t * (gram[:, i] - gram[:, j])", "v -= t * gram[:, i]"),
        ("t = min(high[i] - beta[i], beta[j] - low[j])", "t = high[i] - beta[i]"),
        ("return y * beta", "return beta"),
    ],
    "gap": [
        ("(C - alpha) @ below", "C * below.sum()"),
        (" + alpha @ above", ""),
        (" + b)", ")"),
    ],
}
