"""Nothing handed in can grow: remarks, pages and memory stay small, whatever the file holds."""

import base64
import copy
import io
import json
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager

import pytest

from kernelbook.course.grading import Result, Verdict
from kernelbook.course.intake.finding import find
from kernelbook.course.intake.reading import CELLS, REMARKS, read
from kernelbook.course.reports.standing import Standing
from kernelbook.course.sandbox import Limits
from kernelbook.course.sandbox.watch import Watch
from kernelbook.course.showing.outputs import Budget, safe_outputs
from kernelbook.course.showing.page import page
from kernelbook.course.showing.text import FORMULA, as_html

from .attacks_files import flooded
from .helpers import load
from .small import MASTER, make
from .test_intake import TEXT, put

MB = 1 << 20


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    found = load("small", make(tmp_path_factory.mktemp("caps")))
    assert found.stubs  # once, and with what that imports, before memory is measured
    return found


@contextmanager
def memory(peak, kept):
    """At most so many megabytes at any time, and afterwards."""
    tracemalloc.start()
    try:
        yield
        now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < peak * MB, most / MB
    assert now < kept * MB, now / MB


def shown(assignment, submission):
    """The page of feedback."""
    verdicts = {q.name: Verdict(0, q.points, "wrong") for q in assignment.questions}
    result = Result("eve", "eve", "", "", verdicts, submission.trouble, remarks=submission.remarks)
    each = assignment.points
    standing = Standing("eve", "Eve", "graded", points=dict.fromkeys(each, 0), each=each)
    standing.result = result
    return page(assignment, standing, submission.cells)


def only(folder):
    (found,) = find(folder, "small")
    return found


def test_damaged_cells_are_counted_not_listed(assignment, tmp_path):
    put(tmp_path, "eve/small.ipynb", '{"cells":[' + ",".join(["1"] * 100_000) + "]}")
    found = read(only(tmp_path), assignment)
    assert f"has 100000 cells, more than the {CELLS}" in found.trouble
    assert len(shown(assignment, found)) < 10_000
    put(tmp_path, "eve/small.ipynb", '{"cells":[' + ",".join(["1"] * CELLS) + "]}")
    found = read(only(tmp_path), assignment)
    assert found.trouble is None
    assert found.remarks[0].startswith("cells 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 4,990 more: ")
    assert len(shown(assignment, found)) < 10_000


def test_remarks_are_few_and_short(assignment, tmp_path):
    name = f"{'x' * 200}/{'y' * 200}.ipynb"
    put(tmp_path, f"eve/{name}", TEXT)
    found = read(only(tmp_path), assignment)
    (remark,) = found.remarks
    assert len(remark) < 150
    assert remark.endswith("yyy.ipynb")
    many = only(tmp_path)
    many.remarks += [f"{k} " + "long " * 1000 for k in range(1000)]
    found = read(many, assignment)
    assert len(found.remarks) == REMARKS + 1
    assert "more remarks" in found.remarks[-1]
    assert sum(map(len, found.remarks)) < 20_000


def test_an_answer_in_thousands_of_cells_is_joined_at_once(assignment, tmp_path):
    made = copy.deepcopy(MASTER)
    part = made["cells"][-1]
    made["cells"] += [part | {"source": f"{k} " + "word " * 150} for k in range(4_000)]
    put(tmp_path, "eve/small.ipynb", json.dumps(made))
    found = read(only(tmp_path), assignment)
    assert found.remarks == ["the answer to essay stood in several cells"]
    assert len(found.cells[6]["source"]) > 3_000_000
    assert len(shown(assignment, found)) < 200_000


def test_much_text_and_many_brackets_are_refused(assignment, tmp_path):
    made = copy.deepcopy(MASTER)
    made["cells"][-1]["source"] = "word " * 10**6
    put(tmp_path, "eve/small.ipynb", json.dumps(made))
    assert "has 5 million characters in its cells" in read(only(tmp_path), assignment).trouble
    made["cells"][-1]["source"] = "word"
    made["cells"][2]["outputs"] = [[]] * 200_000
    put(tmp_path, "eve/small.ipynb", json.dumps(made))
    with memory(peak=40, kept=1):
        found = read(only(tmp_path), assignment)
    assert found.trouble is None
    assert found.cells[2]["outputs"] == []
    made["cells"][2]["outputs"] = [[[[]]]] * 400_000
    put(tmp_path, "eve/small.ipynb", json.dumps(made))
    assert "clear its outputs" in read(only(tmp_path), assignment).trouble


def packed(sizes, level=1):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for k, size in enumerate(sizes):
            archive.writestr(f"a{k}.ipynb", bytes([65 + k]) * size)
    return stream.getvalue()


