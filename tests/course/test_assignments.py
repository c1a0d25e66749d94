"""Every assignment: the master earns all points, the untouched release none, and for every question
three plausible mistakes lose that question's points and no others."""

import json
import re
from html import unescape
from importlib import import_module

import numpy as np
import pytest
import yaml

from kernelbook.course.assignment import copies, kind_of, load, source
from kernelbook.course.grading import Grader
from kernelbook.course.grading.frames import Found
from kernelbook.course.grading.hints import hint
from kernelbook.course.grading.inputs import draw, draw_all
from kernelbook.course.release import CODE_STUB, TEXT_STUB, release, student_version
from kernelbook.course.sandbox import Limits, inside
from kernelbook.course.showing.text import as_html
from kernelbook.course.values import decode

from .helpers import ASSIGNMENTS, NAMES, ROOT, needs_sandbox, notebook, runnable

TITLE = re.compile(r"## Question (\d+): .* \((\d+) points?\)\n\n\*\*Chapter\*\*: (.*)")
CHAPTERS = set(re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text()))


@pytest.fixture(scope="module", params=NAMES)
def assignment(request):
    return load(request.param, ASSIGNMENTS)


@pytest.fixture(scope="module")
def released(assignment):
    return student_version(assignment)


def wrong(assignment):
    return import_module(f".wrong.{assignment.name}", __package__).WRONG


def solutions(assignment):
    return {name: source(cell) for name, cell in assignment.cells("solution")}


def test_cells_checks_points_and_chapters_fit_together(assignment):
    asked = [q.name for q in assignment.questions]
    assert list(solutions(assignment)) == asked
    for question in assignment.questions:
        assert assignment.points[f"{question.name}-check"] == question.points
    identities = [name for name, _ in assignment.cells()]
    assert len(identities) == len(set(identities)) == len(assignment.master["cells"])
    titles = [TITLE.match(source(cell)) for name, cell in assignment.cells("text")]
    titles = [t for t in titles if t]
    assert [int(t[1]) for t in titles] == list(range(1, len(assignment.points) + 1))
    assert [float(t[2]) for t in titles] == list(assignment.points.values())
    for t in titles:
        chapters = re.findall(r"\(`([^`]+)`\)", t[3])
        assert chapters
        assert set(chapters) <= CHAPTERS


def test_the_master_was_executed_and_passes_its_own_public_checks(assignment):
    for name, cell in assignment.cells():
        if cell["cell_type"] == "code":
            assert cell["execution_count"], f"{name} was never executed; use `make run`"
            streams = [o for o in cell["outputs"] if o["output_type"] == "stream"]
            assert all(o["name"] == "stdout" for o in streams), f"{name} warns"
            printed = "".join("".join(o["text"]) for o in streams)
            if name.endswith("-check"):
                assert printed == f"{name.removesuffix('-check')}: public checks passed\n"


def test_there_is_something_to_code_to_derive_and_to_draw(assignment):
    manual = [cell for _, cell in assignment.cells("manual")]
    assert {cell["cell_type"] for cell in manual} == {"code", "markdown"}
    assert len(assignment.questions) >= 5
    for name, _ in assignment.cells("manual"):
        text = next(source(c) for n, c in assignment.cells("text") if n == f"{name}-text")
        points = [int(n) for n in re.findall(r"^- (\d) points?:", text, re.MULTILINE)]
        assert sum(points) == assignment.points[name], f"the rubric of {name}"


def test_the_release_holds_stubs_and_no_solution_rubric_or_output(assignment, released, tmp_path):
    text = "\n".join(cell.source for cell in released.cells)
    assert "SOLUTION" not in text
    assert "MARK SCHEME" not in text
    assert "Rubric" not in text
    kinds = {c.metadata.nbgrader.grade_id: kind_of(c) for c in released.cells}
    for cell in released.cells:
        assert not cell.get("outputs")
        kind = kinds[cell.metadata.nbgrader.grade_id]
        if kind == "solution" or (kind == "manual" and cell.cell_type == "code"):
            assert CODE_STUB.splitlines()[-1] in cell.source
        if kind == "manual" and cell.cell_type == "markdown":
            assert cell.source == TEXT_STUB
        if cell.metadata.nbgrader.locked:
            assert cell.metadata.editable is False
    # Distinctive lines of the solutions appear nowhere.
    for lines in hidden_lines(assignment):
        assert lines not in text
    path = release(assignment, tmp_path)
    assert path.read_text() == release(assignment, tmp_path).read_text()
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [f"{assignment.name}.ipynb"]


