"""Hidden inputs stay hidden: drawn anew for each student and file, and of no use once seen."""

import json

import numpy as np
import pytest

from kernelbook.course.grading import Grader
from kernelbook.course.grading.frames import CELL_ERRORS, ERROR, read_frames, short
from kernelbook.course.grading.inputs import draw_all
from kernelbook.course.reports.standing import Standing
from kernelbook.course.sandbox import Outcome
from kernelbook.course.showing.page import page

from .attacks import FORGE
from .helpers import load, needs_sandbox, notebook, submission, with_code
from .small import make

# Tell every input, by every way out that there is.
TELL = (
    FORGE
    + """
import builtins, sys
import numpy as np
def tell(x):
    words = "SEEN " + repr([float(v) for v in x])
    print(words); print(words, file=sys.stderr)
    for k in range(-3, 40):
        say({"variant": 0, "cell": k, "error": words})
    say({"variant": 0, "stage": words}); say({"variant": 0, "stage": "cell 1"})
    say({"variant": 0, "question": "double", "ended": words, "number": words})
    say({"variant": 0, "question": words, "ended": "time"})
    say({"variant": 0, "question": None, "ended": words})
    raise ValueError(words)
double = total = tell
"""
)
ASKS_EARLY = (
    FORGE
    + """
import gc, json, os, sys, time
say({"ready": True})
while True:
    text = ""
    for fd in OPEN:
        try:
            os.lseek(fd, 0, 0)
            text += os.read(fd, 100000).decode(errors="replace")
        except OSError:
            pass
    if '"function"' in text:  # the inputs are there
        print("SEEN", text); say({"variant": 0, "cell": 3, "error": "SEEN " + text})
        break
    time.sleep(0.01)
"""
)


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return load("small", make(tmp_path_factory.mktemp("inputs")))


def test_inputs_differ_by_student_and_file_and_come_again(assignment):
    def drawn(secret, student, digest):
        cases = draw_all(assignment, secret, student, digest)
        return np.concatenate([c.arguments[0] for name in sorted(cases) for c in cases[name]])

    first = drawn("secret", "ada", "1")
    assert np.array_equal(first, drawn("secret", "ada", "1"))
    for other in (("secret", "bob", "1"), ("secret", "ada", "2"), ("else", "ada", "1")):
        assert not np.intersect1d(first, drawn(*other)).size


def test_the_order_of_calls_does_not_tell_the_answers(assignment):
    orders = {
        tuple(c.about for c in draw_all(assignment, "secret", "ada", str(k))["double"])
        for k in range(20)
    }
    assert len(orders) == 2


def standing(result):
    points = {f"{n}-check": v.points for n, v in result.verdicts.items()} | {"essay": 0.0}
    each = {f"{n}-check": v.out_of for n, v in result.verdicts.items()} | {"essay": 4.0}
    return Standing("eve", "Eve", "graded", points=points, each=each, result=result)


@needs_sandbox
@pytest.mark.parametrize("attack", [TELL, ASKS_EARLY])
def test_a_table_from_one_round_earns_nothing_in_the_next(assignment, tmp_path, attack):
    """What feedback tells of the inputs, if anything, is of another round's inputs."""
    broken = {"double": "", "total": ""} if attack is TELL else {}
    with Grader(assignment, "secret") as grader:
        first = submission(
            tmp_path, with_code(assignment, attack, replace=broken), assignment, "eve"
        )
        result = grader.grade(first)
        if attack is TELL:
            assert result.score == 0
        # All that students get to see; the error of a failed call is the one place left.
        shown = page(assignment, standing(result), first.cells)
        told = shown.split("<h2>What was handed in")[0]
        reasons = [v.reason for v in result.verdicts.values()]
        assert "SEEN" not in result.printed + str(result.cell_errors) + str(result.trouble)
        assert told.count("SEEN") == sum(reason.count("SEEN") for reason in reasons) <= 2
        assert all(len(reason) < ERROR + 100 for reason in reasons)
        # Suppose all inputs had been told, with their answers, and in their order.
        cases = draw_all(assignment, "secret", first.identity, first.digest)
        table = [
            (
                q.name,
                [(c.arguments[0].tolist(), np.asarray(c.answer).tolist()) for c in cases[q.name]],
            )
            for q in assignment.questions
        ]
        text = f"""
table = dict({table!r})
count = dict(double=0, total=0)
def look_up(name):
    def function(x):
        known = {{str(k): v for k, v in table[name]}}
        count[name] += 1
        answer = known.get(str(x.tolist()), table[name][(count[name] - 1) % 2][1])
        return np.array(answer) if name == "double" else answer
    return function
double, total = look_up("double"), look_up("total")
"""
        replace = {"double": text, "total": ""}
        second = submission(tmp_path, notebook(assignment, replace), assignment, "eve")
        assert grader.grade(second).score == 0
        # The table is right: handed in by this student with the first file's digest it would pass.
        second.digest = first.digest
        assert grader.grade(second).score == 5