def test_notebooks_that_could_be_meant_are_compared_one_at_a_time(assignment, tmp_path):
    put(tmp_path, "eve/work.zip", packed([20 * MB] * 9))
    with memory(peak=90, kept=2):  # unpacking holds one of them twice for a moment
        found = read(only(tmp_path), assignment)
    assert "several notebooks could be meant: work.zip/a0.ipynb" in found.trouble
    put(tmp_path, "eve/work.zip", packed([10] * 11))
    assert "several notebooks could be meant" in only(tmp_path).trouble
    for k in range(11):
        put(tmp_path, f"bob/{k}.zip", packed([10]))
    (found,) = (h for h in find(tmp_path, "small") if h.entry == "bob")
    assert "there are 11 zip files" in found.trouble
    put(tmp_path, "cyd/work.zip", b"PK\x01\x02" * 20_000 + packed([1]))
    (found,) = (h for h in find(tmp_path, "small") if h.entry == "cyd")
    assert "more than the 2000" in found.trouble


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_file_that_unpacks_to_more_than_it_says_is_refused(assignment, tmp_path, method):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("small.ipynb", bytes(100 * MB))
    raw = stream.getvalue().replace((100 * MB).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    put(tmp_path, "eve/work.zip", raw)
    with memory(peak=45, kept=1):
        found = read(only(tmp_path), assignment)
    assert "is packed in an unusual way" in found.trouble


def test_formulas_without_an_end_are_given_up_soon():
    assert ".+?" not in FORMULA.pattern  # or each opening would be followed to the end of the text
    for opening in (r"\[", r"\(", r"\begin{a}"):
        assert "<math" not in as_html(opening * 5_000)
    assert "<math" in as_html(r"\[ a \] \( b \) \begin{aligned} c \end{aligned} $$d$$")


def test_zip_files_of_a_class_are_not_in_memory_together(assignment, tmp_path):
    noise = {"noise": base64.b64encode(bytes(range(256)) * 12_000).decode()}
    content = json.dumps(MASTER | {"metadata": noise})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("small.ipynb", content)
    assert len(stream.getvalue()) > 3 * MB
    for k in range(8):
        put(tmp_path, f"student{k}/work.zip", stream.getvalue())
    with memory(peak=30, kept=2):
        found = find(tmp_path, "small")
        assert [read(h, assignment).trouble for h in found] == [None] * 8


def test_a_notebook_of_nineteen_megabytes_stays_small(assignment, tmp_path):
    text = json.dumps(flooded(copy.deepcopy(MASTER)))
    assert 19 * MB < len(text) < 20 * MB
    put(tmp_path, "eve/small.ipynb", text)
    with memory(peak=110, kept=18):
        found = read(only(tmp_path), assignment)
    assert found.trouble is None
    kept = json.dumps(found.cells)
    assert len(kept) < 14 * MB
    assert len(shown(assignment, found)) < 9 * MB
    assert "more characters are not shown" in shown(assignment, found)


def test_pictures_that_unpack_to_more_than_a_browser_holds_are_not_shown():
    cell = {"outputs": [{"data": {"image/png": picture(9, 4_000)}}] * 50}  # 16 million pixels each
    shown = safe_outputs(cell, Budget())
    assert ["picture" in output for output in shown] == [True] * 12 + [False] * 38
    assert "there are too many" in shown[12]["text"]


def test_a_line_that_comes_byte_by_byte_is_searched_once(monkeypatch):
    class Text(bytearray):
        searched = 0

        def find(self, what, start):
            Text.searched += len(self) - start
            return super().find(what, start)

    watch = Watch.__new__(Watch)
    watch.results, watch.seen, watch.looked, watch.lines = 1, 0, 0, 0
    watch.texts, watch.limits = {1: Text()}, Limits()
    watch.split, watch.stages = 0, set()
    for k in range(2_000):
        watch.texts[1] += b"x" if k % 500 else b"\n"
        watch.look()
    assert (watch.lines, watch.seen) == (4, 1501)
    assert Text.searched < 2 * 2_000 + 10


def picture(size, side=10):
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", side, side)
    return base64.b64encode(head + bytes(size)).decode()


def test_what_is_kept_of_outputs_is_what_would_be_shown(assignment, tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
        {"output_type": "stream", "name": "stdout", "text": "long " * 10_000},
        {"output_type": "display_data", "data": {"image/png": picture(50), "text/html": "<b>"}},
        {"output_type": "execute_result", "data": {"text/plain": "3"}},
    ]
    made = copy.deepcopy(MASTER)
    made["cells"][2]["outputs"] = outputs
    put(tmp_path, "eve/small.ipynb", json.dumps(made))
    cell = read(only(tmp_path), assignment).cells[2]
    first = safe_outputs(cell, Budget())
    assert [*first[0].values(), first[3]["text"]] == ["a\nb", "3"]
    assert first[1]["text"].endswith("[30100 more characters are not shown]")
    assert first[2] == {"picture": picture(50)}