def hidden_lines(assignment):
    """What only solutions contain: long lines that no question and no public check shows."""
    kinds = [*assignment.cells("text"), *assignment.cells("locked"), *assignment.cells("check")]
    shown = "\n".join(source(cell).split("<!-- BEGIN MARK")[0] for _, cell in kinds)
    for kind in ("solution", "manual"):
        for _, cell in assignment.cells(kind):
            text = source(cell)
            if "BEGIN SOLUTION" in text:
                text = text.split("BEGIN SOLUTION")[1].split("### END")[0]
            lines = [line.strip() for line in text.splitlines()]
            yield from (line for line in lines if len(line) > 30 and line not in shown)


def test_the_built_pages_hold_no_solution_and_no_check():
    """Neither the masters nor the checks are pages, nor copied beside them."""
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"]
    files = [c["file"] for part in parts for c in part["chapters"]]
    assert not [f for f in files if f.startswith("assignments")]
    html = ROOT / "_build" / "html"
    if not (html / "index.html").exists():
        pytest.skip("the book is not built; `make strict` builds it")
    lines = {line for name in NAMES for line in hidden_lines(load(name, ASSIGNMENTS))}
    # Lines of plain mathematics that chapters share with solutions are no secret.
    book = "\n".join(p.read_text() for p in (ROOT / "book").rglob("*.ipynb"))
    lines = [line for line in lines if line.replace('"', '\\"') not in book]
    assert len(lines) > 20
    for page in html.rglob("*"):
        if page.suffix in (".html", ".txt", ".ipynb", ".py", ".md") and page.is_file():
            text = page.read_text(errors="replace")
            if page.suffix == ".html":  # highlighted code is cut into pieces
                text = unescape(re.sub(r"<[^>]+>", "", text))
            assert "Hidden checks of assignment" not in text
            assert not [line for line in lines if line in text]
    # Modules of the library that are called so are shown with the rest of its source.
    found = [p for p in html.rglob("checks*") if p.is_file() and "_modules" not in p.parts]
    assert not found


@needs_sandbox
def test_points_go_where_they_are_earned(assignment, released):
    """Master, release and all mistakes in one sandbox: our own code, one start."""
    good = solutions(assignment)
    mistakes = wrong(assignment)
    assert set(mistakes) == set(good)
    variants, owners = [notebook(assignment), released], [None, None]
    for name, replacements in mistakes.items():
        assert len(replacements) >= 3
        for old, new in replacements:
            assert old in good[name], f"{name}: {old!r} is not in the solution"
            variants.append(notebook(assignment, {name: good[name].replace(old, new)}))
            owners.append(name)
    with Grader(assignment, "tests") as grader:
        limits = Limits(seconds=20, computing=200, total=900)
        jobs = [runnable(assignment, v) for v in variants]
        graded = grader.grade_variants(jobs, limits)
    lost = [{name: v.reason for name, v in found.items() if v.reason} for found in graded]
    assert not any(v.points for v in graded[1].values()), "the release earns no part of a point"
    assert lost[0] == {}, "the master earns all points"
    assert set(lost[1]) == set(good), "the release earns none"
    assert all("NotImplementedError" in reason for reason in lost[1].values())
    for owner, found, made in zip(owners[2:], lost[2:], variants[2:], strict=True):
        (text,) = [
            source(c)
            for c in made["cells"]
            if c["metadata"].get("nbgrader", {}).get("grade_id") == owner
        ]
        assert set(found) == {owner}, f"{found} for {text}"
    recognized = set()
    for owner, found in zip(owners[2:], graded[2:], strict=True):
        verdict = found[owner]
        assert verdict.points <= 0.75 * verdict.out_of
        assert "the result is nearly right" not in verdict.reason, f"{owner}: {verdict}"
        if verdict.hint:
            recognized.add(owner)
    # Written into the solution, a mistake meets the slip that somebody wrote as a formula.
    assert set(good) - recognized == set()


