"""Plausible mistakes in assignment 6: (what stands in the solution, what stands there instead)."""

WRONG = {
    "monthly": [
        ("values[known]) / np.bincount(where)", "values[known])"),
        ("(months + 0.5) / 12", "(months + 1.5) / 12"),
        ("12 * year[known] + month[known] - 1", "month[known] - 1"),
    ],
    "known_part": [
        ("np.cos(2 * np.pi * k * t), np.sin(2 * np.pi * k * t)", "np.cos(k * t), np.sin(k * t)"),
        ("(t - 2000) / 10", "t"),
        (
            "[np.cos(2 * np.pi * k * t), np.sin(2 * np.pi * k * t)]",
            "[np.sin(2 * np.pi * k * t), np.cos(2 * np.pi * k * t)]",
        ),
    ],
    "forecast": [
        ("m * reg", "reg"),
        ("np.zeros((l, l))", "np.eye(l)"),
        ("cross @ solution[:m] + ", ""),
    ],
    "choose_reg": [
        ("np.mean((G @ y / np.diag(G)) ** 2)", "np.mean((m * reg * (G @ y)) ** 2)"),
        ("np.argmin(errors)", "np.argmax(errors)"),
        ("values + m * reg", "values + reg"),
    ],
    "rolling_splits": [
        ("m - horizon + 1", "m - horizon"),
        ("m - horizon + 1", "m"),
        ("horizon + 1, horizon)", "horizon + 1)"),
    ],
    "skill": [
        ("last[np.arange(len(y)) % 12]", "np.full(len(y), last.mean())"),
        ("1 - errors[0] / errors[1]", "errors[0] / errors[1]"),
        ("np.mean((y - f) ** 2)", "np.mean(np.abs(y - f))"),
    ],
    "backtest": [
        ("np.sqrt(np.mean((y[n:end] - f) ** 2))", "np.mean((y[n:end] - f) ** 2)"),
        ("n * reg", "len(t) * reg"),
        ("np.sqrt(np.mean((y[n:end] - f) ** 2))", "np.mean(np.abs(y[n:end] - f))"),
    ],
}
