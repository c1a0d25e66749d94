"""What the PDF needs beside the settings: proofs as text, numbers of exercises.

sphinx-proof sets a proof as a note without a title, which LaTeX draws as a box
under an empty bar.  Here a proof is what it is in print: *Proof.*, the
argument, and a square at its end.

The answer to a question under "Check yourself" is a box that folds, inside a
box.  On paper it is a paragraph of the question's own box.

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
from sphinx.addnodes import number_reference
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_latex_number_reference
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


class ExercisesElsewhere(SphinxPostTransform):
    default_priority = 400
    formats = ("latex",)

    def run(self, **options):
        exercises = getattr(self.env, "sphinx_exercise_registry", {})
        for node in list(self.document.findall(number_reference)):
            label = node.get("refuri", "").partition("#")[2]
            if label in exercises:
                chapter = exercises[label]["docname"]
                number = self.env.toc_fignumbers[chapter]["exercise"][label]
                words = self.config.numfig_format["exercise"]
                text = words % ".".join(map(str, number))
                there = exercise_latex_number_reference("", text, refid=label)
                node.replace_self(there)


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
    return {"parallel_read_safe": True, "parallel_write_safe": True}
