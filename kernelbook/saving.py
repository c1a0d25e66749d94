"""Fitted learners in a file that can run no code: `model.save("m.kb")`, `load("m.kb")`.

The file is a zip archive of `model.json`, a tree of plain values, and of `arrays/0.npy`, …  An
object is written as the name of its class and its attributes; `CLASSES` lists the classes there
are, and `load` knows no others: what a name in a file leads to is decided here and not there.  What
is code, such as a function as a kernel or a feature, cannot be written, and the error names it.

A pickle, in contrast, is a program that `joblib.load` runs.  Load one only if it is your own.
"""

import io
import json
import os
import zipfile
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["load", "save"]

FORMAT, VERSION = "kernelbook model", 1

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

SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}


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
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except (zipfile.BadZipFile, KeyError, IndexError, TypeError, AttributeError, ValueError) as why:
        raise ValueError(
            f"path={os.fspath(path)!r} is not a model that this version can load: {why}.  Use a "
            "file that model.save has written, with this version or an older one."
        ) from None


def _read(archive):
    with archive.open("model.json") as file:
        head = json.load(io.TextIOWrapper(file, "utf-8"))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if head.get("version") != VERSION:
        raise ValueError(f"its version is {head.get('version')!r}, and this one reads {VERSION}")
    if head.keys() - {"format", "version", "fingerprint", "model"}:
        raise ValueError("its head has entries that this version does not know")
    arrays = []
    for k in range(len(archive.namelist()) - 1):
        with archive.open(f"arrays/{k}.npy") as file:
            arrays.append(np.lib.format.read_array(file, allow_pickle=False))
    model = _Reader(arrays).value(head["model"])
    if not hasattr(model, "certificate_"):
        raise ValueError("what it has is no fitted learner")
    return model


class _Reader:
    def __init__(self, arrays):
        self.arrays, self.objects = arrays, {}

    def value(self, node):
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.value(v) for v in node]
        kind = next(iter(node))
        read = getattr(self, f"_{kind}", None) if kind in KINDS else None
        if read is None:
            raise ValueError(f"it has a value of the kind {kind!r}")
        return read(node)

    def _float(self, node):
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[node["float"]]

    def _tuple(self, node):
        return tuple(self.value(v) for v in node["tuple"])

    def _dict(self, node):
        return {self.value(k): self.value(v) for k, v in node["dict"]}

    def _slice(self, node):
        return slice(*map(self.value, node["slice"]))

    def _array(self, node):
        return self.arrays[node["array"]]

    def _scalar(self, node):
        return self.arrays[node["scalar"]][()]

    def _objects(self, node):
        return np.array(self.value(node["objects"]), dtype=object)

    def _sparse(self, node):
        name, *parts, shape = node["sparse"]
        return SPARSE[name](tuple(map(self.value, parts)), shape=tuple(shape))

    def _type(self, node):
        return _class_of(node["type"])

    def _same(self, node):
        return self.objects[node["same"]]

    def _object(self, node):
        cls = _class_of(node["object"])
        made = self.objects[node["number"]] = object.__new__(cls)
        checked = cls.__module__.startswith("kernelbook.kernels")  # the rules of its parameters
        for name, value in node["state"].items():
            if checked:
                setattr(made, name, self.value(value))
            else:
                vars(made)[name] = self.value(value)
        return made


KINDS = frozenset("float tuple dict slice array scalar objects sparse type same object".split())
