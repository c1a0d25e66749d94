"""What a learner says of arguments that it cannot take: the error, what was given, what to pass.

scikit-learn's errors keep their first lines, which people search for.  Behind them stand the
columns of a frame, the first entry that is missing, the column that holds text: what one would
otherwise look for by hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from kernelbook.features import is_frame
from kernelbook.numeric.arrays import dates_in, described, explained

__all__ = ["check_columns", "rows_explained"]


@contextmanager
def rows_explained(remedy: str, **arguments: Any) -> Iterator[None]:
    """`explained` for X and y: names the column and the row where an entry is the reason."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said, kind = str(error), TypeError if isinstance(error, TypeError) else ValueError
        missing = "contains NaN" in said or "contains infinity" in said
        dates = "could not be promoted" in said or "Cannot cast Datetime" in said
        if missing or dates or "could not convert" in said:
            find = _missing if missing else _dates if dates else _text
            found = [find(name, value) for name, value in arguments.items()]
            if any(found):
                said = said.split("\n")[0]
                raise kind(f"{said}\n({'  '.join(filter(None, found))})") from error
        given = ", ".join(f"{name} is {described(value)}" for name, value in arguments.items())
        raise kind(f"{said}\n({given}: pass {remedy}.)") from error


def _columns(value):
    """(what to call it, its entries) for each column of an array or a frame."""
    if is_frame(value) and len(np.shape(value)) == 2:
        return [
            (f"column {str(name)!r}", _entries(value, k)) for k, name in enumerate(value.columns)
        ]
    value = np.asarray(value)
    if value.dtype.kind in "US":
        value = value.astype(object)
    if value.ndim == 2:
        return [(f"column {k}, counted from 0,", value[:, k]) for k in range(value.shape[1])]
    return [("", value)] if value.ndim == 1 else []


def _entries(frame, k):
    column = frame.iloc[:, k] if hasattr(frame, "iloc") else frame[frame.columns[k]]
    return np.asarray(column)


def _missing(name, value):
    """Which columns have entries that are no finite numbers, and where the first is."""
    if sparse.issparse(value):
        return ""
    said = []
    for column, entries in _columns(value):
        try:
            bad = np.flatnonzero(~np.isfinite(entries.astype(np.float64)))
        except (TypeError, ValueError):
            continue
        if bad.size:
            where = f"{column} of {name}" if column else name
            rows = f"{bad.size} rows, first" if bad.size > 1 else ""
            said.append(f"{where} has no finite number in {rows} row {bad[0]}".replace("  ", " "))
    if not said:
        return ""
    more = f", and {len(said) - 3} columns more" if len(said) > 3 else ""
    return (
        f"{'; '.join(said[:3])}{more}: drop these rows (dropna, together with y), or fill in what "
        "is missing (sklearn.impute)."
    )


def _dates(name, value):
    """Which columns hold dates, and how they become numbers."""
    found = dates_in(value) if is_frame(value) and len(np.shape(value)) == 2 else None
    if not found:
        return ""
    t = found[0]
    return (
        f"column {str(t)!r} of {name} holds dates or durations: pass numbers, of days for "
        f"instance, ({t} - {t}.min()) / np.timedelta64(1, 'D')."
    )


def _text(name, value):
    """Which column holds text, and what can be done with text."""
    for column, entries in _columns(value):
        texts = [entry for entry in entries if isinstance(entry, str) and not _is_number(entry)]
        if not texts:
            continue
        if not column:
            return f"{name} holds text, such as {str(texts[0])!r}: labels are for classifiers."
        return (
            f"{column} of {name} holds text, such as {str(texts[0])!r}.  In a data frame a column "
            "of text can be a feature, features='1 + C(name)', or the column of a kernel, "
            "Categorical('name'); in an array encode it (OneHotEncoder), or drop it."
        )
    return ""


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_columns(learner: Any, X: Any) -> None:
    """An error if X, asked about after `fit`, has other columns than the frame of the fit."""
    names = getattr(learner, "feature_names_in_", None)
    if names is None:
        return
    listed = ", ".join(map(str, names))
    if is_frame(X) and len(np.shape(X)) == 2:
        what = f"a frame with the columns of the fit in their order, X[{list(map(str, names))}]"
        with explained(what, X=X):
            validate_data(learner, X, reset=False, skip_check_array=True)
    elif learner.levels_:
        text = names[next(iter(learner.levels_))]
        raise ValueError(
            f"{type(learner).__name__} was fitted to a data frame whose column {str(text)!r} holds "
            f"text, and X is {described(X)}: pass a data frame with the columns {listed}."
        )
