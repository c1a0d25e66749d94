"""Public signatures carry types; `make lint` checks that they are right."""

import ast

import pytest

from tests.test_imports import MODULES

UNTYPED = {
    "kernelbook.bases.centers",
    "kernelbook.course",
    "kernelbook.datasets",
    "kernelbook.distributed",
    "kernelbook.distributed_scores",
    "kernelbook.estimators",
    "kernelbook.experiments",
    "kernelbook.papers",
    "kernelbook.solvers",
}
"""Rooms whose public signatures are not typed yet.  This list may only shrink."""


def public_functions(body, prefix=""):
    """(name, definition) of the functions and methods that a user may call."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            if not node.name.startswith("_") or node.name in ("__init__", "__call__"):
                yield prefix + node.name, node


def untyped(module):
    """The public functions of a module of which a parameter, or what they return, has no type."""
    found = []
    for name, node in public_functions(ast.parse(MODULES[module].read_text()).body):
        a = node.args
        parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        bare = [p.arg for p in parameters if p is not None and p.annotation is None]
        if set(bare) - {"self", "cls", "_"} or node.returns is None:
            found.append(f"{module}.{name}")
    return found


@pytest.mark.parametrize(
    "module",
    [m for m in MODULES if not any(m == room or m.startswith(f"{room}.") for room in UNTYPED)],
)
def test_public_signatures_have_types(module):
    assert untyped(module) == []
