"""Plausible mistakes in assignment 7: (what stands in the solution, what stands there instead)."""

WRONG = {
    "smoother": [
        ("return np.eye(m) - m * reg * G", "return m * reg * G"),
        ("A = gram + m * reg", "A = gram + reg"),
        ("Q = linalg.null_space(P.T)", "Q = np.eye(m)"),
    ],
    "degrees_of_freedom": [
        ("m - Q.shape[1] + np.sum", "np.sum"),
        ("(values + m * reg)", "(values + reg)"),
        ("m - Q.shape[1]", "P.shape[1] - 1"),
    ],
    "risk": [
        ("tau**2 * np.sum(q**2)", "tau**2 * np.sum(q)"),
        ("tau**2 * (m - Q.shape[1])", "tau * (m - Q.shape[1])"),
        ("((1 - q) * coefficients) ** 2", "(q * coefficients) ** 2"),
    ],
    "scores": [
        ("(r / np.diag(R)) ** 2", "r**2 / np.diag(R)"),
        ("(np.trace(R) / m) ** 2", "(np.trace(R) / m)"),
        ("fitted = np.mean(r**2)", "fitted = np.sum(r**2)"),
    ],
    "rows_needed": [
        ("l + 1 + int", "l + int"),
        ("np.ceil", "np.floor"),
        ("l + 1 + int(np.ceil(l / excess))", "int(np.ceil(l / excess))"),
    ],
    "regrets": [
        ("[tau**4 / both, theta**4 / both]", "[theta**4 / both, tau**4 / both]"),
        ("tau**4 / both", "tau**2 / both"),
        ("np.column_stack", "np.vstack"),
    ],
    "freed": [
        ("return degrees(np.column_stack([P, v])) - degrees(P)", "return 1.0"),
        ("np.column_stack([P, v])", "v[:, None]"),
        ("(values + m * reg)", "(values + reg)"),
    ],
}
