"""Numba in one place: how the library compiles and caches.

Three decisions are made here, so that no other file needs to consider them.

**The cache is keyed to the sources.**  Numba's `cache=True` looks only at the file of
the function itself: when a jitted function calls one from *another* file and that
one is edited, the old machine code is used silently.  So compiled code goes to a
folder whose name is a hash of the function's file and of every file of the package that it
imports, directly or indirectly: an edit recompiles what may depend on it and nothing
else.  Folders unused for a month are removed.  Numba also freezes the constants that a
jitted function names: they must be assigned in one of these files, which a test checks.

**Numba starts no threads.**  Its threading layers abort the whole process when two
Python threads enter them (workqueue) or when a process that used them forks (GNU
OpenMP).  Our kernels are serial and release the GIL instead; `kernelbook.numeric.threads`
spreads them over Python threads.

**Fast-math is named.**  `fastmath=True` also assumes that no NaN or infinity ever
occurs, which turns bad data into wrong answers.  `FAST` allows only the rewrites a
numerical analyst would: reassociation, fused multiply-add, and ignoring the sign of
zeros.  The one place where NaN may be ignored is named as well: `larger` and `smaller`,
for the maximum of an array, which a compiler can vectorize only if the order of comparisons
does not matter.  With a NaN in the array they return any of its numbers.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs
from llvmlite import ir
from numba.extending import intrinsic, overload

_config: Any = numba.config  # its attributes are set when Numba reads the environment

__all__ = ["FAST", "jit", "larger", "prefetch", "smaller"]

FAST = frozenset({"reassoc", "contract", "nsz", "arcp"})
"""Allowed rewrites for reductions; NaN and infinity keep their meaning."""

_MONTH = 30 * 24 * 3600.0
_ROOT = Path(__file__).parents[__name__.count(".")]
_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"\w+")


def source_hash(module: str) -> str:
    """A hash of the sources of `module` and of all modules of its package that it imports."""
    h = hashlib.sha256(numba.__version__.encode())
    for name in sorted(_dependencies(module)):
        h.update(name.encode() + b"\0" + _source(name))
    return h.hexdigest()[:16]


def _dependencies(module: str) -> set[str]:
    """`module` and the modules of its package that it imports, directly or indirectly."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name)
    return found


@cache
def _imports(module: str) -> tuple[str, ...]:
    """The modules of its own package that a module imports, at the top or inside functions."""
    package = module.partition(".")[0]
    modules = []
    for origin, names in _IMPORT.findall(_source(module).decode()):
        if origin.partition(".")[0] == package:
            submodules = [f"{origin}.{name}" for name in _NAME.findall(names)]
            modules += [name for name in (origin, *submodules) if _path(name)]
    return tuple(modules)


@cache
def _path(module: str) -> Path | None:
    """The file of a module beside this one's package, or None if the name is not a module."""
    base = _ROOT.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _source(module: str) -> bytes:
    path = _path(module)
    return path.read_bytes() if path else b""


@cache
def cache_root() -> Path | None:
    """The folder that holds all compiled code, or None where nothing can be written."""
    base = _config.CACHE_DIR or platformdirs.user_cache_dir("kernelbook", appauthor=False)
    root = Path(base) / "kernelbook-numba"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _drop_stale(root)
    except OSError:
        return None
    return root if os.access(root, os.W_OK) else None


@cache
def cache_folder(module: str) -> str | None:
    """The folder for the compiled code of one module, in the present state of its sources."""
    root = cache_root()
    if root is None:
        return None
    folder = root / f"{module.rpartition('.')[2]}-{source_hash(module)}"
    try:
        folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def _drop_stale(root: Path) -> None:
    for other in root.iterdir():
        if time.time() - other.stat().st_mtime > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def _our_cache_folder(folder: str):
    """Numba reads its cache folder when a function is decorated; change it only then."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = folder
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def jit(
    function: Callable | None = None,
    *,
    fast: bool = False,
    brief: bool = False,
    inline: str = "never",
) -> Any:
    """Compile on first call, keep the result on disk, release the GIL.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers.
    fast : bool
        Allow the rewrites in `FAST`: for reductions over long arrays.
    brief : bool
        Keep the GIL: for calls of a few microseconds.  Handing it to another thread, which has to
        wake up, takes longer.
    inline : {"never", "always"}
        Passed to Numba.
    """
    if function is None:
        return lambda f: jit(f, fast=fast, brief=brief, inline=inline)
    options: dict[str, Any] = {
        "nogil": not brief,
        # Division by zero gives inf as NumPy does: the check would keep loops from vectorizing.
        "error_model": "numpy",
        "fastmath": set(FAST) if fast else False,
        "inline": inline,
    }
    folder = cache_folder(function.__module__)
    if folder is None:
        return numba.njit(function, **options)
    with _our_cache_folder(folder):
        return numba.njit(function, cache=True, **options)


def larger(a: float, b: float) -> float:
    """The larger of two numbers of one type, of which none is NaN: maxima that vectorize."""
    return a if a > b else b


def smaller(a: float, b: float) -> float:
    """The smaller of two numbers of one type, of which none is NaN: minima that vectorize."""
    return a if a < b else b


def _compile_choice(function: Callable, order: str) -> None:
    """Let jitted code call `function` as one comparison, marked as free of NaN."""
    free = ("nnan", "nsz")

    @intrinsic
    def choose(_, a, b):
        def code(context, builder, signature, args):
            first = builder.fcmp_ordered(order, *args, flags=free)
            return builder.select(first, *args, flags=free)

        return a(a, b), code

    overload(function)(lambda a, b: lambda a, b: choose(a, b))  # type: ignore[call-arg]


_compile_choice(larger, ">")
_compile_choice(smaller, "<")


def prefetch(array: np.ndarray, k: int) -> None:
    """Ask memory for entry k of an array, in memory order, without waiting for it.

    For loops over rows in an order that the processor cannot predict: call it a few rows ahead.  It
    changes nothing but the time, so k may be any number: entries that do not exist are ignored.
    """


@intrinsic
def _prefetch(_, array, k):
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])

    def code(context, builder, signature, args):
        data = context.make_array(array)(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        llvm = numba.core.cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To be read (0), into every level of the cache (3), of data (1).
        builder.call(llvm, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return numba.void(array, k), code


overload(prefetch)(lambda array, k: lambda array, k: _prefetch(array, k))  # type: ignore[call-arg]
