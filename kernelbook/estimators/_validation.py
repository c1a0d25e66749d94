"""Checks that the support vector machines share."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

__all__ = [
    "check_choice",
    "check_count",
    "check_flags",
    "check_labels",
    "check_matrix",
    "check_parameters",
    "check_positive",
    "check_rtol",
    "classes_and_penalties",
    "labels",
    "sample_penalties",
]

SMALLEST = float(np.finfo(float).tiny)


def check_parameters(
    model: Any,
    *,
    positive: Collection[str] = (),
    counts: Mapping[str, int | None] | None = None,
    choices: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Refuse parameters of a learner that cannot mean anything.

    Parameters
    ----------
    positive : names of positive numbers
    counts : {name of an integer ≥ 1: what means "no limit", or None}
    choices : {name: what it may be}
    """
    for name in positive:
        check_positive(name, getattr(model, name))
    for name, unlimited in (counts or {}).items():
        check_count(name, getattr(model, name), unlimited)
    for name, known in (choices or {}).items():
        check_choice(name, getattr(model, name), known)


def classes_and_penalties(
    model: Any, sample: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(classes, codes, signs, C_i) of a classifier's sample, which must have at least two classes.

    The signs are ±1: a vector for two classes, otherwise a column for each.
    """
    classes, codes = labels(sample.y)
    one_hot = np.where(codes[:, None] == np.arange(classes.size), 1.0, -1.0)
    signs = one_hot[:, 1] if classes.size == 2 else one_hot
    C = sample_penalties(model.C, model.class_weight, classes, codes, sample.w)
    return classes, codes, signs, C


def check_positive(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not 0 < value < np.inf:  # type: ignore[operator]
        raise ValueError(f"{name}={value!r} must be a positive, finite number.")


def check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={value!r} must be True or False.")


def check_rtol(value: Any) -> None:
    """None, or what may count as dependent."""
    if value is not None and not (isinstance(value, Real) and 0 <= value < 1):  # type: ignore[operator]
        raise ValueError(f"rtol={value!r} must be None or a number in [0, 1).")


def check_choice(name: str, value: Any, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} is not known; choose one of {tuple(known)}.")


def check_count(name: str, value: Any, unlimited: int | None = None) -> None:
    """An integer ≥ 1, or the one that means "no limit"."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or not (value >= 1 or value == unlimited):
        rest = "" if unlimited is None else f", or {unlimited} for no limit"
        raise ValueError(f"{name}={value!r} must be an integer ≥ 1{rest}.")


def check_matrix(name: str, P: Any) -> None:
    """Features are named by the parameter; what goes beside a Gram matrix is numbers."""
    if isinstance(P, str):
        raise TypeError(
            f"{name}={P!r} must be a matrix with a row for each sample; for a named feature set "
            f"the parameter: SVMGBClassifier(features={P!r})."
        )


def check_labels(y: Any) -> None:
    """What scikit-learn says of labels, with what they are and what to use."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        some = ", ".join(map(repr, np.asarray(y).ravel()[:3].tolist()))
        raise ValueError(
            f"{error}  y is {some}, …: use labels of one type, words or whole numbers, and for "
            "targets that are numbers a regressor."
        ) from None


def labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """(classes, codes) of at least two classes."""
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:  # they have no order
        with suppress(TypeError):
            check_labels(y)
        raise TypeError(
            f"y has labels that cannot be compared with each other ({error}): use one type for "
            "all of them, words or numbers."
        ) from None
    whole = y.dtype.kind in "biuf" and np.array_equal(classes, np.rint(classes))
    if not whole or 2 * classes.size > y.size:  # or what scikit-learn has to say of them
        check_labels(y)
    if classes.size < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()}; a classifier needs at least two classes "
            "with positive weight."
        )
    return classes, codes


def sample_penalties(
    C: float, class_weight: Any, classes: np.ndarray, codes: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """C_i = C · sample weight · class weight."""
    weight = np.ones(classes.size)
    if class_weight is not None:
        try:
            weight = compute_class_weight(
                class_weight, classes=classes, y=classes[codes], sample_weight=w
            )
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{error}  (class_weight={class_weight!r}: pass None, 'balanced' or a dict with a "
                f"weight for each of {classes.tolist()}.)"
            ) from None
    if not (np.all(weight > 0) and np.isfinite(weight).all()):
        worst = np.argmin(np.where(np.isfinite(weight), weight, -np.inf))
        raise ValueError(
            f"class_weight={class_weight!r} gives class {classes.tolist()[worst]!r} the weight "
            f"{weight[worst]:g}; it must be positive and finite.  To leave a class out, drop its "
            "samples, or give them sample_weight 0."
        )
    with np.errstate(over="ignore", under="ignore"):
        box = C * w * weight[codes]
    if not (np.all(box >= SMALLEST) and np.isfinite(box).all()):
        raise ValueError(
            f"C={C!r} times sample_weight and class_weight ranges from {box.min():g} to "
            f"{box.max():g}; it must be positive and finite, {SMALLEST:.0e} at least, for every "
            "sample.  Scale the weights, or C."
        )
    return box
