"""Hidden checks of assignment 6.  Never released, never built into the book."""

import numpy as np
from scipy import linalg

from kernelbook.course import LIMIT, Assignment, Question, Slip


def weeks(rng):
    for n, years in ((120, 3), (40, 5)):
        year = 1970 + rng.integers(0, years, size=n)
        month = 1 + rng.integers(0, 12, size=n)
        values = 330 + rng.normal(size=n)
        values[rng.uniform(size=n) < 0.3] = np.nan
        values[(year == 1970) & (month < 4)] = np.nan  # months without a value
        yield f"{n} weeks of {years} years, with holes", (year, month, values)
    values = np.append(330 + rng.normal(size=4), np.nan)
    same = np.full(5, 1984), np.full(5, int(rng.integers(1, 13)))
    yield "a single month", (*same, values), LIMIT


def means(year, month, values):
    found = {}
    for a, b, v in zip(year, month, values, strict=True):
        if not np.isnan(v):
            found.setdefault((int(a), int(b)), []).append(v)
    keys = sorted(found)
    times = np.array([a + (b - 0.5) / 12 for a, b in keys])
    return times, np.array([np.mean(found[k]) for k in keys])


def times(rng):
    yield "two harmonics", (1960 + 40 * rng.uniform(size=9), 2)
    yield "no harmonic", (2010 + rng.uniform(size=4), 0), LIMIT
    yield "four harmonics", (1990 + rng.uniform(size=12), 4)


def features(t, harmonics):
    P = np.ones((len(t), 2 + 2 * harmonics))
    P[:, 1] = 0.1 * (t - 2000)
    for k in range(harmonics):
        turn = np.exp(2j * np.pi * (k + 1) * t)
        P[:, 2 + 2 * k], P[:, 3 + 2 * k] = turn.real, turn.imag
    return P


def gaussian(s, t, width):
    return np.exp(-((np.subtract.outer(s, t) / width) ** 2))


def fit(gram, P, y, reg):
    """Null space first, then the features."""
    m = len(y)
    Q = linalg.qr(P)[0][:, P.shape[1] :]
    A = gram + m * reg * np.eye(m)
    c = Q @ linalg.solve(Q.T @ A @ Q, Q.T @ y)
    return c, np.linalg.lstsq(P, y - A @ c)[0]


def record(rng, m):
    t = 1980 + np.arange(m) / 12
    drift = np.cumsum(rng.normal(size=m)) / 10
    season = rng.normal(size=2) @ [np.cos(2 * np.pi * t), np.sin(4 * np.pi * t)]
    return t, 340 + (t - 1980) * rng.uniform(1, 2) + season + drift


def futures(rng):
    for m, harmonics in ((40, 1), (60, 2)):
        t, y = record(rng, m)
        new = np.concatenate([t[5:9] + 0.01, t[-1] + np.arange(1, 9) / 12])
        yield f"{m} months", (t, y, new, 1.5, 0.003, harmonics)


def predicted(t, y, t_new, width, reg, harmonics):
    P = features(t, harmonics)
    c, lam = fit(gaussian(t, t, width), P, y, reg)
    return gaussian(t_new, t, width) @ c + features(t_new, harmonics) @ lam


def weights(rng):
    for m, l in ((20, 1), (26, 4)):
        t, y = record(rng, m)
        P = features(t, 1)[:, :l]
        regs = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
        yield f"{m} samples, {l} features", (gaussian(t, t, 0.4), P, y, regs)
    yield "a single weight", (gaussian(t, t, 0.4), P, y, [0.01]), LIMIT


def refits(gram, P, y, regs):
    m = len(y)
    errors = []
    for reg in regs:
        left = []
        for i in range(m):
            k = np.arange(m) != i
            c, lam = fit(gram[np.ix_(k, k)], P[k], y[k], reg * m / (m - 1))
            left.append(y[i] - gram[i, k] @ c - P[i] @ lam)
        errors.append(np.mean(np.square(left)))
    return regs[int(np.argmin(errors))], np.array(errors)


def weights_with(error):
    """Another error for each weight, and the weight where it is least."""

    def function(gram, P, y, regs):
        errors = np.array([error(gram, P, y, reg) for reg in regs])
        return regs[int(np.argmin(errors))], errors

    return function


def seen(gram, P, y, reg):
    c, lam = fit(gram, P, y, reg)
    return np.mean((y - gram @ c - P @ lam) ** 2)


def refitted_with(scale):
    """Leaving one out with another multiple of the weight."""

    def error(gram, P, y, reg):
        return refits(gram, P, y, [reg * scale(len(y))])[1][0]

    return weights_with(error)


def lengths(rng):
    for _ in range(3):
        horizon = int(rng.integers(3, 9))
        first = int(rng.integers(10, 30))
        exact = first + 4 * horizon
        yield "tests that fit exactly", (exact, first, horizon)
        rest = (exact + horizon - 1, first, horizon)
        yield "a rest at the end", rest, LIMIT


def splits(m, first, horizon):
    rows = []
    while first + horizon <= m:
        rows.append((first, first + horizon))
        first += horizon
    return np.array(rows)


def splits_with(change):
    def function(m, first, horizon):
        return change(splits(m, first, horizon), m, first, horizon)

    return function


def one_by_one(rows, m, first, horizon):
    train = np.arange(first, m - horizon + 1)
    return np.column_stack([train, train + horizon])


def without_the_exact_one(rows, m, first, horizon):
    return rows[rows[:, 1] < m]


def lengths_for_ends(rows, m, first, horizon):
    return np.column_stack([rows[:, 0], np.full(len(rows), horizon)])


