"""Every public class and function shows an example that runs."""

import doctest
import inspect

import pytest

import kernelbook

WITHOUT_EXAMPLE = {
    "C_from_reg",
    "GRLSClassifier",
    "GRLSClassifierCV",
    "GRLSRegressorCV",
    "PrimalSVMClassifier",
    "SVMPath",
    "reg_from_C",
}
"""This list may only shrink."""

PUBLIC = [name for name in kernelbook.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", PUBLIC)
def test_an_example_runs_and_prints_what_it_says(name):
    thing = getattr(kernelbook, name)
    assert inspect.isclass(thing) or inspect.isfunction(thing)
    text = inspect.getdoc(thing)
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples or name in WITHOUT_EXAMPLE, f"{name} shows no example"
    said = []
    doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert not said, "".join(said)
