"""Numba in one place: how the library compiles and caches.

Four decisions are made here, so that no other file needs to consider them.

**The cache is keyed to the sources.**  Numba's `cache=True` looks only at the file of
the function itself: when a jitted function calls one from *another* file and that
one is edited, the old machine code is used silently.  So compiled code goes to a
folder whose name is a hash of the function's file and of every file of the package that it
imports, directly or indirectly: an edit recompiles what may depend on it and nothing
else.  Folders unused for a month are removed.  Numba also freezes the constants that a
jitted function names: they must be assigned in one of these files, which a test checks.

**The cache cannot break a fit.**  Numba keeps an index beside the code: on a full disk, or where a
file was cut short, it raises, and two processes that write the index at once can point a
signature at the code of another.  `_Cache` has no index and takes no lock: a file is named by
the hash of what its code is for, begins with a checksum, and gets its name when it is complete.
Code that cannot be read is compiled again and replaced; where nothing can be written it is
compiled in memory, with one warning.

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
import pickle
import re
import shutil
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs
from llvmlite import ir
from numba.core.caching import Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
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
    h = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
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


def _wanted_root() -> Path:
    base = _config.CACHE_DIR or platformdirs.user_cache_dir("kernelbook", appauthor=False)
    return Path(base) / "kernelbook-numba"


@cache
def cache_root() -> Path | None:
    """The folder that holds all compiled code, or None where nothing can be written."""
    root = _wanted_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        _drop_stale(root)
    except OSError:
        return None
    return root if os.access(root, os.W_OK) else None


@cache
def cache_folder(module: str) -> Path | None:
    """The folder for the compiled code of one module, in the present state of its sources."""
    root = cache_root()
    if root is None:
        return None
    folder = root / f"{module.rpartition('.')[2]}-{source_hash(module)}"
    with suppress(OSError):  # `_Cache.save_overload` tries again, and says what is wrong
        folder.mkdir(exist_ok=True)
        os.utime(folder)
    return folder


def _drop_stale(root: Path) -> None:
    for other in root.iterdir():
        with suppress(FileNotFoundError):  # another process may be doing the same
            if time.time() - other.stat().st_mtime > _MONTH:
                shutil.rmtree(other, ignore_errors=True)


class _Cache(Cache):
    """The compiled code of one function on disk: a file for each signature and processor."""

    def __init__(self, function: Callable) -> None:
        self._py_func, self._enabled = function, True
        self._folder = cache_folder(function.__module__)

    @property
    def cache_path(self) -> str:
        return str(self._folder or "")

    def flush(self) -> None:
        """Forget what is on disk, so that it is compiled again."""
        for path in self._folder.glob(f"{self._stem}.*.code") if self._folder else ():
            path.unlink(missing_ok=True)

    @property
    def _stem(self) -> str:
        code = self._py_func.__code__
        return f"{'-'.join(_NAME.findall(code.co_qualname))}-{code.co_firstlineno}"

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        if self._folder is None:
            return None
        key = hashlib.sha256(str(self._index_key(sig, codegen)).encode()).hexdigest()
        return self._folder / f"{self._stem}.{key[:32]}.code"

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The compiled code for a signature, or None where it must be compiled."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None or not self._enabled:
            return None
        try:
            stored = path.read_bytes()
            if hashlib.sha256(stored[32:]).digest() != stored[:32]:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(stored[32:]))
        except FileNotFoundError:
            return None
        # Whatever is wrong with a file, its code can be compiled again, and then replaces it.
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, or warn once that it cannot be kept."""
        if not self._enabled:
            return
        path = self._path(sig, data.codegen)
        if path is None:
            _warn_unkept("it cannot be written")
            return
        if data.lifted or data.library.has_dynamic_globals:  # addresses that hold in this process
            return
        code = dumps(data._reduce())
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(hashlib.sha256(code).digest() + code)
            os.replace(partial, path)
        except OSError as error:
            _warn_unkept(str(error.strerror or error))
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


@cache
def _warn_unkept(reason: str) -> None:
    """Once a process and reason."""
    warnings.warn(
        f"compiled code is not kept in {_wanted_root()}: {reason}.  Each process will compile it "
        "again, and results are the same.  Free some space there, make the folder writable, or "
        "set NUMBA_CACHE_DIR to a folder that is.",
        RuntimeWarning,
        stacklevel=2,
    )


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
    compiled: Any = numba.njit(function, **options)
    # With NUMBA_DISABLE_JIT it is the function itself; and only files that are hashed are cached.
    if compiled is not function and _path(function.__module__):
        compiled._cache = _Cache(function)
    return compiled


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
