"""A page of feedback for each student: points, reasons, and their own work; nothing that runs.

Everything a student wrote is text here, escaped; the page forbids scripts and connections on top.
"""

from html import escape

from kernelbook.course.assignment import Assignment, kind_of, source
from kernelbook.course.gradebook import safe_outputs

__all__ = ["page"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
 padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .6rem;
 border-bottom: 1px solid #8886; }}
td.points {{ white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }}
pre {{ overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem;
 border-left: 3px solid #8886; }}
img {{ max-width: 100%; background: white; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{student}: <strong>{score} of {out_of} points</strong>{open_}</p>
{trouble}
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


def page(assignment: Assignment, row: dict, result, submission) -> str:
    """The page of one student; `row` comes from the gradebook, manual points included."""
    headings = titles(assignment)
    # What is ours stays out: the text of a question may hold its rubric.
    ours = {n for n, c in assignment.cells() if kind_of(c) not in ("solution", "manual")}
    rows = []
    for name, heading in headings.items():
        question = name.removesuffix("-check")
        if name in row["to_grade"]:
            points, remark = "open", "still to be graded by hand"
        else:
            points = f"{row['points'][name]:g} / {row['out_of'][name]:g}"
            remark = row["comments"].get(question) or row["comments"].get(name) or ""
            if not remark and question in result.verdicts:
                remark = result.verdicts[question].reason
        rows.append(
            f"<tr><td>{escape(heading)}</td><td class='points'>{escape(points)}</td>"
            f"<td>{escape(remark)}</td></tr>"
        )
    errors = "".join(
        f"<p>{escape(place)} stopped with an error:</p><pre>{escape(text)}</pre>"
        for place, text in result.cell_errors.items()
    )
    if result.printed.strip():
        errors += f"<p>Printed while grading:</p><pre>{escape(result.printed[-4000:])}</pre>"
    trouble = f"<p><strong>{escape(result.trouble)}</strong></p>" if result.trouble else ""
    left = len(row["to_grade"])
    return PAGE.format(
        title=escape(f"Assignment {assignment.number}: {assignment.title}"),
        student=escape(result.student),
        score=f"{row['score']:g}",
        out_of=f"{row['max_score']:g}",
        open_=f", {left} answer{'s' * (left != 1)} still to be graded by hand" if left else "",
        trouble=trouble,
        rows="\n".join(rows),
        errors=errors,
        cells="\n".join(
            _cell(n, cell)
            for n, cell in enumerate(submission.cells, 1)
            if cell["grade_id"] not in ours
        ),
    )


def _cell(number, cell):
    text = f"<p>Cell {number}</p><pre>{escape(cell['source'][:20_000])}</pre>"
    for output in safe_outputs(cell):
        if output["output_type"] == "stream":
            text += f"<pre>{escape(output['text'])}</pre>"
        else:
            picture = escape(output["data"]["image/png"])
            text += f'<img alt="picture in cell {number}" src="data:image/png;base64,{picture}">'
    return text
