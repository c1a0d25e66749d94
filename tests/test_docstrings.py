"""Every public class and function shows an example that runs."""

import doctest
import inspect
import re

import pytest

import kernelbook

PUBLIC = [name for name in kernelbook.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", PUBLIC)
def test_an_example_runs_and_prints_what_it_says(name):
    thing = getattr(kernelbook, name)
    assert inspect.isclass(thing) or inspect.isfunction(thing)
    text = inspect.getdoc(thing)
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples, f"{name} shows no example"
    said = []
    doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert not said, "".join(said)


def members():
    """(name, object) of the public classes and functions and of what a class documents itself."""
    for name in PUBLIC:
        thing = getattr(kernelbook, name)
        yield name, thing
        if inspect.isclass(thing):
            for base in reversed(thing.__mro__):
                if base.__module__.startswith("kernelbook"):
                    for inner, value in vars(base).items():
                        if not inner.startswith("_"):
                            yield f"{name}.{inner}", value


MEMBERS = dict(members())


def section(text, title):
    """The unindented lines of a section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    lines = found.group(1).splitlines() if found else []
    return [line for line in lines if line.strip() and not line.startswith(" ")]


@pytest.mark.parametrize("name", MEMBERS)
def test_documented_parameters_are_those_of_the_signature(name):
    """A paragraph below the list of parameters would be printed as more of them."""
    function = getattr(MEMBERS[name], "__func__", MEMBERS[name])
    if not callable(function):
        return
    known = set(inspect.signature(function).parameters)
    for line in section(inspect.getdoc(function) or "", "Parameters"):
        names = re.split(r",\s*", line.partition(" : ")[0])
        assert {n.lstrip("*") for n in names} <= known, f"{name}: {line!r} names no parameter"


@pytest.mark.parametrize("name", MEMBERS)
def test_properties_say_what_they_are(name):
    """Without a text of its own a property would show that of `int`; a colon would end a type."""
    thing = MEMBERS[name]
    if isinstance(thing, property):
        assert thing.__doc__, f"{name} has no docstring"
        first = thing.__doc__.split("\n")[0]
        assert ": " not in re.sub(r"`[^`]*`", "", first), f"{name}: write it without a colon"
