"""The API reference: our docstrings as they stand, made readable.

They are written for a terminal: formulas are indented plain text, names
stand in single backticks, |f| is a seminorm.  To reStructuredText an indented
block is a quotation and a bar opens a substitution.  So before Napoleon reads
a docstring, the indented blocks of its introduction become literal ones, and
what would be markup inside a line is escaped.
"""

import re

NAMED = re.compile(r"`+([^`]+)`+")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")
UNDERLINE = re.compile(r"-{3,}$")


def escaped(line):
    """Names in backticks as code; nothing else is markup, except bold."""
    pieces = NAMED.split(line)
    pieces[1::2] = [f"``{name}``" for name in pieces[1::2]]
    pieces[::2] = [
        MARKUP.sub(r"\\\1", text.replace("**", "\0")).replace("\0", "**")
        for text in pieces[::2]
    ]
    return "".join(pieces)


def readable(lines):
    """Escape the lines; make indented blocks before the sections literal."""
    heads = [k - 1 for k, line in enumerate(lines) if UNDERLINE.match(line)]
    first_section = heads[0] if heads else len(lines)
    done, literal = [], False
    for k, line in enumerate(lines):
        indented = line.startswith(" ") and k < first_section
        if indented and not literal and not lines[k - 1].strip():
            done += ["::", ""]
            literal = True
        elif line.strip() and not indented:
            literal = False
        keep = literal or line.lstrip().startswith((">>>", "...", "===", "---"))
        done.append(line if keep else escaped(line))
    return done


def process(app, what, name, obj, options, lines):
    lines[:] = readable(lines)


def skip(app, what, name, obj, skip, options):
    """Routing methods that scikit-learn adds to every estimator are its own."""
    return (
        True if name.startswith("set_") and name.endswith("_request") else None
    )


def setup(app):
    for extension in ("autodoc", "napoleon", "viewcode"):
        app.setup_extension(f"sphinx.ext.{extension}")
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
