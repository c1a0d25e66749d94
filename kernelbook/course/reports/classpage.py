"""The class at a glance: one page for the lecturer, with nothing on it that runs.

For each question: how the points are distributed, and the commonest slip; then what needs a look.
"""

import re
from collections import Counter
from html import escape

from kernelbook.course.reports.similarity import NOTE, Pair
from kernelbook.course.reports.standing import Standing
from kernelbook.course.showing.page import STYLE, titles
from kernelbook.course.showing.text import as_html

__all__ = ["class_page"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}
.bar {{ display: flex; height: 1.2rem; min-width: 12rem; }}
.bar span {{ height: 100%; }}
.full {{ background: #2a7f62; }} .part {{ background: #d9a441; }} .none {{ background: #b5483a; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
<p><span class="full">&emsp;</span> all points, <span class="part">&emsp;</span> some,
<span class="none">&emsp;</span> none</p>
<table>
<thead><tr><th>Question</th><th>Mean</th><th>Distribution</th>
<th>Commonest slip, commonest error</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{look}
{similar}
</body>
</html>
"""


def class_page(assignment, found: list[Standing], similar: list[Pair]) -> str:
    """The page of one assignment."""
    scored = [s for s in found if s.has_score]
    missing, there = [s for s in found if s.missing], [s for s in found if s.handed_in]
    done = [s for s in scored if not s.to_grade]
    mean = sum(s.score for s in scored) / len(scored) if scored else 0.0
    out_of = sum(assignment.points.values())
    summary = (
        f"{len(there)} handed in, {len(missing)} missing, {len(done)} graded to the "
        f"end; mean {mean:.1f} of {out_of:g} points, as far as they are graded."
    )
    headings = titles(assignment)
    rows = "\n".join(_row(name, heading, scored) for name, heading in headings.items())
    return PAGE.format(
        title=escape(f"Assignment {assignment.number}: {assignment.title}"),
        style=STYLE,
        summary=escape(summary),
        rows=rows,
        look=_look(found),
        similar=_similar(similar),
    )


def _row(name, heading, scored):
    graded = [s for s in scored if name not in s.to_grade]
    shares = [s.points[name] / s.each[name] for s in graded if s.each.get(name)]
    if not shares:
        return f"<tr><td>{escape(heading)}</td><td></td><td>not graded yet</td><td></td></tr>"
    counts = [
        ("full", sum(x >= 1 for x in shares)),
        ("part", sum(0 < x < 1 for x in shares)),
        ("none", sum(x <= 0 for x in shares)),
    ]
    bar = "".join(
        f'<span class="{kind}" style="flex:{n}" title="{n}">{"&nbsp;"}</span>'
        for kind, n in counts
        if n
    )
    numbers = " / ".join(str(n) for _, n in counts)
    question = name.removesuffix("-check")
    hints, reasons = Counter(), Counter()
    for s in graded:
        verdict = s.result.verdicts.get(question) if s.result else None
        if verdict and verdict.hint:
            hints[verdict.hint] += 1
        elif verdict and verdict.reason:
            reasons[re.sub(r" \(cell \d+, line \d+\)$", "", verdict.reason)[:160]] += 1
    commonest = "".join(
        f"{times} ×: {as_html(words)}"
        for said in (hints, reasons)
        for words, times in said.most_common(1)
    )
    return (
        f"<tr><td>{escape(heading)}</td><td class='points'>{100 * sum(shares) / len(shares):.0f} %"
        f"</td><td><div class='bar'>{bar}</div>{numbers}</td><td>{commonest}</td></tr>"
    )


def _look(found):
    lines = []
    for s in found:
        remarks = list(s.result.remarks) if s.result else []
        if s.result and s.result.trouble:
            remarks.insert(0, s.result.trouble)
        remarks += filter(None, [s.late.words(), s.doubt])
        if not s.handed_in:
            remarks.append(s.state)
        lines += [f"<li>{escape(s.shown)}: {escape(r)}</li>" for r in remarks]
    return f"<h2>To look at</h2>\n<ul>{''.join(lines)}</ul>" if lines else ""


def _similar(similar):
    if not similar:
        return ""
    rows = "".join(
        f"<tr><td>{escape(p.first)}</td><td>{escape(p.second)}</td><td>{escape(p.question)}</td>"
        f"<td class='points'>{100 * p.share:.0f} %</td><td class='points'>{p.group}</td></tr>"
        for p in similar[:100]
    )
    return (
        f"<h2>Similar code</h2>\n<p>{escape(NOTE)}</p>\n<table><thead><tr><th>Student</th>"
        f"<th>Student</th><th>Question</th><th>In common</th><th>Students alike</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
