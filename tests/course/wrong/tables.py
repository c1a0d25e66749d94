"""Plausible mistakes in assignment 8: (what stands in the solution, what stands there instead)."""

WRONG = {
    "gram_of_columns": [
        ("(difference / width) ** 2", "difference**2 / width"),
        ("distance = distance +", "distance ="),
        ("np.exp(-distance)", "np.exp(-distance / 2)"),
    ],
    "design": [
        ("np.sqrt(dist)", "dist"),
        ("- {soil.min()}", "- {soil.max()}"),
        ("[np.ones(len(dist)), np.sqrt(dist)]", "[np.sqrt(dist), np.ones(len(dist))]"),
    ],
    "coefficients": [
        ("gram + m * reg", "gram + reg"),
        ("y @ c / (m - l)", "y @ c / m"),
        ("np.diag(np.linalg.inv(S))", "1 / np.diag(S)"),
    ],
    "restricted": [
        ("2 * np.sum(np.log", "np.sum(np.log"),
        ("(m - l) * np.log", "m * np.log"),
        ("gram @ Q + m * reg", "gram @ Q + reg"),
    ],
    "slope": [
        ("m * reg * (np.sum", "m * (np.sum"),
        ("(m - l) * share", "m * share"),
        ("np.sum(inverse * z**2)", "np.sum(z**2)"),
    ],
    "effects": [
        ("components - components.mean(axis=1, keepdims=True)", "components"),
        ("+ m * reg", "+ reg"),
        ("c = Q @ np.linalg.solve(Q.T @ A @ Q, Q.T @ y)", "c = np.linalg.solve(A, y)"),
    ],
    "groups_left_out": [
        ("(G @ y)[rows])", "y[rows])"),
        ("np.linalg.solve(G[rows][:, rows], ", "(1 / np.diag(G)[rows] * "),
        ("gram + m * reg", "gram + reg"),
    ],
}
