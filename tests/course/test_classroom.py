"""A small class of every kind; `make class` grades a hundred of them."""

import pytest
from click.testing import CliRunner

from kernelbook.cli import main

from .classroom import DAMAGE, compared, complaints, hand_in, handed_in, table
from .helpers import ASSIGNMENTS, load, needs_sandbox


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Two assignments, one of them as the zip file of an export; few of the hostile wait long."""
    folder = tmp_path_factory.mktemp("class")
    assignments = [load(name, ASSIGNMENTS) for name in ("grls", "virtual")]
    expected = hand_in(folder, assignments, honest=7, damaged=len(DAMAGE), hostile=8)
    outputs = []
    for assignment in assignments:
        arguments = ["grade", assignment.name, handed_in(folder, assignment)]
        arguments += ["--course", folder / "course", "--assignments", ASSIGNMENTS]
        done = CliRunner().invoke(main, ["course", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        outputs.append(done.output)
    return folder / "course", assignments, expected, outputs


@needs_sandbox
def test_a_class_gets_what_it_earned(graded):
    course, assignments, expected, outputs = graded
    for assignment, output in zip(assignments, outputs, strict=True):
        wrong, counts = compared(course, assignment, expected[assignment.name])
        assert wrong == []
        for (kind, what, side), n in counts.items():
            if what != "less or nothing":
                assert n == counts[kind, what, "due" if side == "given" else "given"]
        assert len(table(counts).splitlines()) == len({kind for kind, _, _ in counts}) + 2
        # What could not be read is on the list, with the name of the file and what to do.
        for entry, earned in expected[assignment.name].items():
            assert (f"{entry}: " in output) or earned.readable is not False
    every = [e for found in expected.values() for e in found.values()]
    assert len({share for e in every for share in e.questions.values()}) == 3
    assert {e.days_late for e in every} == {0, 3}
    assert len({e.kind for e in every}) >= 4


@needs_sandbox
def test_a_grader_that_errs_is_noticed(graded):
    """The same results held against a class that earned something else."""
    course, (assignment, _), expected, _ = graded
    entry, earned = next((e, x) for e, x in expected["grls"].items() if x.kind == "honest")
    function = next(iter(earned.questions))
    changes = {
        "questions": {**earned.questions, function: "none"},
        "essays": 1 + earned.essays,
        "days_late": 1 + earned.days_late,
        "identity": "s998",
        "readable": False,
    }
    for name, value in changes.items():
        other = {entry: type(earned)(**vars(earned) | {name: value})}
        other = expected["grls"] | other
        if name == "questions" and earned.questions[function] == "none":
            other[entry].questions[function] = "all"
        assert any(text.startswith(f"{entry}: ") for text in complaints(course, assignment, other))
    fewer = {e: x for e, x in expected["grls"].items() if e != entry}
    assert f"{entry}: was not handed in" in complaints(course, assignment, fewer)
    more = expected["grls"] | {"nowhere": earned}
    assert "nowhere: lost" in complaints(course, assignment, more)
