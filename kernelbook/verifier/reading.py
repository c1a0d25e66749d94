"""Files that `model.save` has written, read without the classes that wrote them.

A file is a zip archive of `model.json`, a tree of plain values, and of arrays (`kernelbook.saving`
has the format).  `record` stands for every class: its objects have the attributes that the file
gives them, and no code.  So `verify("m.kb", X, y)` runs nothing of the learners.

Chapter: book/back/verify
"""

import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["FORMAT", "SPARSE", "VERSION", "read", "record"]

FORMAT, VERSION = "kernelbook model", 1
SPARSE = ("csr_array", "csr_matrix")
KERNELS = (
    "Categorical Gaussian Laplacian Linear Matern Multiquadric Periodic Polyharmonic Polynomial "
    "Product RationalQuadratic Scaled Sum ThinPlate"
)
FEATURES = "Constant GivenFeatures NoFeatures Polynomials"
BASES = "GaussianBasis KernelBasis LinearBasis"
ROOMS = {
    name: room
    for room, names in (("kernels", KERNELS), ("features", FEATURES), ("bases", BASES))
    for name in names.split()
}


DAMAGED = (  # what a zip archive, its decompression, JSON and NumPy raise for bytes that are wrong
    zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, KeyError,
    IndexError, TypeError, AttributeError, ValueError, MemoryError,
)  # fmt: skip


class Record:
    """An object of any class, with the attributes of one that was saved."""

    columns = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        found = {name: v for name, v in vars(self).items() if not name.endswith("_")}
        for name, value in list(found.items()):
            if deep and isinstance(value, Record):
                found |= {f"{name}__{key}": v for key, v in value.get_params().items()}
        return found

    def __repr__(self):
        shown = {n: v for n, v in self.get_params(False).items() if not n.startswith("_")}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r:.40}' for k, v in shown.items())})"


def _coefficients(basis):
    """T of an OrthonormalBasis: its functions in those of the basis, the dropped ones at zero."""
    if basis._core is None:
        return None
    T = np.zeros((basis.kept.size + basis.dropped.size, basis._core.shape[1]))
    T[basis.kept] = basis._core
    return T


IMPLIED: dict[str, dict[str, Any]] = {  # by the class; the file does not say it
    "ThinPlate": {"exponent": 2},
    "OrthonormalBasis": {"T": property(_coefficients)},
}


@cache
def record(name: str) -> type[Record]:
    """A class of that name, without code."""
    module = f"kernelbook.{ROOMS.get(name, 'saved')}"
    return type(name, (Record,), {"__module__": module, **IMPLIED.get(name, {})})


def read(path: str | os.PathLike, class_of: Callable[[str], type]) -> Any:
    """The learner in a file; `class_of(name)` is the class of an object."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, class_of)
    except FileNotFoundError:
        raise
    except DAMAGED as why:
        raise ValueError(
            f"path={os.fspath(path)!r} is not a model that this version can load: {why}.  Use a "
            "file that model.save has written, with this version or an older one."
        ) from None


def _read(archive, class_of):
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
    model = _Reader(arrays, class_of).value(head["model"])
    if not hasattr(model, "certificate_"):
        raise ValueError("what it has is no fitted learner")
    return model


class _Reader:
    """The values of a tree of nodes."""

    def __init__(self, arrays, class_of):
        self.arrays, self.class_of, self.objects = arrays, class_of, {}

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
        if name not in SPARSE:
            raise ValueError(f"it has a matrix of the kind {name!r}")
        from scipy import sparse  # a checker of dense data does without

        return getattr(sparse, name)(tuple(map(self.value, parts)), shape=tuple(shape))

    def _type(self, node):
        return self.class_of(node["type"])

    def _same(self, node):
        return self.objects[node["same"]]

    def _object(self, node):
        cls = self.class_of(node["object"])
        made = self.objects[node["number"]] = object.__new__(cls)
        checked = cls.__module__.startswith("kernelbook.kernels")  # the rules of its parameters
        for name, value in node["state"].items():
            if checked:
                setattr(made, name, self.value(value))
            else:
                vars(made)[name] = self.value(value)
        return made


KINDS = frozenset("float tuple dict slice array scalar objects sparse type same object".split())
