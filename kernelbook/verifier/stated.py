"""What a learner's parameters say, beside what it was fitted with.

`repr(model)` shows `kernel`, `features`, `basis` and `reg`; a proof is about `kernel_`,
`features_`, `basis_` and `reg_`.  Where the two differ, the first is not true of this fit.  Left
out are what tuning has chosen, columns by name (fitted kernels number them) and random states.

Chapter: book/back/verify
"""

from typing import Any

import numpy as np

from kernelbook.verifier.fits import Untrue

__all__ = ["check_parameters"]


def check_parameters(model: Any, d: int) -> None:
    """An error for a parameter that is not that of the fitted object; X has `d` columns."""
    tuned = getattr(model, "tuning_", None) is not None
    _compare(model, "kernel", d, tuned)
    _compare(model, "features", d)
    _compare(model, "basis", d)
    _compare(getattr(model, "basis_", None), "kernel", d)
    chosen = tuned or hasattr(model, "regs")
    if hasattr(model, "reg_") and not chosen and model.reg != model.reg_:
        raise Untrue(f"reg={model.reg!r} is not what was fitted, reg_={model.reg_!r}")


def _compare(owner, name, d, tuned=False):
    fitted = getattr(owner, f"{name}_", None)
    if fitted is None or type(fitted).__name__ == "GivenFeatures":
        return
    given = getattr(owner, name)
    if not _is(given, fitted, name, d, tuned):
        raise Untrue(f"{name}={given!r:.80} is not what was fitted, {name}_={fitted!r:.80}")


def _is(given, fitted, name, d, tuned):
    kind = type(fitted).__name__
    if given is None and name == "kernel":
        return kind == "Gaussian" and (tuned or np.array_equal(fitted.width, np.sqrt(d)))
    if given is None or isinstance(given, str):
        default = {"features": "NoFeatures", "basis": "KernelBasis"}[name]
        kinds = {None: default, "constant": "Constant"}
        return kind == kinds.get(given, "Formula") and getattr(fitted, "formula", given) == given
    if not hasattr(given, "get_params"):
        return not callable(given) or getattr(fitted, "function", given) is given
    if type(given) is not type(fitted):
        return False
    stated, used = given.get_params(), fitted.get_params()
    return stated.keys() == used.keys() and all(
        _equal(key.rpartition("__")[2], stated[key], used[key], tuned) for key in stated
    )


def _equal(name, stated, used, tuned):
    """Whether two parameters of the same name say the same; what cannot be compared does."""
    if name == "random_state" or hasattr(stated, "get_params"):
        return type(stated) is type(used) or name == "random_state"
    if name == "columns" and np.asarray(stated).dtype.kind == "U":
        return True
    if tuned and np.asarray(stated).dtype.kind in "iuf":
        return True
    try:
        return stated is used or bool(np.all(stated == used))
    except (TypeError, ValueError):
        return True
