"""Plausible mistakes in assignment 4: (what stands in the solution, what stands there instead)."""

WRONG = {
    "thin_plate": [
        ("0.5 * squares", "squares"),
        ("0.5 * squares * logs", "np.sqrt(squares) * logs"),
        ("np.log(np.where(squares > 0, squares, 1.0))", "np.log(squares)"),
    ],
    "pick_anchors": [
        ("pivots[: P.shape[1]]", "np.arange(P.shape[1])"),
        ("pivots[: P.shape[1]]", "np.argsort(-np.abs(P).sum(axis=1))[: P.shape[1]]"),
        ("linalg.qr(P.T,", "linalg.qr(P,"),
    ],
    "schoenberg": [
        ("+ gram[a, a]", "- gram[a, a]"),
        (" - gram[[a], :]", ""),
        ("gram[:, [a]] - gram[[a], :]", "gram[:, [0]] - gram[[0], :]"),
    ],
    "project_out": [
        ("M @ gram @ M", "M @ gram"),
        ("np.eye(len(P)) - Q @ Q.T", "np.eye(len(P)) - P @ P.T"),
        ("np.eye(len(P)) - Q @ Q.T", "Q @ Q.T"),
    ],
    "least_energy": [
        ("c @ gram @ c", "c @ c"),
        ("c @ gram @ c", "np.sqrt(abs(c @ gram @ c))"),
        ("c = c[: len(P)]", "c = np.linalg.solve(gram, values)"),
    ],
    "extend": [
        ("linalg.block_diag(gram, np.eye(l))", "linalg.block_diag(np.eye(l), gram)"),
        ("np.vstack([P, np.eye(l)])", "np.vstack([P, np.ones((l, l))])"),
        (
            "linalg.block_diag(gram, np.eye(l))",
            "np.block([[gram, P], [P.T, np.eye(l)]])",
        ),
    ],
    "extended_minimum": [
        ("Q = linalg.null_space(F.T)", "Q = np.eye(len(G))"),
        ("Q.T @ G @ Q).min()", "Q.T @ G @ Q).max()"),
        ("np.vstack([P, np.eye(l)])", "np.vstack([P, np.zeros((l, l))])"),
    ],
    "price": [
        ("kappa * P @ P.T", "P @ P.T / kappa"),
        (".max()", ".mean()"),
        ("A + kappa * P @ P.T, y", "gram + reg * np.eye(m) + kappa * P @ P.T, y"),
    ],
}
