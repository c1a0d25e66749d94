"""What the grader compares and what it pays: every branch, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from kernelbook.course import values
from kernelbook.course.grading.credit import credit, lacks


@pytest.mark.parametrize(
    ("value", "reference", "complaint"),
    [
        (1.0, 1.0, None),
        (1.0 + 0.9e-8, 1.0, None),
        (1.0 + 1.2e-8, 1.0, "the result is off by 1.2e-08 of its size"),
        (0.9e-10, 0.0, None),
        (1.5e-10, 0.0, "the result is off by 1.5e-10 of its size"),
        (np.array([1.0, 1e6]), np.array([1.001, 1e6]), None),  # in units of the largest
        (np.array([1.0, 1e6]), np.array([1.02, 1e6]), "the result is off by 2.0e-08 of its size"),
        (np.array([-4.0]), np.array([4.0]), "the result is off by 2.0e+00 of its size"),
        (np.array([np.nan]), np.array([0.0]), "the result contains NaN or infinity"),
        (np.inf, 1.0, "the result contains NaN or infinity"),
        (np.zeros((0, 2)), np.zeros((0, 2)), None),
        (np.zeros((2, 1)), np.zeros(2), "the shape is (2, 1), but (2,) is expected"),
        (True, True, None),
        (1, True, None),
        (np.array([1.0, 0.0]), np.array([True, False]), None),
        (np.array([1, 2]), np.array([True, False]), "True and False are expected"),
        (np.array([1, 1, 1]), np.array([True, False, False]), "2 of 3 answers are wrong"),
        (2, 2.0, None),
        ("yes", "yes", None),
        ("yes", "no", "wrong answer"),
        (None, None, None),
        (0.0, None, "wrong answer"),
        (None, 0.0, "numbers are expected; nothing was returned"),
        ("x", 0.0, "numbers are expected; a str was returned"),
        ((1.0, 2.0), (1.0, 2.0), None),
        ((1.0, 3.0), (1.0, 2.0), "value 2 of 2: the result is off by 5.0e-01 of its size"),
        ((1.0,), (1.0, 2.0), "2 values are expected; 1 were returned"),
        (1.0, [1.0, 2.0], "2 values are expected; a float was returned"),
        (np.array([1.0, 2.0]), (1.0, 2.0), "2 values are expected; a ndarray was returned"),
        (((1.0,), [2.0]), ((1.0,), 2.0), "value 2 of 2: the shape is (1,), but () is expected"),
    ],
    ids=repr,
)
def test_comparing(value, reference, complaint):
    assert values.compare(value, reference) == complaint


def test_comparing_at_the_tolerance_itself():
    assert values.compare(1.5, 1.0, rtol=0.5, atol=0.0) is None
    assert values.compare(1.5, 1.0, rtol=0.25, atol=0.25) is None
    assert values.compare(1.5, 1.0, rtol=0.25, atol=0.125) is not None
    assert values.compare(-1.0, -2.0, rtol=0.5, atol=0.0) is None


ROUND = [
    *(1, 2.5, True, None, "text", np.int64(3), np.float64(0.5)),
    *(np.arange(6.0).reshape(2, 3), np.array([True, False]), np.array(7), np.zeros((0, 4))),
]


@pytest.mark.parametrize("value", ROUND, ids=repr)
def test_there_and_back(value):
    again = values.decode(values.encode(value))
    np.testing.assert_array_equal(again, value)
    assert np.shape(again) == np.shape(value)
    assert np.asarray(again).dtype.kind == np.asarray(value).dtype.kind


def test_lists_come_back_as_tuples():
    assert values.encode([1, (2.0, None)]) == [1, [2.0, None]]
    assert values.decode({"items": [1, {"items": [2.0]}]}) == (1, (2.0,))
    with pytest.raises(TypeError, match="a check passes a set"):
        values.encode({1})


GOOD = {"dtype": "<f8", "shape": [2], "data": values.encode(np.zeros(2))["data"]}


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([1], "a list is not a plain value"),
        ({"items": 3}, "neither a list nor an array"),
        ({"items": [], "more": 1}, "neither a list nor an array"),
        (GOOD | {"more": 1}, "neither a list nor an array"),
        (GOOD | {"dtype": "O"}, "a type that does not cross"),
        (GOOD | {"dtype": 3}, "a type that does not cross"),
        (GOOD | {"data": 3}, "a type that does not cross"),
        (GOOD | {"shape": 2}, "without a proper shape"),
        (GOOD | {"shape": [1] * 8 + [2]}, "without a proper shape"),
        (GOOD | {"shape": [-2]}, "without a proper shape"),
        (GOOD | {"shape": [10**9 + 1]}, "without a proper shape"),
        (GOOD | {"shape": [True]}, "without a proper shape"),
        (GOOD | {"shape": [2.0]}, "without a proper shape"),
        (GOOD | {"shape": [3]}, "size is not that of its data"),
        (GOOD | {"data": "*"}, "whose data cannot be read"),
    ],
    ids=repr,
)
def test_what_does_not_cross_the_boundary(x, words):
    with pytest.raises(values.Refused, match=words):
        values.decode(x)


def test_an_array_of_eight_axes_crosses():
    assert values.decode(GOOD | {"shape": [1] * 7 + [2]}).shape == (1,) * 7 + (2,)
    assert values.decode(GOOD | {"shape": [0, 10**9], "data": ""}).size == 0


def question(rtol=1e-8, nearly=0.0, judge=None):
    return SimpleNamespace(judge=judge, rtol=rtol, atol=1e-10, nearly=nearly)


V = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("answer", "value", "nearly", "lacking"),
    [
        (V, V[:, None], 0.0, "shape"),
        (V[:, None], V, 0.0, "shape"),
        (V, V[:, None] + 1, 0.0, None),
        (V, V + 1e-3, 0.0, None),
        (V, V + 1e-3, 1e-2, "digits"),
        (V, V + 1e-1, 1e-2, None),
        (V, V[:, None] + 1e-3, 1e-2, None),  # right in neither
        (V, V + 1e-3, 1e-8, None),
        (V, V, 1e-2, None),
        (V, V[:2], 0.0, None),
        (np.ones((2, 3)), np.ones((3, 2)), 0.0, None),
        (np.ones((2, 3)), np.ones((2, 1, 3)), 0.0, "shape"),
        (V, "text", 0.0, None),
        (2.0, np.array([2.0]), 0.0, "shape"),
        (True, np.array([True]), 0.0, None),
        ("a", "b", 1.0, None),
        (None, 1.0, 1.0, None),
        (np.array([1, 2]), np.array([[1, 2]]), 0.0, None),  # whole numbers are right or wrong
        ((V, 2.0), (V[:, None], 2.0), 0.0, "shape"),
        ((V, 2.0), (V[:, None], 3.0), 0.0, None),
        ((V, 2.0), [V, 2.0], 0.0, None),
        ((V, 2.0), (V,), 0.0, None),
        ((V, 2.0), (V, "x"), 0.0, None),
    ],
    ids=str,
)
def test_what_a_wrong_value_lacks(answer, value, nearly, lacking):
    case = SimpleNamespace(answer=answer)
    assert lacks(question(nearly=nearly), case, value) == lacking
    assert lacks(question(nearly=nearly, judge=print), case, value) is None


@pytest.mark.parametrize(
    ("points", "missing", "limits", "paid"),
    [
        (4, ["", ""], [False, True], 4),
        (3, ["", ""], [False, False], 3),
        (4, ["", None], [False, True], 3),
        (4, ["shape", "shape"], [False, False], 3),
        (4, ["shape", None], [False, True], 2),
        (4, ["shape", None, None], [False, True, True], 2),
        (4, ["shape", "digits"], [False, False], 2),
        (4, ["shape", "digits", None], [False, False, True], 2),
        (4, ["digits", ""], [False, False], 2),
        (4, ["", "digits"], [False, True], 2),
        (4, [None, ""], [False, True], 0),
        (4, ["", None], [False, False], 0),
        (4, [None], [True], 0),
        (4, [""], [True], 0),
        (4, [], [], 0),
        (1, ["shape"], [False], 0.75),
        (0.5, ["shape"], [False], 0.5),  # to a quarter of a point
        (5, ["digits"], [False], 2.5),
    ],
    ids=str,
)
def test_credit(points, missing, limits, paid):
    assert credit(points, missing, limits) == paid
