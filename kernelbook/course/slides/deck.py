"""One HTML file a week: no file beside it, no network.

Arrow keys or a click turn pages, N shows the speaker notes, T a clock.  A slide that holds too much
is set smaller until it fits.  Printing gives a slide a page, without notes.
"""

import re
from html import escape
from importlib import resources
from pathlib import Path

from kernelbook.course.slides.markup import as_html
from kernelbook.course.slides.parts import Chapter, Slide, read_chapter
from kernelbook.course.slides.weeks import Week, find_book, read_weeks

__all__ = ["write_slides"]

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body><main>
{slides}
</main><aside id="notes" aria-label="Speaker notes" hidden></aside>
<footer><span>{title}</span><span id="clock" hidden></span><span id="place"></span></footer>
<script>{script}</script></body></html>
"""


def write_slides(to: Path, book=None, weeks=()) -> list[Path]:
    """Write week-01.html and so on, and index.html; returns the decks' paths."""
    book = find_book(book)
    plan = read_weeks(book)
    if strange := set(weeks) - {w.number for w in plan}:
        raise LookupError(f"there is no week {min(strange)}; weeks go from 1 to {len(plan)}")
    chapters = {f: read_chapter(f) for w in plan for f in w.chapters}
    names = {label: name for c in chapters.values() for label, name in c.names.items()}
    to.mkdir(parents=True, exist_ok=True)
    written, listed = [], []
    for week in plan:
        title = f"Week {week.number}: " + plain_title(week, names)
        path = to / f"week-{week.number:02d}.html"
        listed.append(f'<li><a href="{path.name}">{escape(title)}</a></li>')
        if weeks and week.number not in weeks:
            continue
        slides = "\n".join(_slides(week, [chapters[f] for f in week.chapters], names))
        path.write_text(_page(title, slides), encoding="utf-8")
        written.append(path)
    contents = f"<ul>{''.join(listed)}</ul>"
    contents = f'<section class="text"><h2>Slides, week by week</h2>{contents}</section>'
    (to / "index.html").write_text(_page("Slides", contents), encoding="utf-8")
    return written


def plain_title(week: Week, names) -> str:
    """The chapters' titles, or what the week is for."""
    titles = [names[f.stem] for f in week.chapters]
    return "; ".join(titles) if titles else re.sub(r"[*`]", "", week.discussed)


def _page(title, slides):
    style, script = (
        resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
        for name in ("slides.css", "slides.js")
    )
    return PAGE.format(title=escape(title), style=style, script=script, slides=slides)


def _slides(week: Week, chapters: list[Chapter], names):
    agenda = as_html(week.discussed, names)
    due = f'<p class="due">{escape(week.assignments)}</p>' if week.assignments else ""
    yield f'<section class="week"><h1>Week {week.number}</h1>{agenda}{due}</section>'
    for chapter in chapters:
        for slide in chapter.slides:
            yield _slide(slide, chapter, names)


def _slide(slide: Slide, chapter: Chapter, names):
    heading = as_html(slide.title, names).strip().removeprefix("<p>").removesuffix("</p>")
    body = as_html(slide.body, names)
    if slide.picture:
        picture = f"data:image/png;base64,{slide.picture}"
        body = (
            f'<figure><img src="{picture}" alt="{escape(slide.alt)}">'
            f"<figcaption>{body}</figcaption></figure>"
        )
    notes = as_html(slide.notes, names) if slide.notes.strip() else ""
    return (
        f'<section class="{slide.kind}" data-chapter="{escape(chapter.title)}"><h2>{heading}</h2>'
        f'<div class="body">{body}</div><div class="notes" hidden>{notes}</div></section>'
    )
