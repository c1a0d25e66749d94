"""Every public method, called with every kind of wrong argument: as in `test_wrong_arguments`.

`METHODS` has each method of each public class, with arguments that are right and some that are
not; a test fails when a method is missing from it.
"""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import kernelbook as kb
from tests import test_wrong_arguments as wrong_arguments
from tests.test_wrong_arguments import (
    BASIS,
    COMPLEX,
    FLAG,
    LIST,
    NOTHING,
    SEED,
    TARGETS,
    WEIGHTS,
    WORD,
    M,
    X,
    Y,
    check_case,
    label_of,
)  # fmt: skip

NEW = [WORD, X[:, :1], X[0], X * np.nan, X + 1j, np.full(X.shape, "a"), NOTHING]
PATHS = [NOTHING, 3.5, LIST]
COEFFICIENTS = [WORD, np.ones(M - 1), np.full(M, np.nan), np.ones((M, 1, 1)), np.ones(M) * 1j]
LEVEL = [WORD, 0.0, 1.0, -0.5, 2.0, np.nan, NOTHING, COMPLEX, LIST]
BELOW = [value for value in COEFFICIENTS if not (isinstance(value, np.ndarray) and value.ndim == 3)]
NAMES = [1.5, 7, [7], {}, [[0]], "a"]

LEARNER = {"save": ({"path": "m.kb"}, {"path": PATHS})}
SCORE = {"X": NEW[:-1]}
CLASSIFIER = {
    **LEARNER,
    "decision_function": ({"X": X}, {"X": NEW}),
    "predict": ({"X": X}, {"X": NEW}),
    "score": ({"X": X, "y": Y}, SCORE),
}
PREDICT = {
    "X": NEW, "return_std": FLAG, "return_cov": FLAG, "noise": FLAG,
    "interval": [v for v in LEVEL if v is not None],
}  # fmt: skip
EFFECTS = {
    "criteria": ({}, {"parameters": [3, WORD, {"nothing": 1.0}, {"reg": "abc"}, {"reg": -1.0}]}),
    "leave_one_out": ({}, {}),
    "marginal_effects": ({"X": X}, {"X": NEW, "columns": [*NAMES, np.nan], "level": LEVEL}),
    "predict_components": ({"X": X}, {"X": NEW, "return_std": FLAG, "centered": FLAG}),
    "predict_gradient": ({"X": X}, {"X": NEW, "columns": NAMES, "return_std": FLAG}),
    "sample_y": ({"X": X}, {"X": NEW, "n_samples": [WORD, 0, -1, 1.5, NOTHING, LIST],
                            "random_state": SEED, "noise": FLAG}),
    "summary": ({}, {"level": LEVEL}),
    "test_component": ({"name": "kernel"}, {"name": [3, NOTHING, "nothing", LIST]}),
}  # fmt: skip
CHUNKS = {
    "fit_chunks": ({"chunks": [(X, Y)]}, {"chunks": [3, NOTHING, WORD, [], [(X,)], [(X, Y[:-1])]]}),
    "predict_chunks": ({"chunks": [X]}, {"chunks": [3, NOTHING]}),
    "partial_fit": ({"X": X, "y": Y}, {"X": NEW[:-1], "y": TARGETS[:-1], "sample_weight": WEIGHTS}),
}
REGRESSOR = {
    **LEARNER, **EFFECTS, **CHUNKS,
    "predict": ({"X": X}, PREDICT), "score": ({"X": X, "y": Y}, SCORE),
}  # fmt: skip
GRLS_CLASSIFIER = {**CLASSIFIER, **CHUNKS}
ON_PATH = {"X": NEW, "n_basis": [WORD, 0, -1, 99, 1.5, LIST]}
GROWING = {**CLASSIFIER, "decision_function": ({"X": X}, ON_PATH), "predict": ({"X": X}, ON_PATH)}
KERNEL = {
    "diag": ({"X": X}, {"X": NEW[:1] + NEW[3:]}),
    "single": ({"X": X}, {"X": NEW[:1] + NEW[3:]}),
    "gram_matvec": (
        {"X": X, "c": np.ones(M)},
        {"X": NEW[3:], "c": COEFFICIENTS, "tick": [WORD, 3]},
    ),
    "matvec": ({"X": X, "Z": X, "c": np.ones(M)}, {"X": NEW[1:], "Z": NEW[3:5], "c": COEFFICIENTS}),
    "blocks": ({"X": X}, {"X": NEW[3:]}),
    "panels": ({"X": X}, {"X": NEW[3:], "tick": [WORD, 3]}),
    "gram_gradient": ({"X": X}, {"X": NEW[3:]}),
    "gradient_x": ({"X": X, "Z": X}, {"X": NEW[1:], "Z": NEW[3:5]}),
    "gradient_variance": ({"X": X}, {"X": NEW[3:]}),
    "tuned": ({"values": {}}, {"values": [WORD, 3, {"nothing": 1.0}]}),
    "bound": ({"names": None}, {"names": [3]}),
}
BASES = {
    "fit": ({"X": X}, {"X": NEW[:1] + NEW[3:]}),
    "evaluate": ({"X": X}, {"X": NEW[3:] + NEW[:2]}),
    "combine": ({"X": X, "c": np.ones(5)}, {"X": NEW[3:], "c": [WORD, np.ones(4)]}),
    "take": ({"functions": [0, 1]}, {"functions": [WORD, [99], [0.5]]}),
}
OF_FUNCTIONS = {  # what a function does with another number of columns is its own affair
    **BASES,
    "evaluate": ({"X": X}, {"X": NEW[3:] + NEW[:1]}),
    "combine": ({"X": X, "c": np.ones(1)}, {"X": NEW[3:], "c": [WORD, np.ones(4)]}),
    "take": ({"functions": [0]}, {"functions": [WORD, [-1], [0.5]]}),
}
FEATURES = {
    "fit": ({"X": X}, {"X": NEW[:1] + NEW[3:]}),
    "transform": ({"X": X}, {"X": NEW[:1] + NEW[3:]}),
}
CONSTANT = {  # of any numbers, NaN too
    method: ({"X": X}, {"X": [WORD, X + 1j, np.full(X.shape, "a"), NOTHING]})
    for method in ("fit", "transform")
}
FORMULA = {method: ({"X": X}, {"X": [WORD, X + 1j, X[0], NOTHING]}) for method in CONSTANT}
SPLIT = {"split": ({"X": X}, {"X": [WORD, NOTHING, 3, X * np.nan, np.full(X.shape, "a")]})}