@needs_sandbox
def test_a_contested_grade_comes_again_from_the_same_file(assignment, tmp_path):
    wrong = {"total": "def total(x):\n    return x.mean()"}
    handed_in = submission(tmp_path, notebook(assignment, wrong), assignment)
    with Grader(assignment, "secret") as grader:
        first, again = grader.grade(handed_in), grader.grade(handed_in)
    assert first == again
    assert "off by" in first.verdicts["total"].reason


def frames(**parts):
    lines = {k: [json.dumps({"variant": 0} | f).encode() for f in v] for k, v in parts.items()}
    found = read_frames(Outcome(**lines), cells={2, 5}, questions={"double"}, seconds=3)
    return found.get(0)


def test_only_errors_of_cells_that_exist_and_only_from_before_the_inputs():
    errors = [{"cell": k, "error": f"E{k}"} for k in range(9)]
    assert frames(before=errors).cells == {2: "E2", 5: "E5"}
    assert frames(after=errors).cells == {}
    many = [{"cell": k, "error": "x" * 9999} for k in range(99)]
    lines = [json.dumps({"variant": 0} | f).encode() for f in many]
    found = read_frames(Outcome(before=lines), cells=set(range(99)))[0]
    assert len(found.cells) == CELL_ERRORS
    assert all(len(e) <= ERROR + 2 for e in found.cells.values())


def test_sentences_are_the_graders_own():
    found = frames(after=[{"question": "double", "ended": "SEEN", "number": "SEEN"}])
    assert found.ended == {"double": "double ended the process (status ?)"}
    found = frames(after=[{"question": "double", "ended": "time", "number": 10**300}])
    assert found.ended == {"double": "double was stopped after 3 s of computing"}
    assert frames(after=[{"question": "SEEN", "ended": "time"}]).ended == {}
    assert frames(after=[{"stage": "SEEN"}]).stage == ""
    assert frames(before=[{"stage": "cell 99"}]).stage == ""
    assert frames(before=[{"stage": "cell 5"}]).stage == "cell 5"


def test_answers_count_only_after_the_inputs():
    answer = {"question": "double", "call": 0, "value": 1}
    assert frames(before=[answer]).calls == {}
    assert frames(after=[answer, answer | {"value": 2}]).calls["double", 0]["value"] == 1


def test_small_text_does_not_become_large_memory():
    nested = b'{"variant": 0, "question": "double", "call": 0, "value": [' + b"[]," * 10**6 + b"0]}"
    assert read_frames(Outcome(after=[nested]), questions={"double"}) == {}
    many = [
        b'{"variant": 0, "question": "double", "call": %d, "value": {}}' % k for k in range(10**5)
    ]
    few = read_frames(Outcome(after=many * 2), questions={"double"})[0]
    assert len(few.calls) <= 10**5


def test_what_is_said_is_cut_to_one_line():
    assert short("a\nb\n\nc") == "a b c"
    assert len(short("x" * 10**6)) <= ERROR + 2
