"""The table that a fit is read from."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from kernelbook.features import lost_features
from kernelbook.inference.model import Model
from kernelbook.inference.table import Estimates, framed

__all__ = ["KernelPart", "Summary", "summarize"]

SCORE_TESTS_BELOW = 1500
"""Samples up to which summands of the kernel are tested: an eigendecomposition each."""


@dataclass(frozen=True)
class KernelPart:
    """A summand of the kernel in the summary.

    Attributes
    ----------
    name : str
    df : effective degrees of freedom, tr(K_t G)
    spread : standard deviation of the estimate of g_t over the sample
    pvalue : of the score test, exact for known parameters; NaN where it was not computed
    """

    name: str
    df: float
    spread: float
    pvalue: float


@dataclass(frozen=True)
class Summary:
    """What `GRLSRegressor.summary()` returns; `print` shows it.

    Attributes
    ----------
    facts : list of (str, str)
        The head: observations, kernel, likelihood, effective degrees of freedom, scale, …
    coefficients : Estimates
    kernel_parts : list of KernelPart
    notes : list of str
    """

    facts: Sequence[tuple[str, str]]
    coefficients: Estimates
    kernel_parts: Sequence[KernelPart]
    notes: Sequence[str]

    def __str__(self):
        free = framed(self.coefficients.rows()) if self.coefficients.names else []
        parts = []
        if self.kernel_parts:
            rows = [["Kernel part", "edf", "std dev", "p (score)"]]
            for part in self.kernel_parts:
                p = "" if part.pvalue != part.pvalue else f"{part.pvalue:.3f}"
                rows.append([part.name, f"{part.df:.2f}", f"{part.spread:.4g}", p])
            parts = framed(rows)
        lines = [*free, *parts]
        width = max(map(len, lines), default=60)
        wide = max((len(name) for name, _ in self.facts), default=0)
        head = [_wrapped(f"{name.ljust(wide)}  {value}", wide + 2) for name, value in self.facts]
        notes = [_wrapped(f"[{k}] {note}", 4) for k, note in enumerate(self.notes, 1)]
        blocks = [block for block in (head, free, parts, notes) if block]
        rule = "=" * width
        return "\n".join([rule, *("\n".join([*block, rule]) for block in blocks)])


def _wrapped(text, indent):
    return "\n".join(wrap(text, 88, subsequent_indent=" " * indent, break_long_words=False))


def summarize(
    model: Model, names: Sequence[str], facts: Sequence[tuple[str, str]], level: float
) -> Summary:
    """The summary of a model whose features have these names; `facts` begin its head."""
    return Summary(
        [*facts, *_facts(model)],
        _coefficients(model, names, level),
        _kernel_parts(model),
        _notes(model, names),
    )


def _coefficients(model: Model, names: Sequence[str], level: float) -> Estimates:
    """λ with its standard errors; NaN where a coefficient is not unique, or has none."""
    estimate, std = model.lam[:, 0].copy(), np.full(len(names), np.nan)
    df = np.full(len(names), model.free)
    if model.posterior.has_coef_covariance():
        if model.estimated():
            found = model.corrected()
            std, df = np.sqrt(np.maximum(np.diag(found.covariance), 0.0)), found.df
        else:
            V = model.posterior.coef_covariance()
            std = np.sqrt(np.maximum(np.diag(V), 0.0)) * model.deviation[0]
    for lost in lost_features(model.posterior.P, names):
        where = [name in lost for name in names]
        estimate[where] = std[where] = np.nan
    return Estimates(tuple(names), estimate, std, df, level)


def _kernel_parts(model: Model) -> list[KernelPart]:
    """What each summand of the kernel does on the sample."""
    found, m = [], len(model.c)
    G = model.posterior.factored().influence(np.eye(m))
    for part in model.components:
        if part.kernel is not None:
            gram = part.kernel(model.centers)
            p = model.test(part).pvalue if m <= SCORE_TESTS_BELOW else np.nan
            df, spread = float(np.sum(gram * G)), float(np.std(gram @ model.c[:, 0]))
            found.append(KernelPart(part.name, df, spread, p))
    return found


def _facts(model: Model) -> list[tuple[str, str]]:
    """The lines of the head that come from the fit itself."""
    loo = model.leave_one_out()
    squares = loo.residual[~np.isnan(loo.residual)] ** 2
    root = np.sqrt(squares.mean()) if squares.size else np.nan
    noise = np.sqrt(model.noise_variance) * model.deviation[0]
    return [
        *_likelihood(model),
        ("Effective df", f"{loo.leverage.sum():.2f} of {len(model.c)}"),
        ("Scale (kernel)", f"{model.deviation[0] ** 2:.4g}"),
        ("Noise, std dev", f"{noise:.4g}"),
        ("Leave-one-out RMSE", f"{root:.4g}"),
    ]


def _likelihood(model):
    """The restricted log-likelihood, where the kernel is known."""
    if not model.components:
        return []
    return [("Log-likelihood (REML)", f"{model.criteria({})['reml']:.4f}")]


def _notes(model: Model, names: Sequence[str]) -> list[str]:
    """What a reader must know before reading the numbers."""
    P, said = model.posterior.P, []
    if not model.posterior.has_coef_covariance():
        said.append(
            "The kernel is only conditionally positive definite: coefficients depend on a "
            "convention, and have no standard errors."
        )
    zero, dependent = lost_features(P, names)
    if zero:
        said.append(f"Zero on the sample: {', '.join(zero)}.")
    if dependent:
        said.append(
            "Dependent on the sample, so that their coefficients are not unique: "
            f"{', '.join(dependent)}."
        )
    said += _choice_notes(model)
    if not _spans_constant(P):
        said.append("The constant is not in the span of the features: f has no free level.")
    return said


def _choice_notes(model):
    """What the choice of parameters on the same sample does to the numbers."""
    if model.tuning is None:
        return []
    said, used = [], model.estimated()
    if used and model.posterior.has_coef_covariance():
        said.append(
            f"Chosen on this sample, and counted in standard errors, t and p: {', '.join(used)}."
        )
    left = [name for name in model.tuning.names if name not in used]
    if left:
        said.append(
            f"Chosen on this sample, and taken as known: {', '.join(left)}.  Intervals are too "
            "short by what their choice adds."
        )
    if any(part.kernel is not None for part in model.components):
        said.append(
            "p (score) takes the parameters as known; after a width was chosen it tends to be too "
            "small."
        )
    return said


def _spans_constant(P: np.ndarray) -> bool:
    """Whether some combination of the features is 1 on the whole sample."""
    one = np.ones(len(P))
    return bool(P.shape[1] and np.abs(one - P @ np.linalg.lstsq(P, one)[0]).max() < 1e-8)
