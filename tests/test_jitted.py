"""Every jitted function is named in a test."""

import ast
import re

from tests.paths import ROOT
from tests.test_imports import MODULES


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
        assert jitted(module) <= words, f"{module}: write a naive twin and a test"
