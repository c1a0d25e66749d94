"""Public signatures carry types; `make lint` checks that they are right."""

import ast

import pytest

from tests.test_imports import MODULES

UNTYPED = {
    "kernelbook.bases.centers",
    "kernelbook.course",
    "kernelbook.datasets",
    "kernelbook.estimators.least_squares.blocks",
    "kernelbook.experiments",
    "kernelbook.papers",
    "kernelbook.solvers",
}
"""Rooms whose public signatures are not typed yet.  This list may only shrink."""

TYPED = {
    "kernelbook.solvers.grls.methods",
    "kernelbook.solvers.primal.predicted",
    "kernelbook.solvers.primal.solve",
    "kernelbook.solvers.svm.path.svm_path",
    "kernelbook.solvers.svm.solve",
}
"""What is typed already in these rooms.  This list may only grow."""


def exempt(module):
    return module not in TYPED and any(
        module == room or module.startswith(f"{room}.") for room in UNTYPED
    )


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


@pytest.mark.parametrize("module", [m for m in MODULES if not exempt(m)])
def test_public_signatures_have_types(module):
    assert untyped(module) == []


@pytest.mark.parametrize("room", sorted(UNTYPED))
def test_a_room_is_exempt_only_while_it_must_be(room):
    inside = [m for m in MODULES if m == room or m.startswith(f"{room}.")]
    assert any(untyped(m) for m in inside if m not in TYPED), f"{room} is typed: delete its entry"