def judged(rng):
    for n in (12, 30):
        y = 340 + rng.normal(size=n)
        yield (
            f"{n} months",
            (y, y + rng.normal(size=n), 339 + rng.normal(size=12)),
        )
    y, last = 340 + rng.normal(size=5), 339 + rng.normal(size=12)
    yield "less than a year", (y, y + rng.normal(size=5), last), LIMIT


def relative(y, prediction, last):
    baseline = np.resize(last, len(y))
    return 1 - np.sum((y - prediction) ** 2) / np.sum((y - baseline) ** 2)


def tests(rng):
    t, y = record(rng, 66)
    for harmonics, rows in (
        (1, [[30, 42], [42, 54]]),
        (2, [[36, 48], [48, 66]]),
    ):
        yield (
            f"{harmonics} harmonics",
            (t, y, 2.0, 0.01, harmonics, np.array(rows)),
        )
    once = (t, y, 2.0, 0.01, 1, np.array([[54, 66]]))
    yield "a single test", once, LIMIT


def errors_ahead(t, y, width, reg, harmonics, rows):
    found = []
    for n, end in rows:
        f = predicted(t[:n], y[:n], t[n:end], width, reg, harmonics)
        found.append(np.sqrt(np.mean((f - y[n:end]) ** 2)))
    return np.array(found)


def with_all_samples(t, y, width, reg, harmonics, rows):
    found = []
    for row in rows:
        scaled = reg * len(t) / row[0]
        found += [*errors_ahead(t, y, width, scaled, harmonics, [row])]
    return np.array(found)


def moved(by):
    def function(year, month, values):
        at, mean = means(year, month, values)
        return at + by / 12, mean

    return function


def exchanged(t, harmonics):
    P = features(t, harmonics)
    order = [0, 1]
    for k in range(harmonics):
        order += [3 + 2 * k, 2 + 2 * k]
    return P[:, order]


def in_radians(t, harmonics):
    P = features(t / (2 * np.pi), harmonics)
    P[:, 1] = 0.1 * (t - 2000)
    return P


SLIPS = {
    "monthly": (
        Slip(
            moved(-0.5),
            "these are the beginnings of the months; asked for is their "
            "middle.",
        ),
        Slip(
            moved(0.5),
            "these are the ends of the months; asked for is their middle.",
        ),
        Slip(moved(1), "you are a month late: January is month 1, not 0."),
    ),
    "known_part": (
        Slip(exchanged, "the cosine of each harmonic comes before its sine."),
        Slip(
            lambda t, harmonics: np.insert(
                np.delete(features(t, harmonics), 1, axis=1), 1, t, axis=1
            ),
            "the second column is $(t - 2000)/10$, not the year.",
        ),
        Slip(
            in_radians,
            "the factor $2\\pi$ is missing: a year is one turn.",
        ),
    ),
    "forecast": (
        Slip(
            lambda t, y, new, width, reg, k: predicted(
                t, y, new, width, reg / len(t), k
            ),
            "your answer is what one gets with $\\gamma$ instead of "
            "$m\\gamma$.",
        ),
    ),
    "choose_reg": (
        Slip(
            weights_with(seen),
            "these are the errors at samples that the fit has seen; leave "
            "each one out.",
        ),
        Slip(
            refitted_with(lambda m: 1 / m),
            "your answer is what one gets with $\\gamma$ instead of "
            "$m\\gamma$.",
        ),
        Slip(
            refitted_with(lambda m: (m - 1) / m),
            "your $m$ counts the samples that are left; $m\\gamma$ is kept "
            "with the full number of samples.",
        ),
        Slip(
            lambda gram, P, y, regs: (
                regs[int(np.argmax(refits(gram, P, y, regs)[1]))],
                refits(gram, P, y, regs)[1],
            ),
            "the errors are right, but you return the weight with the largest "
            "of them.",
        ),
        Slip(
            lambda *a: refits(*a)[::-1],
            "you return the errors first; the weight comes first.",
        ),
    ),
    "rolling_splits": (
        Slip(
            splits_with(without_the_exact_one),
            "the last test is missing when it ends exactly at `m`.",
        ),
        Slip(
            splits_with(one_by_one),
            "your splits move on by one sample; each starts where the last "
            "test ended.",
        ),
        Slip(
            splits_with(lengths_for_ends),
            "the second column says where a test ends, not how long it is.",
        ),
    ),
    "skill": (
        Slip(
            lambda y, f, last: 1 - relative(y, f, last),
            "this is the ratio of the errors; the skill is one minus it.",
        ),
    ),
    "backtest": (
        Slip(
            lambda *a: errors_ahead(*a) ** 2,
            "these are mean squares; asked for is their root.",
        ),
        Slip(
            with_all_samples,
            "your $m$ counts the whole record; a fit sees its training set "
            "alone.",
        ),
    ),
}

ASSIGNMENT = Assignment(
    name="project",
    number=6,
    title="A project on real data",
    questions=(
        Question("monthly", 4, weeks, means, slips=SLIPS["monthly"]),
        Question(
            "known_part",
            3,
            times,
            features,
            rtol=1e-6,
            slips=SLIPS["known_part"],
        ),
        Question(
            "forecast",
            5,
            futures,
            predicted,
            rtol=1e-6,
            nearly=1e-4,
            slips=SLIPS["forecast"],
        ),
        Question(
            "choose_reg",
            5,
            weights,
            refits,
            rtol=1e-5,
            nearly=3e-4,
            slips=SLIPS["choose_reg"],
        ),
        Question(
            "rolling_splits",
            3,
            lengths,
            splits,
            slips=SLIPS["rolling_splits"],
        ),
        Question("skill", 3, judged, relative, slips=SLIPS["skill"]),
        Question(
            "backtest",
            4,
            tests,
            errors_ahead,
            rtol=1e-4,
            slips=SLIPS["backtest"],
        ),
    ),
)
