"""A small class of every kind; `make class` grades a hundred of them."""

from click.testing import CliRunner

from kernelbook.cli import main

from .classroom import DAMAGE, complaints, hand_in
from .helpers import ASSIGNMENTS, load, needs_sandbox


@needs_sandbox
def test_a_class_gets_what_it_earned(tmp_path):
    assignment = load("grls", ASSIGNMENTS)
    expected = hand_in(tmp_path / "in", assignment, honest=6, damaged=len(DAMAGE), hostile=0)
    course = tmp_path / "course"
    arguments = ["grade", "grls", tmp_path / "in", "--course", course]
    arguments += ["--assignments", ASSIGNMENTS]
    done = CliRunner().invoke(main, ["course", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert complaints(course, assignment, expected) == []
    assert len({share for e in expected.values() for share in e.questions.values()}) == 3
    # What could not be read is on the list, with the name of the file and what to do.
    for entry, earned in expected.items():
        assert (f"{entry}: " in done.output) or earned.readable


def test_a_grader_that_errs_is_noticed(tmp_path):
    assignment = load("grls", ASSIGNMENTS)
    expected = hand_in(tmp_path, assignment, honest=1, damaged=0, hostile=0)
    assert complaints(tmp_path / "nothing", assignment, expected) == [
        f"{next(iter(expected))}: lost"
    ]
