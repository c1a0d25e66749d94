"""A page of feedback for each student: points, reasons, and their own work; nothing that runs.

Everything a student wrote is escaped text here, with formulas set as MathML; the page forbids
scripts, forms and connections on top.
"""

from html import escape

from kernelbook.course.assignment import Assignment, kind_of, source
from kernelbook.course.showing.outputs import Budget, safe_outputs
from kernelbook.course.showing.text import as_html, plain

__all__ = ["STYLE", "page", "titles"]

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
 padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
 border-bottom: 1px solid #8886; }
td.points { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem;
 border-left: 3px solid #8886; }
.answer { overflow-x: auto; overflow-wrap: anywhere; }
.work { padding: .6rem; border-left: 3px solid #8886; }
img { max-width: 100%; background: white; }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none';
 base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{student}: <strong>{score} of {out_of} points</strong>{open_}</p>
{notes}
<table>
<thead><tr><th>Question</th><th>Points</th><th>Remarks</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{errors}
<h2>What was handed in</h2>
{cells}
</body>
</html>
"""


def titles(assignment: Assignment) -> dict[str, str]:
    """The heading above each gradable cell."""
    found, heading = {}, assignment.title
    for name, cell in assignment.cells():
        if cell["cell_type"] == "markdown" and source(cell).startswith("## "):
            heading = source(cell).splitlines()[0][3:]
        if name in assignment.points:
            found[name] = heading
    return found


def page(assignment: Assignment, standing, submitted) -> str:
    """The page of one student; the points come from the gradebook, those given by hand included.

    standing: where the student stands (`reports.standing`).
    submitted: the cells that were handed in.
    """
    result, headings = standing.result, titles(assignment)
    # What is ours stays out: the text of a question may hold its rubric.
    ours = {n for n, c in assignment.cells() if kind_of(c) not in ("solution", "manual")}
    errors = "".join(
        f"<p>{escape(place)} stopped with an error:</p><pre>{escape(plain(text))}</pre>"
        for place, text in result.cell_errors.items()
    )
    if result.printed.strip():
        text = escape(plain(result.printed[-4000:]))
        errors += (
            f"<p>Printed while grading, before your functions were called:</p><pre>{text}</pre>"
        )
    left = len(standing.to_grade)
    notes = list(filter(None, [result.trouble, standing.late.words(), *result.remarks]))
    return PAGE.format(
        title=escape(f"Assignment {assignment.number}: {assignment.title}"),
        style=STYLE,
        student=escape(standing.shown),
        score=f"{standing.score:g}" if standing.has_score else "–",
        out_of=f"{standing.out_of:g}",
        open_=f", {left} answer{'s' * (left != 1)} still to be graded by hand" if left else "",
        notes="".join(f"<p><strong>{escape(note)}</strong></p>" for note in notes),
        rows="\n".join(_row(name, heading, standing) for name, heading in headings.items()),
        errors=errors,
        cells="\n".join(_cells(submitted, ours)),
    )


def _row(name, heading, standing):
    question = name.removesuffix("-check")
    remarks = [standing.comments.get(question) or standing.comments.get(name) or ""]
    if name in standing.to_grade:
        points = "open"
        remarks.append("still to be graded by hand")
    else:
        points = f"{standing.points[name]:g} / {standing.each[name]:g}"
        verdict = standing.result.verdicts.get(question)
        if verdict is not None and verdict.reason:
            remarks += [verdict.reason, verdict.hint and f"Hint: {verdict.hint}"]
            if verdict.check:
                remarks.append(f"The public check in the notebook fails, too: {verdict.check}")
    said = "".join(f"<p>{as_html(text)}</p>" for text in remarks if text)
    cells = f"<td>{as_html(heading)}</td><td class='points'>{escape(points)}</td><td>{said}</td>"
    return f"<tr>{cells}</tr>"


def _cells(submitted, ours):
    """What the student wrote, within a budget; cells that are ours are left out."""
    budget = Budget()
    for number, cell in enumerate(submitted, 1):
        if cell["grade_id"] in ours or not cell["source"].strip():
            continue
        if budget.cells <= 0 or budget.text <= 0:
            yield "<p>More was handed in than this page shows.</p>"
            return
        budget.cells -= 1
        yield _cell(number, cell, budget)


def _cell(number, cell, budget):
    words = budget.words(cell["source"])
    body = f"<pre>{escape(words)}</pre>" if cell["cell_type"] == "code" else as_html(words)
    if cell["cell_type"] != "code":
        body = f"<div class='work'>{body}</div>"
    text = f"<p>Cell {number}</p>{body}"
    for output in safe_outputs(cell, budget):
        if "picture" in output:
            picture = escape(output["picture"])
            text += f'<img alt="picture in cell {number}" src="data:image/png;base64,{picture}">'
        else:
            text += f"<pre>{escape(output['text'])}</pre>"
    return text
