"""What to say of an optimum: on a bound, flat, disputed by another criterion, or of some rows only.

**Flat**: the standard error of the logarithm is above log 10, a factor of ten to either side; or
the curvature is not positive.

**Disputed**: the likelihood asks how the process moves, leave-one-out how well a gap between
samples is filled.  Where the model is about right, both end near the same parameters.  So the other
one is minimized too, from the optimum on and on at most 400 rows.  After a search by likelihood,
the squared leave-one-out residuals of both optima are compared row by row: a mean difference above
10 % and above twice its standard error is a dispute.  After a search by "loo" or "gcv" it is a
restricted log-likelihood that could be larger by 10 + 2p.
"""

import numpy as np

__all__ = ["disputed", "flat_names", "messages_of"]

FLAT = np.log(10.0)
LARGE_PART, MANY_ERRORS, LARGE_LOSS = 0.1, 2.0, 10.0


def flat_names(names, hessian, inside, value):
    """The free parameters of which the data say next to nothing."""
    if not inside.any():
        return ()
    curvature, directions = np.linalg.eigh(hessian)
    noise = 1e-8 * (1.0 + abs(value))
    variance = (directions**2) @ (1.0 / np.maximum(curvature, noise))
    free = [name for name, is_free in zip(names, inside, strict=True) if is_free]
    return tuple(n for n, v in zip(free, variance, strict=True) if v > FLAT**2)


def messages_of(box, point, on_bound, flat, rows, m, settings):
    """The warnings about bounds, flatness and a subsample."""
    texts = []
    if rows is not None and settings.max_rows is None:
        texts.append(
            f"the parameters were chosen on {len(rows)} of {m} rows, drawn at random; "
            f"Tuning(max_rows=...) sets how many, and random_state which."
        )
    at = dict(zip(box.names, zip(point, box.low, box.high, strict=True), strict=True))
    for name in on_bound:
        x, low, high = at[name]
        side = "lower" if x - low < high - x else "upper"
        texts.append(
            f"{name} = {np.exp(x):.3g} is on its {side} bound of the search: "
            f"{_meaning(name, side)}.  Tuning(bounds={{{name!r}: (low, high)}}) moves the bound."
        )
    if flat:
        texts.append(
            f"the data say next to nothing of {', '.join(flat)}: over a factor of ten to either "
            f"side {settings.criterion!r} hardly changes.  Do not interpret the value; hold it "
            f"with Tuning(fixed=[...]), or use a kernel with fewer parameters."
        )
    return texts


def _meaning(name, side):
    if name == "reg":
        return "the data look free of noise" if side == "lower" else "the kernel explains nothing"
    if name.partition("[")[0].endswith("width"):
        if side == "lower":
            return "narrower than the samples are apart, it acts as noise"
        return "wider than the sample, it acts as a polynomial, or not at all"
    if name.endswith("factor"):
        return "this part is not needed" if side == "lower" else "the other parts are not needed"
    return "the best value may lie beyond"


def disputed(objective, box, point, descend):
    """A list with the warning that another criterion ends elsewhere, or none."""
    if not box.names:
        return []
    likelihood = objective.criterion in ("reml", "ml")
    other = "loo" if likelihood else "reml"
    if objective.sample.explained:
        return []
    here, there = objective.criteria(point), descend(objective, box, point, other)[1]
    rival = objective.criteria(there)
    values = ", ".join(
        f"{name} = {value:.3g}" for name, value in zip(box.names, np.exp(there), strict=True)
    )
    if likelihood:
        squares = [np.mean(c.loo_residuals() ** 2, axis=1) for c in (here, rival)]
        difference = (squares[0] - squares[1])[objective.sample.defined]
        mean, error = difference.mean(), difference.std() / np.sqrt(len(difference))
        if mean > LARGE_PART * np.nanmean(squares[0]) and mean > MANY_ERRORS * error:
            return [
                f"criteria disagree: the mean squared leave-one-out residual, {here.loo():.3g} at "
                f"the optimum of {objective.criterion!r}, is {rival.loo():.3g} at {values}.  The "
                f"model may be wrong: a feature, a component or another kernel may be missing."
            ]
        return []
    loss = rival.log_likelihood("reml") - here.log_likelihood("reml")
    if loss > LARGE_LOSS + 2 * len(box.names):
        return [
            f"criteria disagree: the restricted log-likelihood at the optimum of "
            f"{objective.criterion!r} is {loss:.0f} below that at {values}.  It judges how "
            f"gaps between samples are filled; for standard errors and intervals use tune='reml'."
        ]
    return []
