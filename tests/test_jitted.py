"""Every jitted function is named in a test."""

import ast
import re

from tests.paths import ROOT
from tests.test_imports import MODULES

UNNAMED = {
    "solvers.svm.large.lanes": {
        *("_copy_row", "_gaussian_row", "assemble_row", "_gather_rows", "_subtract_rows"),
    },
    "solvers.svm.large.smo_lanes": {"_gain"},
    "solvers.svm.pairs.solve": {"newton_and_product", "_smo_and_newton"},
    "solvers.svm.smo": {"_least_curvature"},
}
"""Jitted functions that no test names yet.  This list may only shrink."""


def is_jit(decorator):
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id == "jit"


def jitted(module):
    tree = ast.parse(MODULES[module].read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {f.name for f in functions if any(map(is_jit, f.decorator_list))}


def test_every_jitted_function_is_named_in_a_test():
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path.name != "test_jitted.py"]
    words = set(re.findall(r"\w+", "\n".join(path.read_text() for path in tests)))
    for module in MODULES:
        known = UNNAMED.get(module.removeprefix("kernelbook."), set())
        assert jitted(module) - words <= known, f"{module}: write a naive twin and a test"
