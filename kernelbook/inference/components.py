"""f taken apart: what each group of features, and each summand of the kernel, contributes.

    f = Σ_groups Σ_{p in group} λ_p φ_p  +  Σ_t g_t,    g_t = Σ_i c_i K_t(x_i, ·),    K = Σ_t K_t.

Scaled sums and products of sums are multiplied out: (K₁ + K₂)K₃ has the components K₁K₃ and K₂K₃,
as in functional ANOVA.

**Levels.**  A constant can move between the free constant and a g_t whose kernel is nearly constant
on the sample.  The sum does not change, but a single part has a large standard error that says
nothing about its shape.  Centred components are measured from their mean over the sample; what is
taken away is given to the constant.  Both are linear functionals (`functionals`), so standard
errors need no approximation.  Shapes of two parts can be hard to tell apart, too, as those of two
kernels in one column; then the errors of centred components are large as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbook.inference.functionals import Functionals

__all__ = ["LEVEL", "Component", "centered", "label", "named", "plain", "split", "summands"]

LEVEL = "Intercept"


@dataclass(frozen=True)
class Component:
    """A summand of f: a kernel, or columns of P."""

    name: str
    kernel: Any = None
    columns: tuple[int, ...] = ()


def summands(kernel: Any) -> list[Any]:
    """The kernels K_t of K = Σ K_t, none of them a sum."""
    params = kernel.get_params(deep=False) if hasattr(kernel, "get_params") else {}
    kind = type(kernel).__name__
    if kind == "Sum":
        return summands(params["left"]) + summands(params["right"])
    if kind == "Scaled":
        return [params["factor"] * term for term in summands(params["kernel"])]
    if kind == "Product":
        left, right = summands(params["left"]), summands(params["right"])
        return [kernel] if len(left) == len(right) == 1 else [a * b for a in left for b in right]
    return [kernel]


def label(kernel: Any, names: Sequence[str] | None) -> str:
    """A kernel by its class and the columns that it sees: `Matern(x, y)`."""
    params, kind = kernel.get_params(deep=False), type(kernel).__name__
    if kind in ("Product", "Sum"):
        sign = " * " if kind == "Product" else " + "
        return sign.join(label(params[side], names) for side in ("left", "right"))
    if kind == "Scaled":
        return label(params["kernel"], names)
    if kernel.columns is None:
        return kind
    columns: Any = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
    if names is not None:
        columns = [names[c] if isinstance(c, int) else c for c in columns]
    return f"{kind}({', '.join(map(str, columns))})"


def named(kernel: Any, names: Sequence[str] | None) -> Any:
    """A copy of a kernel to be read: the names of its columns, four digits of its parameters."""
    shown = kernel.copy()
    for name, value in vars(shown).items():
        vars(shown)[name] = _rounded(value)
    for name, part in vars(shown).items():
        if hasattr(part, "cpd_order"):
            vars(shown)[name] = named(part, names)
    if names is not None and shown.columns is not None:
        single = isinstance(shown.columns, int)
        columns: Any = (shown.columns,) if single else shown.columns
        found = tuple(names[c] if isinstance(c, int) else c for c in columns)
        shown.columns = found[0] if single else found
    return shown


def _rounded(value):
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return float(f"{value:.4g}") if isinstance(value, float) else value


def split(
    kernel: Any, groups: dict[str, tuple[int, ...]], names: Sequence[str] | None = None
) -> list[Component]:
    """The components of a fit, those of the features first; every name is another."""
    parts = [Component(name, None, columns) for name, columns in groups.items()]
    taken = set(groups)
    for term in summands(kernel):
        short = name = label(term, names)
        count = 1
        while name in taken:
            count += 1
            name = f"{short} [{count}]"
        taken.add(name)
        parts.append(Component(name, term))
    return parts


def plain(component: Component, X: Any, centers: Any, P: np.ndarray) -> Functionals:
    """The values of one component at the rows of X."""
    n, m = P.shape[0], centers.shape[0]
    if component.kernel is None:
        return Functionals(np.zeros((n, m)), _only(P, component.columns), np.zeros(n))
    kernel = component.kernel
    return Functionals(kernel(X, centers), np.zeros_like(P), kernel.diag(X))


def centered(
    components: Sequence[Component],
    X: Any,
    centers: Any,
    P: np.ndarray,
    sample_P: np.ndarray,
    shares: np.ndarray,
) -> dict[str, Functionals]:
    """All components, measured from their means over the sample; the constant takes the means.

    Parameters
    ----------
    components : list of Component
    X, P
        Where they are asked for.
    centers, sample_P
        The sample.
    shares : (m,) array
        Weights of the mean, of sum one.
    """
    level = np.zeros((1, centers.shape[0])), np.zeros((1, P.shape[1])), 0.0
    found, mean_p = {}, shares @ sample_P
    home = next((c.name for c in components if _is_constant(c, sample_P)), LEVEL)
    for component in components:
        if component.name == home:
            continue
        here = plain(component, X, centers, P)
        if component.kernel is None:
            shift = _only(mean_p[None], component.columns)
            found[component.name] = Functionals(here.k, here.p - shift, here.prior)
            level = level[0], level[1] + shift, level[2]
        else:
            gram = component.kernel(centers)
            k, prior = shares @ gram, float(shares @ gram @ shares)
            moved = here.prior - 2 * here.k @ shares + prior
            found[component.name] = Functionals(here.k - k, here.p, np.maximum(moved, 0.0))
            level = level[0] + k, level[1], level[2] + prior
    own = [c for c in components if c.name == home]
    p = _only(P, own[0].columns) if own else np.zeros_like(P)
    k = np.broadcast_to(level[0], (len(P), centers.shape[0]))
    constant = Functionals(k, p + level[1], np.full(len(P), level[2]))
    return {home: constant} | found


def _only(P, columns):
    """P with the other columns zero."""
    part = np.zeros_like(P)
    part[:, list(columns)] = P[:, list(columns)]
    return part


def _is_constant(component, P):
    if component.kernel is not None or len(component.columns) != 1 or not len(P):
        return False
    column = P[:, component.columns[0]]
    return bool(column[0] != 0 and (column == column[0]).all())
