"""The arrows of the package: who may import whom, and who may know scikit-learn.

What is still wrong is listed here by name.  These lists may only shrink: mend an arrow, delete its
entry.
"""

import ast
import subprocess
import sys
from functools import cache
from itertools import pairwise

from tests.paths import ROOT

LAYERS = [
    {"numeric", "certificates", "verifier"},
    {"kernels", "features", "bases", "conditional"},
    {"solvers", "distributed"},
    {"inference", "saving"},
    {"estimators"},
    {"datasets", "papers", "checks", "plotting", "validation"},
    {"experiments", "course", "warm"},
    {"cli"},
]
"""A room may import what is in its own layer or in an earlier one."""

SKLEARN_BELOW_ESTIMATORS = {
    "kernelbook.features",  # a feature map is a scikit-learn transformer
    "kernelbook.bases",  # so that a grid search reaches their parameters, and for k-means
    "kernelbook.conditional.space",  # its features are feature maps
}
"""The modules and packages that may know scikit-learn, and why."""

# ------------------------------------------------------------------ known: these may only shrink

BACKWARDS: set[str] = set()
PRIVATE: set[str] = set()
CYCLES = {
    # A sum of kernels is a kernel, and kernels can be added: `Kernel.__add__` imports `Sum` late.
    frozenset({"kernelbook.kernels.algebra", "kernelbook.kernels.base"}),
}
ROBUST = "kernelbook.solvers.svm.solve"
MAY_IMPORT_ROBUST = {"kernelbook.solvers.svm.several"}
"""Where a solver is chosen; the fast ones must not depend on the robust one."""


# ------------------------------------------------------------------------------------ the graph


def _modules():
    found = {}
    for path in sorted((ROOT / "kernelbook").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


@cache
def imports(module):
    """What a module imports, at its top or later, as (module, name or None) pairs."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are written with the whole path"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add((full, None) if full in MODULES else (node.module, alias.name))
    return frozenset(found)


def own_imports(module):
    """The modules of the package that a module imports."""
    return sorted({origin for origin, _ in imports(module) if origin in MODULES})


def layer(module):
    """The number of a module's layer; -1 for the package itself, which loads nothing."""
    parts = module.split(".")
    if len(parts) == 1:
        return -1
    return next(i for i, rooms in enumerate(LAYERS) if parts[1] in rooms)


def cycles(graph):
    """The sets of nodes that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], set()

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.add(frozenset(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


# ------------------------------------------------------------------------------------- the rules


def test_imports_point_to_the_same_layer_or_an_earlier_one():
    backwards = {
        f"{module} -> {other}"
        for module in MODULES
        for other in own_imports(module)
        if layer(other) > layer(module) > -1
    }
    assert backwards <= BACKWARDS


def test_no_module_imports_itself_through_others():
    """Imports inside functions count: a cycle that is loaded late is a cycle of knowledge still."""
    assert cycles({module: own_imports(module) for module in MODULES}) <= CYCLES


def test_no_room_imports_itself_through_others():
    rooms = {room: set() for rooms in LAYERS for room in rooms}
    edges = {
        (module.split(".")[1], other.split(".")[1])
        for module in MODULES
        for other in own_imports(module)
        if "." in module and "." in other and f"{module} -> {other}" not in BACKWARDS
    }
    for room, other in edges:
        rooms.setdefault(room, set()).add(other)
        rooms.setdefault(other, set())
    assert cycles(rooms) == set()


def test_private_names_stay_in_their_module():
    private = {
        f"{module}: {origin}.{name}"
        for module in MODULES
        for origin, name in imports(module)
        if origin in MODULES and name and name.startswith("_") and not name.startswith("__")
    }
    assert private <= PRIVATE


def allowed_sklearn(module):
    rooms = (".".join(module.split(".")[:n]) for n in range(1, module.count(".") + 2))
    return layer(module) >= layer("kernelbook.estimators") or any(
        room in SKLEARN_BELOW_ESTIMATORS for room in rooms
    )


def test_scikit_learn_is_for_estimators():
    users = {
        module
        for module in MODULES
        for origin, _ in imports(module)
        if origin.partition(".")[0] == "sklearn"
    }
    assert {module for module in users if not allowed_sklearn(module)} == set()
    for allowed in SKLEARN_BELOW_ESTIMATORS:
        assert any(user.startswith(allowed) for user in users), f"{allowed} needs no exception"


def test_solvers_do_not_load_scikit_learn():
    rooms = {"numeric", "certificates", "kernels", "solvers", "distributed"}
    names = [module for module in MODULES if rooms & set(module.split(".")[1:2])]
    code = "; ".join([*(f"import {name}" for name in names), "import sys; print(*sys.modules)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "kernelbook.solvers" in done.stdout.split()
    assert not {name for name in done.stdout.split() if name.partition(".")[0] == "sklearn"}


def test_fast_solvers_do_not_import_the_robust_one():
    users = {
        module
        for module in MODULES
        if module.startswith("kernelbook.solvers.") and ROBUST in own_imports(module)
    }
    assert users <= MAY_IMPORT_ROBUST


def test_the_search_for_cycles_finds_them():
    graph = {name: [] for name in "abcdef"} | dict(
        (first, [second]) for first, second in pairwise("abca")
    )
    assert cycles(graph | {"d": ["a"], "e": ["f"], "f": ["e", "d"]}) == {
        frozenset("abc"),
        frozenset("ef"),
    }