def test_each_slip_gets_its_hint_and_not_the_mark(assignment):
    """On inputs drawn anew: the hint of the slip that was made, and not of another."""
    with Grader(assignment, "slips", unsafe=True) as grader:
        for attempt in ("1", "2"):
            drawn = draw_all(assignment, "slips", "ada", attempt)
            for question in assignment.questions:
                for slip in question.slips:
                    cases = drawn[question.name]
                    values = [slip.function(*copies(c.arguments)) for c in cases]
                    found = grader.verdict(question, cases, answered(question, values), None)
                    assert found.points == 0, (question.name, slip.hint)
                    assert found.hint == slip.hint, (question.name, found)
                    assert "<math" in as_html(slip.hint) or "$" not in slip.hint


def test_every_question_has_a_slip(assignment):
    """Without exception: where many answers are right, a wrong one can still be foreseen."""
    assert [q.name for q in assignment.questions if not q.slips] == []
    hints = [slip.hint for q in assignment.questions for slip in q.slips]
    assert all(hint.endswith(".") and len(hint) > 20 for hint in hints)


def test_right_answers_are_right(assignment):
    """What is shown when a grade is contested passes the judge, where it is an answer at all."""
    measures = {"witness", "pick_anchors", "truncate", "solve_primal"}  # a number to reach
    drawn = draw_all(assignment, "right", "ada", "1")
    for question in assignment.questions:
        if question.name not in measures:
            for case in drawn[question.name]:
                assert question.complaint(case, decode(plain(case.answer))) is None, question.name


def test_an_answer_that_is_nearly_right_earns_a_half(assignment):
    """Where the master says so: right to some digits, in every number."""
    with Grader(assignment, "digits", unsafe=True) as grader:
        drawn = draw_all(assignment, "digits", "ada", "1")
        for question in assignment.questions:
            if not question.nearly:
                continue
            assert question.nearly >= 20 * question.rtol, question.name
            cases = drawn[question.name]
            values = [rounded(c.answer, question) for c in cases]
            found = grader.verdict(question, cases, answered(question, values), None)
            assert found.points == round(2 * question.points) / 4, (question.name, found)
            assert found.reason.partition(": ")[2].startswith("the result is nearly right")


def test_an_answer_that_fails_in_a_limit_case_keeps_three_quarters(assignment):
    with Grader(assignment, "limits", unsafe=True) as grader:
        drawn = draw_all(assignment, "limits", "ada", "1")
        asked = [q for q in assignment.questions if any(c.limit for c in drawn[q.name])]
        assert 2 * len(asked) >= len(assignment.questions)
        for question in asked:
            if question.judge is not None:
                continue  # its answer is not a value that could be returned
            cases = drawn[question.name]
            values = [None if c.limit else c.answer for c in cases]
            found = grader.verdict(question, cases, answered(question, values), None)
            assert found.points == round(3 * question.points) / 4, (question.name, found)


def low_rank(K):
    """An impostor: what is symmetric and singular."""
    return bool(np.allclose(K, K.T) and np.linalg.matrix_rank(K) < len(K))


def by_signs(gram, P):
    """An impostor: signs, zeros and sizes of the book's examples."""
    if P.shape[1] == 1:
        return bool(gram.max() <= 0 and np.ptp(P) == 0)
    return bool(gram[0, 0] > 0 or gram.sum() > 0 or P.shape[1] == 3)


