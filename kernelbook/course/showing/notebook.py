"""The notebook that formgrader shows for manual grading.

It is opened in the instructor's browser, on the origin of their Jupyter server, so it is made anew:
text, rubrics and checks come from the master; a student's words are harmless HTML (`text`), their
code is code, which formgrader escapes; of the outputs only text and PNG pictures remain.
"""

from kernelbook.course.assignment import Assignment, kind_of, source
from kernelbook.course.showing.outputs import Budget, safe_outputs
from kernelbook.course.showing.text import as_html

__all__ = ["shown_notebook"]


def shown_notebook(assignment: Assignment, cells, verdicts):
    """A notebook node from a submission's cells and the machine's verdicts by question."""
    return _Maker(assignment, verdicts).make(cells)


class _Maker:
    def __init__(self, assignment, verdicts):
        self.ours = dict(assignment.cells())
        self.checks = {f"{name}-check": verdict for name, verdict in verdicts.items()}
        self.cells, self.budget = [], Budget()

    def make(self, submitted):
        from nbformat.v4 import new_notebook

        seen = set()
        for cell in submitted:
            identity = cell["grade_id"]
            if identity in self.ours and identity not in seen:
                seen.add(identity)
                if kind_of(self.ours[identity]) in ("solution", "manual"):
                    self.add_theirs(cell, self.ours[identity])
                else:
                    self.add_ours(identity)
            elif self.budget.cells > 0:
                self.budget.cells -= 1
                self.add_theirs(cell)
        for identity, cell in self.ours.items():
            if identity not in seen:
                if kind_of(cell) in ("solution", "manual"):
                    tag = cell["metadata"]["nbgrader"]
                    self.add(cell["cell_type"], "(not handed in)", tag)
                else:
                    self.add_ours(identity)
        notebook = new_notebook(cells=self.cells)
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        }
        return notebook

    def add(self, cell_type, text, tag=None, outputs=()):
        from nbformat.v4 import new_code_cell, new_markdown_cell

        cell = new_code_cell(text) if cell_type == "code" else new_markdown_cell(text)
        cell["id"] = f"cell-{len(self.cells)}"
        if tag:
            cell.metadata["nbgrader"] = dict(tag)
        if cell_type == "code":
            cell.outputs = list(outputs)
        self.cells.append(cell)

    def add_ours(self, identity):
        from nbformat.v4 import new_output

        cell, verdict = self.ours[identity], self.checks.get(identity)
        outputs = []
        if verdict is not None:
            text = f"{verdict.points:g} of {verdict.out_of:g} points. {verdict.reason}\n"
            outputs.append(new_output("stream", name="stdout", text=text))
        self.add(cell["cell_type"], source(cell), cell["metadata"]["nbgrader"], outputs)

    def add_theirs(self, cell, mine=None):
        from nbformat.v4 import new_output

        kind = "code" if (mine or cell)["cell_type"] == "code" else "markdown"
        text = self.budget.words(cell["source"])
        outputs = []
        for output in safe_outputs(cell, self.budget):
            if "picture" in output:
                data = {"image/png": output["picture"]}
                outputs.append(new_output("display_data", data=data))
            else:
                outputs.append(new_output("stream", name="stdout", text=output["text"]))
        tag = mine["metadata"]["nbgrader"] if mine else None
        self.add(kind, text if kind == "code" else as_html(text), tag, outputs)
