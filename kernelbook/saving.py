"""Fitted learners in a file that can run no code: `model.save("m.kb")`, `load("m.kb")`.

The file is a zip archive of `model.json`, a tree of plain values, and of `arrays/0.npy`, …  An
object is written as the name of its class and its attributes; `CLASSES` lists the classes there
are, and `load` knows no others: what a name in a file leads to is decided here and not there.  What
is code, such as a function as a kernel or a feature, cannot be written, and the error names it.

A pickle, in contrast, is a program that `joblib.load` runs.  Load one only if it is your own.
"""

import json
import os
import zipfile
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from kernelbook.verifier.reading import FORMAT, SPARSE, VERSION, read

__all__ = ["load", "save"]

CLASSES = {
    "estimators.grls": "GRLSRegressor GRLSClassifier",
    "estimators.grls_cv": "GRLSRegressorCV GRLSClassifierCV RegPath",
    "estimators.svm": "SVMGBClassifier",
    "estimators.primal_svm": "PrimalSVMClassifier",
    "estimators.incremental_svm": "IncrementalSVMClassifier Step",
    "certificates": "Certificate",
    "numeric.column_space": "ColumnSpace",
    "kernels": "Categorical Gaussian Laplacian Linear Matern Multiquadric Periodic Polyharmonic "
    "Polynomial RationalQuadratic ThinPlate",
    "kernels.algebra": "Sum Product Scaled",
    "features": "Constant GivenFeatures NoFeatures Polynomials",
    "bases": "GaussianBasis KernelBasis LinearBasis",
    "bases.base": "Selection",
    "bases.orthonormal": "OrthonormalBasis",
    "solvers.grls.solution": "Solution",
    "solvers.grls.tuning.settings": "Tuning TuningResult",
    "solvers.grls.predictor": "GramColumns KernelExpansion OriginShift",
    "solvers.grls.posterior": "DensePosterior",
    "solvers.grls.dense": "System",
    "solvers.grls.problem": "Scaled:ScaledProblem ScaledGram",
    "solvers.grls.saddle_factor": "PackedSymmetric NullSpaceFactor SchurFactor",
}
"""module: classes, under their names in the file, if these are others than in the module."""


def _known():
    """{name in the file: (module, name)}"""
    found = {}
    for module, names in CLASSES.items():
        for entry in names.split():
            name, _, alias = entry.partition(":")
            found[alias or name] = (f"kernelbook.{module}", name)
    return found


def _class_of(name):
    if name not in (known := _known()):
        raise ValueError(f"it has an object of the class {name!r}, which this version cannot load")
    module, name = known[name]
    return getattr(import_module(module), name)


# ------------------------------------------------------------------------------------- writing


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted learner to a file that `load` reads."""
    if not isinstance(path, str | os.PathLike) and not hasattr(path, "write"):
        raise TypeError(f"path={path!r:.60} must be the name of a file, or a file to write to.")
    writer = _Writer()
    root = writer.node(model, type(model).__name__)
    head = {"format": FORMAT, "version": VERSION}
    head["fingerprint"] = getattr(model, "fingerprint_", None)
    text = json.dumps(head | {"model": root}, allow_nan=False, ensure_ascii=False)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
        for k, array in enumerate(writer.arrays):
            with archive.open(f"arrays/{k}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


class _Writer:
    """The nodes of a tree, and the arrays in it; an object that occurs twice is written once."""

    def __init__(self):
        self.arrays, self._numbers, self._kept = [], {}, []
        self._names = {place: name for name, place in _known().items()}

    def node(self, value, where):
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float) and type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list):
            return [self.node(v, f"{where}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": [self.node(v, f"{where}[{i}]") for i, v in enumerate(value)]}
        if type(value) is dict:
            pairs = [[self.node(k, where), self.node(v, where)] for k, v in value.items()]
            return {"dict": pairs}
        if isinstance(value, slice):
            ends = value.start, value.stop, value.step
            return {"slice": [self.node(end, where) for end in ends]}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, where)
        if sparse.issparse(value) and type(value).__name__ in SPARSE:
            parts = [self._array(a, where) for a in (value.data, value.indices, value.indptr)]
            return {"sparse": [type(value).__name__, *parts, list(map(int, value.shape))]}
        return self._object(value, where)

    def _array(self, value, where):
        if value.dtype == object:  # labels, mostly
            return {"objects": self.node(list(value), where)}
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.arrays)
            self._kept.append(value)
            self.arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": self._numbers[id(value)]}

    def _object(self, value, where):
        cls = value if isinstance(value, type) else type(value)
        name = next((n for p, n in self._names.items() if _is(cls, *p)), None)
        if name is None:
            raise TypeError(
                f"{where} is {value!r:.80}: it is code, or nothing that a file without code can "
                "hold.  Use what is a value (a kernel of the library, 'constant', Polynomials, "
                "given centres), or joblib.dump(model, path), whose files only their author "
                "should load."
            )
        if isinstance(value, type):
            return {"type": name}
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)]}
        self._numbers[id(value)] = number = len(self._kept)
        self._kept.append(value)  # so that no other object gets its id
        state = {k: self.node(v, f"{where}.{k}") for k, v in vars(value).items()}
        return {"object": name, "number": number, "state": state}


def _is(cls, module, name):
    return cls.__name__ == name and getattr(import_module(module), name, None) is cls


# ------------------------------------------------------------------------------------- reading


def load(path: str | os.PathLike) -> Any:
    """The learner in a file that `save` wrote; a ValueError for anything else.

    Nothing in the file is executed.  Whether the learner is what it says is for
    `kernelbook.verify` to find out.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import os, tempfile
    >>> from kernelbook import GRLSRegressor, load
    >>> model = GRLSRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.kb")
    ...     model.save(path)
    ...     load(path)
    GRLSRegressor()
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path={path!r:.60} must be the name of a file that model.save has written."
        )
    return read(path, _class_of)