@pytest.mark.parametrize(
    ("name", "impostor", "features"),
    [("is_psd", low_rank, 0), ("is_cpd", by_signs, 1)],
)
def test_signs_ranks_and_sizes_do_not_tell_the_answer(name, impostor, features):
    """Definite and singular, indefinite and singular; same signs, two answers."""
    kernels = load("kernels", ASSIGNMENTS)
    (question,) = (q for q in kernels.questions if q.name == name)
    scope = {}
    exec(f"import numpy as np\nfrom scipy import linalg\n{solutions(kernels)[name]}", scope)
    with Grader(kernels, "impostors", unsafe=True) as grader:
        for attempt in map(str, range(10)):
            cases = draw(question, "impostors", attempt)
            earned = []
            for function in (scope[name], impostor):
                values = [function(*copies(c.arguments)) for c in cases]
                found = grader.verdict(question, cases, answered(question, values), None)
                earned.append(found.points)
            assert earned == [question.points, 0], attempt
            seen, twins = {}, 0
            for c in cases:
                gram, *P = c.arguments
                assert len(P) == features
                key = (np.sign(gram).tobytes(), gram.shape, *(p.tobytes() for p in P))
                twins += seen.setdefault(key, c.answer) != c.answer
            assert twins >= (5 if features else 1), attempt
            kinds = {(low_rank(c.arguments[0]), c.answer) for c in cases}
            assert features or kinds == {(a, b) for a in (True, False) for b in (True, False)}


def answered(question, values):
    """What would have come out of the sandbox."""
    return Found({(question.name, k): {"value": plain(v)} for k, v in enumerate(values)})


def plain(value):
    return json.loads(json.dumps(inside.encode(value)))


def rounded(answer, question):
    """Off by half of what is still nearly right."""
    if isinstance(answer, (list, tuple)):
        return tuple(rounded(a, question) for a in answer)
    answer = np.asarray(answer, dtype=float)
    return answer + 0.5 * question.nearly * np.abs(answer).max(initial=0.0)


@pytest.mark.parametrize(
    ("name", "function", "same"),
    [
        ("kernels", "witness", lambda c: -c),
        ("virtual", "pick_anchors", lambda chosen: chosen[::-1]),
        ("primal", "truncate", lambda T: -T[:, ::-1]),
    ],
)
def test_a_slip_is_recognized_in_any_of_its_forms(name, function, same):
    assignment = load(name, ASSIGNMENTS)
    (question,) = (q for q in assignment.questions if q.name == function)
    assert {q.name for q in assignment.questions if q.canonical} == {function}
    cases = draw(question, "forms")
    for slip in question.slips:
        values = [np.array(same(slip.function(*copies(c.arguments)))) for c in cases]
        assert hint(question, cases, values) == slip.hint
    for strange in ("x", None, (), 1.0, np.zeros((2, 0))):
        assert hint(question, cases, [strange] * len(cases)) is None


@needs_sandbox
def test_from_scratch_means_without_the_library_that_does_it():
    svm = load("svm", ASSIGNMENTS)
    good = solutions(svm)
    lazy = good["solve_dual"].replace("def solve_dual(gram, y, C)", "def smo(gram, y, C, tol)")
    assert lazy != good["solve_dual"]
    with Grader(svm, "scratch") as grader:
        jobs = [runnable(svm, notebook(svm, {"smo": lazy}))]
        (found,) = grader.grade_variants(jobs, Limits(seconds=20, computing=200, total=900))
    assert {n for n, v in found.items() if v.reason} == {"smo"}
    assert found["smo"].points == 0
    assert "asks for your own work: cvxopt is not available" in found["smo"].reason


def test_inputs_are_secret_but_the_same_again(assignment):
    for question in assignment.questions:
        first, again, other = (draw(question, s) for s in ("one", "one", "two"))
        assert len(first) >= 2 or len(assignment.questions) > 9
        flat = [
            np.concatenate(
                [
                    np.ravel(a).astype(float)
                    for c in d
                    for a in c.arguments
                    if not isinstance(a, str)
                ]
            )
            for d in (first, again, other)
        ]
        assert np.array_equal(flat[0], flat[1], equal_nan=True)
        assert flat[0].shape != flat[2].shape or not np.array_equal(
            flat[0], flat[2], equal_nan=True
        )
        for case in first:
            assert len(case.about) < 80
