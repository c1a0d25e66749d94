"""The arithmetic of a certificate: its gap, its relative gap, several of them, its text."""

import numpy as np
import pytest

from kernelbook import Certificate


def of(primal, dual, constraint=0.0, kkt=0.0, **more):
    return Certificate(primal=primal, dual=dual, constraint=constraint, kkt=kkt, **more)


def test_the_gap_is_primal_minus_dual_unless_the_solver_knows_it_better():
    assert of(2.0, 1.5).gap == 0.5
    assert of(2.0, 1.5, gap=1e-20).gap == 1e-20
    assert of(-1.5, -2.0).gap == 0.5


@pytest.mark.parametrize("size", [1.0, -1.0, 1e-200, 1e200])
def test_a_negative_difference_is_zero_only_where_it_is_rounding(size):
    below, beyond = abs(size) * 0.9e-12, abs(size) * 1.1e-12
    assert of(size, size + below).gap == 0.0
    assert of(size, size + beyond).gap == size - (size + beyond) < 0
    assert of(size + below, size).gap == (size + below) - size > 0


def test_the_unit_of_rounding_is_the_larger_objective():
    assert of(0.0, 0.0).gap == 0.0
    assert of(0.0, 1e-300).gap == -1e-300
    assert of(-2.0, -2.0 + 1.5e-12).gap == 0.0


def test_the_relative_gap_is_in_units_of_the_larger_objective():
    assert of(2.0, 1.0).relative_gap == 0.5
    assert of(1.0, -4.0).relative_gap == 1.25
    assert of(-1.0, -4.0).relative_gap == 0.75
    assert of(0.5, 0.25).relative_gap == 0.5
    assert of(0.0, 0.0).relative_gap == 0.0


def test_several_are_sums_and_worst_cases_and_one_is_itself():
    parts = of(2.0, 1.0, 1e-9, 3e-3, gap=0.7), of(5.0, 4.5, 2e-9, 1e-3)
    both = Certificate.joint(iter(parts))
    assert (both.primal, both.dual, both.gap) == (7.0, 5.5, 1.2)
    assert (both.constraint, both.kkt, both.parts) == (2e-9, 3e-3, parts)
    assert Certificate.joint([parts[0]]) is parts[0]


def test_its_text():
    text = str(of(2.0, 1.0, 1e-9, 3e-3))
    assert text.splitlines() == [
        "certificate",
        "  primal     2",
        "  dual       1",
        "  gap        1.0e+00  (5.0e-01 relative)",
        "  constraint 1.0e-09",
        "  kkt        3.0e-03",
    ]
    assert str(Certificate.joint([of(1.0, 1.0)] * 3)).startswith("certificate of 3 problems\n")


@pytest.mark.parametrize("name", ["primal", "dual", "constraint", "kkt"])
def test_words_are_no_numbers(name):
    fields = dict.fromkeys(("primal", "dual", "constraint", "kkt"), np.float64(1.0))
    with pytest.raises(TypeError, match=f"{name}='half' must be a number"):
        Certificate(**fields | {name: "half"})
