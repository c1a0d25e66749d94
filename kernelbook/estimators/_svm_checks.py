"""Checks that the support vector machines share."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

__all__ = ["boxes", "check_choice", "check_count", "check_features", "check_positive", "labels"]


def check_positive(name, value):
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive, finite number.")


def check_choice(name, value, known):
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} is not known; choose one of {tuple(known)}.")


def check_count(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_) or value < 1:
        raise ValueError(f"{name}={value!r} must be an integer ≥ 1.")


def check_features(P, w):
    """More features than samples can fit anything; weights count as repeated samples."""
    m, l = P.shape
    if l > max(m, w.sum()):
        raise ValueError(
            f"{l} free features on {m} samples: more features than samples separate any labels. "
            "Take fewer features, or more samples."
        )


def labels(y):
    """(classes, codes) of at least two classes."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y has only one class, {classes[0]!r}, among the samples of positive weight; "
            "a classifier needs at least two."
        )
    return classes, codes


def boxes(C, class_weight, classes, codes, w):
    """C_i = C · sample weight · class weight."""
    weight = compute_class_weight(class_weight, classes=classes, y=classes[codes], sample_weight=w)
    with np.errstate(over="ignore"):
        box = C * w * weight[codes]
    if not (np.all(box > 0) and np.isfinite(box).all()):
        raise ValueError(
            f"C={C!r} times sample_weight and class_weight ranges from {box.min():g} to "
            f"{box.max():g}; it must be positive and finite for every sample."
        )
    return box
