"""The compilation policy: caches that are never stale, named fast-math, lazy imports."""

import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernelbook
from kernelbook.numeric import jit
from tests.paths import ROOT


def run(code, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_an_edited_callee_in_another_file_is_never_stale(tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(jit.__file__, package / "_jit.py")
    callee = "from pkg._jit import jit\n\n\n@jit\ndef callee(x):\n    return x + {}\n"
    (package / "callee.py").write_text(callee.format(1))
    (package / "caller.py").write_text(
        "from pkg._jit import jit\nfrom pkg.callee import callee\n\n\n"
        "@jit\ndef caller(x):\n    return callee(x)\n"
    )
    program = "from pkg.caller import caller; print(caller(1), len(caller.stats.cache_hits))"

    def answer():
        done = run(program, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert answer() == ["2", "0"]
    assert answer() == ["2", "1"], "the second process should have used the cache"
    (package / "callee.py").write_text(callee.format(2))
    assert answer() == ["3", "0"]
    (package / "unrelated.py").write_text("from pkg.caller import caller\n")
    assert answer() == ["3", "1"], "a file that the caller does not import changes nothing"
    (package / "callee.py").write_text(callee.format(1))
    assert answer() == ["2", "1"], "two versions share a cache, and neither removes the other's"


def test_the_cache_folder_is_ours_alone():
    """Other packages' functions must not be cached in our folder."""
    import numba

    before = numba.config.CACHE_DIR

    @jit.jit
    def f(x):
        return x

    assert numba.config.CACHE_DIR == before


def test_an_unwritable_cache_means_no_cache_not_an_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    done = run(
        "from kernelbook.numeric.jit import cache_root, jit\n"
        "@jit\ndef f(x):\n    return x + 1\n"
        "print(cache_root(), f(1))",
        NUMBA_CACHE_DIR=str(blocked),
    )
    assert done.stdout.split() == ["None", "2"], done.stderr


def tiny():
    """A new dispatcher of one function, as another process would have it."""

    @jit.jit
    def f(x):
        return x + 41

    return f


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache that nothing has used yet, and from which no warning has been given."""
    monkeypatch.setattr(jit._config, "CACHE_DIR", str(tmp_path))
    functions = (jit.cache_root, jit.cache_folder, jit._warn_unkept)
    for cached in functions:
        cached.cache_clear()
    yield tmp_path
    for cached in functions:
        cached.cache_clear()


@pytest.mark.parametrize(
    "damage",
    [
        lambda code: b"",
        lambda code: code[: len(code) // 2],
        lambda code: code[:-1] + bytes([code[-1] ^ 1]),
        lambda code: hashlib.sha256(b"no pickle").digest() + b"no pickle",
    ],
    ids=["empty", "cut short", "one bit", "of another library"],
)
def test_a_damaged_entry_is_compiled_again_and_replaced(own_cache, damage):
    assert tiny()(1) == 42
    (entry,) = own_cache.rglob("*.code")
    sound = entry.read_bytes()
    entry.write_bytes(damage(sound))
    again = tiny()
    assert again(1) == 42
    assert not again.stats.cache_hits
    last = tiny()
    assert last(1) == 42
    assert len(last.stats.cache_hits) == 1
    assert [path.name for path in own_cache.rglob("*.*")] == [entry.name], "nothing is left over"


def test_a_cache_that_vanishes_is_made_again(own_cache):
    f = tiny()
    shutil.rmtree(own_cache / "kernelbook-numba")
    assert f(1) == 42
    assert list(own_cache.rglob("*.code"))


def test_a_home_that_cannot_be_written_is_said_once(own_cache, monkeypatch):
    blocked = own_cache / "file"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setattr(jit._config, "CACHE_DIR", str(blocked))
    with pytest.warns(RuntimeWarning, match=f"{blocked}.*NUMBA_CACHE_DIR"):
        assert tiny()(1) == 42
    assert tiny()(1) == 42


def test_a_folder_that_another_process_removes_is_no_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([gone]))
    jit._drop_stale(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource limits")
def test_a_full_disk_costs_one_warning_and_no_fit(tmp_path):
    """A limit on the size of files is refused as a full disk is: with OSError, in the write."""
    done = run(
        """
        import resource, warnings
        from kernelbook.numeric.jit import jit
        from tests.numeric.test_jit import tiny
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(tiny()(1), tiny()(1.5))
        (warning,) = caught
        print(warning.category.__name__, warning.message)
        """,
        cwd=ROOT,
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    numbers, warning = done.stdout.splitlines()
    assert numbers == "42 42.5"
    for word in ("RuntimeWarning", str(tmp_path), "File too large", "NUMBA_CACHE_DIR"):
        assert word in warning
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "no half-written file"


@pytest.mark.skipif(sys.platform == "win32", reason="kills itself by a signal")
def test_a_process_killed_while_it_writes_leaves_nothing_that_is_read(tmp_path):
    program = """
        import os, signal
        from kernelbook.numeric import jit
        from tests.numeric.test_jit import tiny
        if {kill}:
            jit.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        f = tiny()
        print(f(1), len(f.stats.cache_hits))
        """
    settings = {"cwd": ROOT, "NUMBA_CACHE_DIR": str(tmp_path)}
    killed = run(program.format(kill=True), **settings)
    assert killed.returncode == -9, killed.stderr
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".partial"]
    done = run(program.format(kill=False), **settings)
    assert done.stdout.split() == ["42", "0"], done.stderr
    assert not done.stderr


def test_old_cache_folders_are_removed_and_fresh_ones_kept(tmp_path):
    fresh, old = tmp_path / "fresh", tmp_path / "old"
    for folder in (fresh, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    jit._drop_stale(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["fresh"]


def test_import_loads_and_compiles_nothing():
    done = run(
        "import sys, kernelbook\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_every_public_name_imports():
    for name in kernelbook.__all__:
        assert getattr(kernelbook, name) is not None
    assert set(kernelbook.__all__) <= set(dir(kernelbook))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = kernelbook.no_such_name


def test_only_the_policy_file_imports_numba():
    package = Path(kernelbook.__file__).parent
    for path in package.rglob("*.py"):
        if path.name != "jit.py":
            assert "import numba" not in path.read_text(), path
            assert "from numba" not in path.read_text(), path


def test_what_a_jitted_function_freezes_stands_in_a_hashed_file():
    """Numba bakes named constants into machine code; the cache must notice when they change."""
    import ast
    import pkgutil
    from importlib import import_module

    from numba.core.dispatcher import Dispatcher

    def names(module):
        """Constants of a module: those it assigns, and those it imports from ours."""
        source = Path(module.__file__).read_text()
        found = set()
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kernelbook"):
                origin = names(import_module(node.module))
                found |= {alias.name for alias in node.names if alias.name in origin}
        return found

    seen = 0
    for info in pkgutil.walk_packages(kernelbook.__path__, "kernelbook."):
        module = import_module(info.name)
        for function in list(vars(module).values()):
            if isinstance(function, Dispatcher) and function.__module__ == info.name:
                seen += 1
                frozen = {
                    name
                    for name in function.py_func.__code__.co_names
                    if isinstance(function.py_func.__globals__.get(name), int | float | tuple)
                    or isinstance(function.py_func.__globals__.get(name), np.ndarray)
                }
                assert frozen <= names(module), f"{info.name}.{function.__name__}: {frozen}"
    assert seen > 5 or os.environ.get("NUMBA_DISABLE_JIT")


@pytest.mark.interpreted
def test_named_fast_math_keeps_nan():
    @jit.jit(fast=True)
    def total(x):
        s = 0.0
        for v in x:
            s += v
        return s

    assert np.isnan(total(np.array([1.0, np.nan, 2.0])))
    assert total(np.array([1.0, np.inf])) == np.inf


@pytest.mark.interpreted
def test_prefetch_asks_and_changes_nothing():
    @jit.jit
    def total(x, ahead):
        s = 0.0
        for k in range(x.size):
            jit.prefetch(x, k + ahead)
            s += x[k]
        return s

    x = np.arange(5.0)
    for ahead in (1, -(10**9), 10**12):  # what is not there is not fetched, and no error
        assert total(x, ahead) == 10.0
    assert np.array_equal(x, np.arange(5.0))
    if hasattr(total, "inspect_llvm"):
        import numba

        fresh = numba.njit(total.py_func)  # code that comes from the cache cannot be inspected
        fresh(x, 1)
        assert "llvm.prefetch" in next(iter(fresh.inspect_llvm().values()))