def fitted(learner, **given):
    return learner(**given).fit(X, Y)


OBJECTS = {
    "GRLSRegressor": (fitted(kb.GRLSRegressor), REGRESSOR),
    "GRLSRegressorCV": (fitted(kb.GRLSRegressorCV), REGRESSOR),
    "GRLSClassifier": (fitted(kb.GRLSClassifier), GRLS_CLASSIFIER),
    "GRLSClassifierCV": (fitted(kb.GRLSClassifierCV), GRLS_CLASSIFIER),
    "SVMGBClassifier": (fitted(kb.SVMGBClassifier), CLASSIFIER),
    "PrimalSVMClassifier": (fitted(kb.PrimalSVMClassifier), CLASSIFIER),
    "IncrementalSVMClassifier": (fitted(kb.IncrementalSVMClassifier, max_basis=3), GROWING),
    "KernelBasis": (BASIS.fit(X), BASES),
    "GaussianBasis": (kb.GaussianBasis(X[:5]).fit(X), BASES),
    "LinearBasis": (kb.LinearBasis().fit(X), BASES),
    "FunctionBasis": (kb.FunctionBasis([lambda X: X[:, 0]]).fit(X), OF_FUNCTIONS),
    "Constant": (kb.Constant().fit(X), CONSTANT),
    "Polynomials": (kb.Polynomials(1).fit(X), FEATURES),
    "Formula": (kb.Formula("1 + x0").fit(X), FORMULA),
    "SpatialBlocks": (kb.SpatialBlocks(1.0), SPLIT),
    "TimeBlocks": (kb.TimeBlocks(), SPLIT),
    "RollingOrigin": (kb.RollingOrigin(0.5), SPLIT),
}
KERNELS = set(kb.kernels.__all__) & set(kb.__all__) - {"Kernel"}
for name in sorted(KERNELS):
    kernel = getattr(kb, name)
    OBJECTS[name] = (kernel(2.0) if name == "Periodic" else kernel(), KERNEL)


def cases():
    for name, (thing, methods) in OBJECTS.items():
        for method, (right, wrong) in methods.items():
            if not hasattr(thing, method):
                continue
            for argument, values in wrong.items():
                for value in values:
                    yield (
                        f"{name}.{method}", argument, value,
                        lambda t=thing, m=method, g=right | {argument: value}: run(t, m, g),
                    )  # fmt: skip


def run(thing, method, given):
    if method in ("fit", "fit_chunks", "partial_fit"):
        thing = clone(thing, safe=False)
    found = getattr(thing, method)(**given)
    return list(found) if inspect.isgenerator(found) else found


CASES = list(cases())


# Of kernels, what learners and other kernels call, with arguments that they have made.
INSIDE = {"copy", "exponents", "far_origin", "gradient_traces", "required_polynomials", "tunable"}
OF_BASES = {"count", "gram", "represent"}
FROM_SCIKIT_LEARN = {"fit_transform", "get_params", "get_feature_names_out", "get_n_splits",
                     "get_metadata_routing"}  # fmt: skip
ELSEWHERE = {"Kernel", "ConditionalKernel", "Certificate", "SVMPath", "Tuning", "Verdict"}


def test_no_method_is_left_out():
    for name in kb.__all__:
        thing = getattr(kb, name)
        if not inspect.isclass(thing) or name in ELSEWHERE:
            continue
        public = {
            method
            for method in dir(thing)
            if not method.startswith(("_", "set_")) and callable(getattr(thing, method))
        }
        known = set(OBJECTS[name][1]) | INSIDE | OF_BASES | FROM_SCIKIT_LEARN
        assert not public - known - {"fit", "predict"}, f"{name}: {public - known}"


def test_no_public_name_is_left_out():
    here = set(OBJECTS) | ELSEWHERE | {"__version__"}
    there = {name for name, *_ in wrong_arguments.CASES}
    assert not set(kb.__all__) - here - there


@pytest.mark.parametrize("case", CASES, ids=map(label_of, CASES))
def test_a_wrong_argument_is_named_with_its_value_and_the_remedy(case):
    check_case(case)
