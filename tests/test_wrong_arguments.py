"""Every public name, called with every kind of wrong argument, answers with a useful error.

A table: what may be passed, and for each argument what may not, by type, shape, range, NaN and
length.  The error must be a TypeError or a ValueError, contain the argument's name and its value
(or, of an array, its shape, its type or the entry that is wrong), and say what to do.
"""

import re

import numpy as np
import pytest

import kernelbook as kb

RNG = np.random.default_rng(0)
M = 24
X = RNG.normal(size=(M, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=M) > 0, 1.0, -1.0)
GRAM = kb.Gaussian()(X)
ONES = np.ones((M, 1))
BASIS = kb.KernelBasis(kb.Gaussian(), centers=X[:5])

REMEDY = re.compile(
    r"must|pass|use|choose|take|scale|drop|write|name|allow|leave|needs?|reshape|encode|set"
    r"|goes from|should|expected|is expecting|required|neither",
    re.IGNORECASE,
)
WORD, NOTHING, LIST, COMPLEX = "abc", None, [1.0, 2.0], 1j
NUMBER = [WORD, LIST, COMPLEX, np.nan, object()]  # wrong wherever one finite number is wanted
POSITIVE = [*NUMBER, 0.0, -1.0, np.inf]
COUNT = [*NUMBER, 0, -3, 1.5, True]
FLAG = [WORD, 2, LIST, NOTHING, np.nan]
CHOICE = ["another", 3, NOTHING, LIST]
VERBOSE = [WORD, -1, 1.5, LIST, NOTHING, np.nan]
SEED = [WORD, 1.5, -1, LIST]
COLUMNS = [1.5, {}, [[0]], [], -1, True]
MAP = ["linear", 3, kb.Polynomials, kb.Gaussian()]
KERNEL = ["rbf", 3, kb.Gaussian, [1.0]]
WEIGHTS = [WORD, -np.ones(M), np.zeros(M), np.full(M, np.nan), np.ones(M - 1), np.ones((M, 2))]
MATRIX = [
    WORD, X[:, 0], X[None], np.where(X > 1, np.nan, X), X + 1j, np.full(X.shape, "a"),
    np.empty((0, 2)), np.empty((M, 0)),
]  # fmt: skip
LABELS = [WORD, Y[:-1], Y[:, None] * [1, 1], np.full(M, np.nan), np.ones(M), RNG.normal(size=M),
          np.array([1, "a"] * (M // 2), dtype=object), Y + 1j]  # fmt: skip
TARGETS = [WORD, Y[:-1], Y[None, :], np.where(Y > 0, np.nan, Y), Y + 1j, np.full(M, "a")]
GRAMS = [WORD, GRAM[:-1], GRAM[0], np.full((M, M), np.nan), GRAM + 1j, np.full((M, M), "a")]
FEATURES_GIVEN = [WORD, ONES[:-1], ONES[:, 0], ONES * np.nan, ONES + 1j]

CALLS = {
    "C_from_reg": (kb.C_from_reg, {"reg": 0.1, "m": 10}, {"reg": POSITIVE, "m": POSITIVE}),
    "reg_from_C": (kb.reg_from_C, {"C": 0.1, "m": 10}, {"C": POSITIVE, "m": POSITIVE}),
    "Certificate": (
        kb.Certificate,
        {"primal": 1.0, "dual": 1.0, "constraint": 0.0, "kkt": 0.0},
        {name: [WORD, LIST, COMPLEX, NOTHING] for name in ("primal", "dual", "constraint", "kkt")},
    ),
    "orthonormalize": (
        kb.orthonormalize,
        {"basis": BASIS},
        {"basis": [NOTHING, WORD, 3, kb.KernelBasis], "method": CHOICE,
         "rtol": [WORD, 1.0, -0.1, np.nan, LIST]},
    ),
    "svm_path": (
        kb.svm_path,
        {"gram": GRAM, "P": ONES, "y": Y},
        {"gram": GRAMS, "P": FEATURES_GIVEN,
         "y": [WORD, Y[:, None], Y * 2, Y * np.nan, [], Y + 1j],
         "C_max": POSITIVE, "sample_weight": WEIGHTS},
    ),
    "verify": (
        kb.verify,
        {"model": kb.GRLSRegressor().fit(X, Y), "X": X, "y": Y},
        {"model": [WORD, NOTHING, kb.GRLSRegressor()], "X": [WORD, X[:-1], X * np.nan, X + 1j],
         "sample_weight": [WORD, np.ones(M - 1), np.full(M, np.nan)], "tol": POSITIVE},
    ),
    "load": (kb.load, {"path": "m.kb"}, {"path": [NOTHING, 3, LIST, b"m.kb"]}),
}  # fmt: skip
KERNELS = {
    "Gaussian": {"width": [WORD, 0.0, -1.0, np.nan, np.inf, COMPLEX, [], [1.0, -1.0], None]},
    "Laplacian": {"width": ["abc", 0.0, -1.0, np.nan, [], [0.0]]},
    "Matern": {"width": ["abc", 0.0, np.nan], "nu": ["abc", 0.0, -1.0, np.nan, 51.0, True]},
    "RationalQuadratic": {"width": ["abc", 0.0, np.nan], "alpha": POSITIVE},
    "Periodic": {"period": ["abc", 0.0, np.nan, None], "width": ["abc", 0.0, -1.0]},
    "Multiquadric": {"width": ["abc", 0.0, -1.0, np.nan]},
    "Polyharmonic": {"exponent": [*NUMBER, 0, -1.0]},
    "Polynomial": {"degree": COUNT, "offset": [*NUMBER, -1.0, np.inf]},
    "Linear": {}, "ThinPlate": {}, "Categorical": {},
}  # fmt: skip
KERNEL_SELF = {name: {"period": 2.0} if name == "Periodic" else {} for name in KERNELS}

LEARNER = {"features": MAP, "verbose": VERBOSE}
GRLS = {
    **LEARNER, "kernel": KERNEL, "reg": [*NUMBER, -1.0, np.inf, True], "solver": CHOICE,
    "tol": [*NUMBER, -1.0], "max_iter": COUNT, "bounds": [WORD, [(1.0, 0.0)] * 2, 3],
    "random_state": SEED, "n_centers": COUNT, "centers": ["another", 3, X[:, 0]],
    "tune": ["another", 3, LIST, kb.Tuning, True],
}  # fmt: skip
GRLS_SOLVERS = {"bounds": "fourier", "random_state": "nystrom", "n_centers": "nystrom",
                "centers": "nystrom"}  # fmt: skip
SVM = {
    **LEARNER, "kernel": KERNEL, "C": [*POSITIVE, True], "tol": POSITIVE, "gap_tol": POSITIVE,
    "solver": CHOICE, "multiclass": CHOICE, "class_weight": [WORD, {1.0: -1.0}, 3, {7: 1.0}],
    "max_iter": [WORD, 0, -3, 1.5, np.nan], "warm_start": FLAG,
}  # fmt: skip
PRIMAL = {
    **LEARNER, "basis": ["rbf", 3, kb.KernelBasis, kb.Gaussian()], "C": POSITIVE, "tol": POSITIVE,
    "loss": CHOICE, "solver": CHOICE, "orthonormalization": CHOICE, "multiclass": CHOICE,
    "rtol": [WORD, 1.0, -0.1, np.nan], "max_iter": COUNT, "random_state": SEED,
    "class_weight": [WORD, {1.0: -1.0}, 3],
}  # fmt: skip
GROWING = {
    **LEARNER, "basis": ["rbf", 3, kb.KernelBasis], "C": POSITIVE, "tol": POSITIVE,
    "max_basis": COUNT, "select": CHOICE, "stop": ["another", 3], "patience": COUNT,
    "validation_fraction": [*NUMBER, 0.0, 1.0], "n_candidates": COUNT, "train_on": CHOICE,
    "cv": [WORD, 1, -2, 1.5], "rtol": [WORD, 1.0, np.nan], "multiclass": CHOICE,
    "random_state": SEED,
}  # fmt: skip
GROWING_WITH = {"cv": {"stop": "cv"}, "validation_fraction": {"stop": "held_out"}}
CHOSEN = {
    "kernel": KERNEL, "features": MAP, "solver": CHOICE, "tol": [*NUMBER, -1.0], "scoring": CHOICE,
    "regs": [WORD, -1.0, [0.0, -1.0], [], [np.nan], [[1.0]]],
}  # fmt: skip
LEARNERS = {
    "GRLSRegressor": (GRLS, TARGETS), "GRLSClassifier": (GRLS, LABELS[:-1]),
    "GRLSRegressorCV": (CHOSEN, TARGETS), "GRLSClassifierCV": (CHOSEN, LABELS[:-1]),
    "SVMGBClassifier": (SVM, LABELS), "PrimalSVMClassifier": (PRIMAL, LABELS),
    "IncrementalSVMClassifier": (GROWING, LABELS),
}  # fmt: skip
OTHERS = {
    "Polynomials": {"degree": [WORD, -1, 1.5, np.nan, True, LIST],
                    "scaled": ["no", 2, None, np.nan]},
    "FunctionBasis": {"functions": [[], 3, WORD, [3], None], "gram": [WORD, X, np.eye(2) * np.nan]},
    "GaussianBasis": {"centers": ["another", 3, X[:, 0]], "widths": [WORD, 0.0, -1.0, np.nan, []],
                      "reading": CHOICE, "n_centers": COUNT},
    "KernelBasis": {"kernel": [*KERNEL, kb.ThinPlate()], "centers": ["another", 3, X[:, 0]],
                    "n_centers": COUNT},
    "Tuning": {"criterion": CHOICE, "fixed": [3, None, [1]], "starts": COUNT,
               "max_rows": [v for v in COUNT if v is not None],
               "bounds": [WORD, 3, None, {"width": 3}, {"width": (2, 1)}, {"width": (0, 1)}]},
    "Formula": {"formula": [3, NOTHING, "", "y ~ x0", LIST],
                "functions": [3, WORD, {"f": 3}]},
    "SpatialBlocks": {"size": POSITIVE, "n_splits": [*COUNT, 1], "buffer": [*NUMBER, -1.0],
                      "random_state": [WORD, 1.5, -1, NOTHING, LIST]},
    "TimeBlocks": {"n_splits": [*COUNT, 1], "gap": [*NUMBER, -1.0]},
    "RollingOrigin": {"horizon": POSITIVE, "n_splits": COUNT,
                      "step": [v for v in POSITIVE if v is not None],
                      "window": [v for v in POSITIVE if v is not None]},
    "ConditionalKernel": {"kernel": KERNEL, "features": MAP,
                          "anchors": ["another", 3, None, X[:, 0]]},
}  # fmt: skip
OTHER_SELF = {
    "FunctionBasis": {"functions": [lambda X: X[:, 0], lambda X: X[:, 1]]},
    "Formula": {"formula": "1 + x0"}, "SpatialBlocks": {"size": 1.0},
    "RollingOrigin": {"horizon": 0.5},
    "GaussianBasis": {"centers": "subset"}, "KernelBasis": {"centers": "subset"},
}  # fmt: skip


def _cases():
    for name, (function, right, wrong) in CALLS.items():
        for argument, values in wrong.items():
            for value in values:
                yield name, argument, value, lambda f=function, a=right | {argument: value}: f(**a)
    for name, wrong in KERNELS.items():
        kernel = getattr(kb, name)
        for argument, values in (wrong | {"columns": COLUMNS}).items():
            for value in values:
                given = KERNEL_SELF[name] | {argument: value}
                yield name, argument, value, lambda k=kernel, g=given: k(**g)
        for value in MATRIX[:-2]:
            yield name, "X", value, lambda k=kernel, v=value, n=name: k(**KERNEL_SELF[n])(v)
    for name, (wrong, targets) in LEARNERS.items():
        learner = getattr(kb, name)
        for argument, values in wrong.items():
            more = (
                {"solver": GRLS_SOLVERS[argument]}
                if argument in GRLS_SOLVERS and wrong is GRLS
                else {}
            )
            more |= GROWING_WITH.get(argument, {})
            for value in values:
                given = more | {argument: value}
                yield name, argument, value, lambda k=learner, g=given: k(**g).fit(X, Y)
        for argument, values in {"X": MATRIX, "y": targets, "sample_weight": WEIGHTS}.items():
            for value in values:
                given = {"X": X, "y": Y} | {argument: value}
                yield name, argument, value, lambda k=learner, g=given: k().fit(**g)
        for value in [WORD, X[:, :1], X[0], X * np.nan, X + 1j]:
            yield name, "X", value, lambda k=learner, v=value: _fitted(k).predict(v)
    for name, wrong in OTHERS.items():
        part = getattr(kb, name)
        for argument, values in wrong.items():
            for value in values:
                given = OTHER_SELF.get(name, {}) | {argument: value}
                yield name, argument, value, lambda k=part, g=given: _use(k(**g))
    for C in (0, -1.0, np.nan, 2e3, WORD, None, LIST):
        yield "SVMPath", "C", C, lambda C=C: kb.svm_path(GRAM, ONES, Y).certificate(C)


def _fitted(learner, cache={}):  # noqa: B006  the cache is the point
    if learner not in cache:
        cache[learner] = learner().fit(X, Y)
    return cache[learner]


def _use(part):
    if hasattr(part, "split"):
        return list(part.split(X))
    part.fit(X)
    if hasattr(part, "evaluate"):
        kb.orthonormalize(part)
        part.evaluate(X)


def _shown(value):
    """What of a wrong value an error may show: itself, its type, its shape, or a wrong entry."""
    shown = {repr(value), str(value), type(value).__name__, str(np.asarray(value).dtype)}
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        shown |= {str(array.shape), str(array.dtype), f"{array.shape[:1]}", str(len(array))}
        shown |= {repr(v) for v in array.ravel()[:3].tolist()}
        shown |= {"NaN", "nan"} if array.dtype.kind == "f" and np.isnan(array).any() else set()
        shown |= {"complex"} if array.dtype.kind == "c" else set()
        shown |= {"negative"} if array.dtype.kind == "f" and (array < 0).any() else set()
        shown |= {"zero"} if array.dtype.kind == "f" and not array.any() else set()
        shown |= {f"{n} " for n in array.shape}
    if isinstance(value, float) and value == int(value if np.isfinite(value) else 0.5):
        shown.add(str(int(value)))
    if isinstance(value, type):
        shown |= {value.__name__}
    return shown


def label_of(case):
    name, argument, value, _ = case
    array = isinstance(value, np.ndarray)
    text = f"{value.dtype}{value.shape}" if array else f"{value!r}"
    return re.sub(r" at 0x\w+", "", f"{name}-{argument}-{text}"[:60])


CASES = list(_cases())


def check_case(case):
    """The error of a call names the argument, its value and the remedy."""
    _, argument, value, call = case
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    text = str(caught.value)
    assert re.search(rf"\b{argument}", text), f"the argument {argument} is not named: {text}"
    assert any(part in text for part in _shown(value)), f"its value is not shown: {text}"
    assert REMEDY.search(text), f"no remedy: {text}"


@pytest.mark.parametrize("case", CASES, ids=map(label_of, CASES))
def test_a_wrong_argument_is_named_with_its_value_and_the_remedy(case):
    check_case(case)
