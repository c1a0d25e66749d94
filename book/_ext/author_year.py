"""The bibliography's labels are what the text cites: author and year."""

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle


def names(entry):
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    last = [
        " ".join(map(str, p.rich_prelast_names + p.rich_last_names))
        for p in people
    ]
    return (
        last[0] + " et al."
        if len(last) > 2
        else " and ".join(last) or entry.key
    )


class AuthorYearLabels(BaseLabelStyle):
    def format_labels(self, sorted_entries):
        labels = [
            f"{names(e)}, {e.fields.get('year', 'n.d.')}"
            for e in sorted_entries
        ]
        for k, label in enumerate(labels):
            # Two works of one author and year are told apart by a letter.
            twins = [j for j, other in enumerate(labels) if other == label]
            yield label + ("abcdefgh"[twins.index(k)] if len(twins) > 1 else "")


class AuthorYear(Plain):
    default_label_style = AuthorYearLabels


def setup(app):
    register_plugin("pybtex.style.formatting", "author_year", AuthorYear)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
