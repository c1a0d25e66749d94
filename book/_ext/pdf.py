"""What the PDF needs beside the settings: proofs as text, numbers of exercises.

sphinx-proof sets a proof as a note without a title, which LaTeX draws as a box
under an empty bar.  Here a proof is what it is in print: *Proof.*, the
argument, and a square at its end.

The answer to a question under "Check yourself" is a box that folds, inside a
box.  On paper it is a paragraph of the question's own box.

Solutions stand open behind their exercises on paper, where nothing folds.  So
they are gathered at the end of each chapter, and an exercise names the page.

A table of references has columns as wide as what they hold: its formulas do not
fit into thirds of a line.

sphinx-exercise knows the number of an exercise of the same chapter only; one of
another chapter would be printed as two question marks.

Figures are printed in the inks of the light page (`inks.py`).

On the pages, the menu's entry .pdf prints the page at hand; here it downloads
the book, if `make pdf` has set it, and otherwise says how to set it.
"""

import shutil
from pathlib import Path

from docutils import nodes
from inks import ink_for_paper
from sphinx.addnodes import (
    number_reference,
    start_of_file,
    tabular_col_spec,
)
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import (
    exercise_latex_number_reference,
    is_exercise_node,
    solution_node,
)
from sphinx_proof.nodes import proof_node


class PlainProofs(SphinxPostTransform):
    default_priority = 400
    formats = ("latex",)

    def run(self, **options):
        for proof in list(self.document.findall(proof_node)):
            box = proof.children[0]
            content = box.children
            first = next(box.findall(nodes.Text))
            word, rest = first.astext().split(".", 1)
            index = first.parent.index(first)
            first.parent[index : index + 1] = [
                nodes.emphasis("", f"{word}."),
                nodes.Text(rest),
            ]
            end = nodes.raw("", r"\kbqed", format="latex")
            if isinstance(content[-1], nodes.paragraph):
                content[-1] += end
            else:
                content.append(nodes.paragraph("", "", end))
            proof.replace_self(
                [
                    nodes.raw("", "\n\\begin{kbproof}\n", format="latex"),
                    *content,
                    nodes.raw("", "\n\\end{kbproof}\n", format="latex"),
                ]
            )


class OpenAnswers(SphinxPostTransform):
    default_priority = 400
    formats = ("latex",)

    def run(self, **options):
        for box in list(self.document.findall(nodes.admonition)):
            if "check" not in box["classes"]:
                continue
            for answer in list(box.findall(nodes.admonition))[1:]:
                title, *content = answer.children
                word = nodes.strong("", title.astext())
                answer.replace_self([nodes.paragraph("", "", word), *content])


def exercise_number(env, label):
    """A link to an exercise, by its number."""
    chapter = env.sphinx_exercise_registry[label]["docname"]
    number = env.toc_fignumbers[chapter]["exercise"][label]
    words = env.config.numfig_format["exercise"]
    text = words % ".".join(map(str, number))
    return exercise_latex_number_reference("", text, refid=label)


class ExercisesByName(SphinxPostTransform):
    """A link from the text leads to the page and the label of an exercise."""

    default_priority = 405
    formats = ("latex",)

    def run(self, **options):
        for exercise in list(self.document.findall(is_exercise_node)):
            label = exercise["label"]
            page = self.env.sphinx_exercise_registry[label]["docname"]
            here = rf"\phantomsection\label{{\detokenize{{{page}:{label}}}}}"
            place = exercise.parent.index(exercise)
            exercise.parent.insert(place, nodes.raw("", here, format="latex"))


class SolutionsLast(SphinxPostTransform):
    default_priority = 410
    formats = ("latex",)

    def run(self, **options):
        exercises = {
            node["label"]: node
            for node in self.document.findall(is_exercise_node)
        }
        places = {}
        for solution in list(self.document.findall(solution_node)):
            label, about = solution["label"], solution["target_label"]
            chapter = self.chapter(solution)
            if chapter not in places:
                name = f"solutions-{len(places) + 1}"
                places[chapter] = nodes.section(
                    "", nodes.title("", "Solutions"), ids=[name], names=[name]
                )
                chapter += places[chapter]
            solution.parent.remove(solution)
            link = exercise_number(self.env, about)
            page = self.env.sphinx_exercise_registry[label]["docname"]
            here = "".join(
                rf"\label{{{name}}}"
                for name in (f"solution:{label}", f"{page}:{label}")
            )
            places[chapter].extend(
                [
                    nodes.raw("", rf"\phantomsection{here}", format="latex"),
                    nodes.paragraph("", "", nodes.strong("", "", link)),
                    *solution.children[1:],
                ]
            )
            if about in exercises:
                there = f"solution:{label}"
                words = rf"Solution: page~\pageref*{{{there}}}"
                words = rf"\hyperref[{there}]{{\emph{{{words}}}}}"
                exercises[about] += nodes.paragraph(
                    "", "", nodes.raw("", words, format="latex")
                )

    def chapter(self, node):
        """The outermost section of a node's page."""
        while not isinstance(node, (start_of_file, nodes.document)):
            if isinstance(node, nodes.section):
                found = node
            node = node.parent
        return found


class WideColumns(SphinxPostTransform):
    default_priority = 400
    formats = ("latex",)
    tables = {"equations.md": (0.28, 0.36, 0.3)}  # noqa: RUF012

    def run(self, **options):
        for table in list(self.document.findall(nodes.table)):
            shares = self.tables.get(Path(table.source or "").name)
            if shares is None:
                continue
            columns = "".join(
                rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}"
                for share in shares
            )
            table["classes"].append("longtable")
            place = table.parent.index(table)
            table.parent.insert(place, tabular_col_spec(spec=columns))


class ExercisesElsewhere(SphinxPostTransform):
    default_priority = 400
    formats = ("latex",)

    def run(self, **options):
        exercises = getattr(self.env, "sphinx_exercise_registry", {})
        for node in list(self.document.findall(number_reference)):
            label = node.get("refuri", "").partition("#")[2]
            if label in exercises:
                node.replace_self(exercise_number(self.env, label))


PDF = "kernelbook.pdf"


def made(app):
    return Path(app.outdir).parent / "latex" / PDF


def offer_the_book(app, pagename, templatename, context, doctree):
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", [group]):
            if button.get("javascript") != "window.print()":
                continue
            del button["javascript"]
            up = "../" * pagename.count("/")
            there = made(app).exists()
            how = f"{up}book/index.html#how-to-read-a-chapter"
            button.update(
                type="link",
                url=f"{up}_static/{PDF}" if there else how,
                text=".pdf (the book)" if there else ".pdf (make pdf)",
                tooltip="Download the whole book"
                if there
                else "In a checkout, make pdf sets the whole book",
            )


def copy_the_book(app, exception):
    if exception is None and app.builder.name == "html" and made(app).exists():
        shutil.copy(made(app), Path(app.outdir) / "_static" / PDF)


def ink_the_figures(app, exception):
    if exception is None and app.builder.name == "latex":
        ink_for_paper(Path(app.outdir))


def setup(app):
    app.connect("html-page-context", offer_the_book, priority=950)
    app.connect("build-finished", ink_the_figures)
    app.connect("build-finished", copy_the_book)
    app.add_post_transform(PlainProofs)
    app.add_post_transform(OpenAnswers)
    app.add_post_transform(ExercisesElsewhere)
    app.add_post_transform(ExercisesByName)
    app.add_post_transform(SolutionsLast)
    app.add_post_transform(WideColumns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
