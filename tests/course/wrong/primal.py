"""Plausible mistakes in assignment 5: (what stands in the solution, what stands there instead)."""

WRONG = {
    "l2_gram": [
        ("height ** (d / 2)", "height ** 0.5"),
        ("np.exp(-squares / total)", "np.exp(-2 * squares / total)"),
        ("height ** (d / 2) * ", ""),
    ],
    "orthonormalize": [
        ("lower=True).T", "lower=True)"),
        ("L = np.linalg.cholesky(G)", "L = np.linalg.cholesky(np.linalg.inv(G))"),
        ("np.linalg.cholesky(G)", "linalg.sqrtm(G).real"),
    ],
    "truncate": [
        ("np.sqrt(values[keep])", "values[keep]"),
        ("rtol * values.max()", "rtol"),
        ("vectors[:, keep]", "vectors[keep].T"),
    ],
    "equivalent_kernel": [
        ("B @ np.linalg.solve(G, B.T)", "B @ G @ B.T"),
        ("B @ np.linalg.solve(G, B.T)", "B @ B.T"),
        ("B @ np.linalg.solve(G, B.T)", "B @ np.linalg.inv(np.linalg.cholesky(G)) @ B.T"),
    ],
    "gradient": [
        ("w + xhat.T @ pull", "xhat.T @ pull"),
        ("P.T @ pull", "lam + P.T @ pull"),
        ("-2 * C * y * slack", "-C * y * (slack > 0)"),
    ],
    "solve_primal": [
        ("np.zeros(P.shape[1])])", "np.ones(P.shape[1])])"),
        ("range(200)", "range(1)"),
        ("2 * C * A.T @ (y * slack)", "C * A.T @ (y * slack)"),
    ],
    "grow": [
        ("np.sqrt(rest)", "rest"),
        ("row = linalg.solve_triangular(L, b, lower=True)", "row = b.copy()"),
        ("if rest <= 1e-10 * d:", "if False:"),
    ],
    "pivoted": [
        ("p = int(np.argmax(rest))", "p = k"),
        (" - L[:, :k] @ L[p, :k]", ""),
        ("np.sqrt(rest[p])", "rest[p]"),
        ("if rest[p] <= limit:", "if False:"),
    ],
    "remainders": [
        ("shares = [1.0]", "shares = []"),
        (" / np.trace(gram)", ""),
        ("1 - np.sum", "np.sum"),
    ],
}
