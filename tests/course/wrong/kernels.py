"""Plausible mistakes in assignment 1: (what stands in the solution, what stands there instead)."""

WRONG = {
    "gaussian_gram": [
        ("width**2", "(2 * width**2)"),
        ("(differences**2).sum(axis=2)", "np.sqrt((differences**2).sum(axis=2))"),
        ("X[:, None, :] - Z[None, :, :]", "X[None, :, :] - Z[:, None, :]"),
    ],
    "is_psd": [
        ("if np.abs(K - K.T).max() > slack:", "if False:"),
        ("np.linalg.eigvalsh(K).min() >= -slack", "np.linalg.det(K) >= -slack"),
        ("np.linalg.eigvalsh(K).min() >= -slack", "K.min() >= -slack"),
    ],
    "witness": [
        ("np.argmin(values)", "np.argmax(values)"),
        ("vectors[:, np.argmin(values)]", "vectors[np.argmin(values)]"),
        ("np.argmin(values)", "np.argmin(np.abs(values))"),
    ],
    "feature_distances": [
        ("np.sqrt(np.maximum(squares, 0.0))", "squares"),
        ("d[:, None] + d[None, :] - 2 * K", "2 - 2 * K"),
        ("np.maximum(squares, 0.0)", "squares - 1e-9 * np.abs(K).max()"),
    ],
    "center": [
        ("+ K.mean()", "- K.mean()"),
        (" - rows[:, None] + K.mean()", ""),
        ("K - columns[None, :] - rows[:, None] + K.mean()", "K - K.mean()"),
    ],
    "is_cpd": [
        ("Q = linalg.null_space(P.T)", "Q = np.eye(len(P))"),
        ("Q = linalg.null_space(P.T)", "Q = linalg.orth(P)"),
        ("linalg.null_space(P.T)", "linalg.null_space(np.ones((1, len(P))))"),
    ],
    "fit_ridge": [
        ("m * reg", "reg"),
        ("m * reg", "reg / m"),
        ("linalg.solve(K + m * reg * np.eye(m), y", "linalg.solve(K @ K + m * reg * np.eye(m), y"),
    ],
    "spectra": [
        ("[::-1]", ""),
        ("values / values.sum()", "values / values.max()"),
        ("width**2", "(2 * width**2)"),
    ],
}
