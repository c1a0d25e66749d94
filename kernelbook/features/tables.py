"""Data frames, of pandas or polars: their rows, their columns, and text in them.

A kernel compares numbers.  So a column of text (strings, categories) becomes the numbers of its
levels, in alphabetical order, for kernels that only ask whether two entries are equal
(`Categorical`); others refuse it.  A level that the sample does not have gets a number of its own.
Feature maps see the frame as it is: a formula knows what to do with text.
"""

from typing import Any

import numpy as np

from kernelbook.numeric.arrays import is_frame

__all__ = [
    "encoded",
    "like",
    "refuse_missing",
    "refuse_text",
    "replaced",
    "take_rows",
    "text_levels",
]


def take_rows(X: Any, rows: Any) -> Any:
    """Some rows of an array or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def replaced(X: Any, k: int, entries: np.ndarray) -> Any:
    """An array or a data frame with other entries in column k."""
    if hasattr(X, "iloc"):
        return X.assign(**{str(X.columns[k]): entries})
    if hasattr(X, "with_columns"):
        return X.with_columns(**{X.columns[k]: entries})
    X = np.array(X, dtype=np.float64)
    X[:, k] = entries
    return X


def like(frame: Any, rows: np.ndarray) -> Any:
    """Rows of numbers as a data frame with the columns of another, or as they are."""
    if hasattr(frame, "iloc"):
        return type(frame)(rows, columns=frame.columns)
    return type(frame)(rows, schema=list(frame.columns)) if is_frame(frame) else rows


def text_levels(X: Any) -> dict[int, list[str]]:
    """The levels of each column of text of a data frame, by the number of the column."""
    levels: dict[int, list[str]] = {}
    if not is_frame(X):
        return levels
    for k, name in enumerate(X.columns):
        if str(name) != name:
            continue
        entries = np.asarray(X[name])
        if entries.dtype.kind not in "OUST":
            continue
        texts = [isinstance(entry, str) for entry in entries]
        if not any(texts):
            continue
        if not all(texts):
            row = texts.index(False)
            raise ValueError(
                f"column {name!r} of X holds text, and {entries[row]!r} in row {row}: fill in what "
                "is missing, or drop the row."
            )
        levels[k] = sorted(set(map(str, entries)))
    return levels


def refuse_missing(X: Any, name: str) -> None:
    """An error for a column of text of which an entry is missing; numbers are checked elsewhere."""
    entries = np.asarray(X[name])
    if entries.dtype.kind != "O":
        return
    for row, entry in enumerate(entries):
        if entry is None or type(entry).__name__ == "NAType" or entry != entry:
            raise ValueError(
                f"column {name!r} of X has {entry!r} in row {row}, where fit has seen text: fill "
                "in what is missing, or drop the row."
            )


def encoded(X: Any, levels: dict[int, list[str]]) -> Any:
    """The frame with numbers for text: the place of a level, new ones after the known."""
    for k, known in levels.items():
        refuse_missing(X, X.columns[k])
        texts = [str(entry) for entry in np.asarray(X[X.columns[k]])]
        new = sorted(set(texts) - set(known))
        number = {level: float(i) for i, level in enumerate([*known, *new])}
        X = replaced(X, k, np.array([number[text] for text in texts]))
    return X


def refuse_text(kernel: Any, names: list[str], levels: dict[int, list[str]]) -> None:
    """An error where a kernel would take the numbers of levels for distances."""
    inner = [v for v in vars(kernel).values() if hasattr(v, "cpd_order")]
    for part in inner:
        refuse_text(part, names, levels)
    if inner or type(kernel).__name__ == "Categorical":
        return
    columns = kernel.columns
    seen = range(len(names)) if columns is None else np.atleast_1d(columns)
    for k in seen:
        if int(k) in levels:
            others = [name for j, name in enumerate(names) if j not in levels]
            raise ValueError(
                f"column {names[k]!r} of X holds text, such as {levels[int(k)][0]!r}, and "
                f"{kernel!r} needs numbers: name the columns that it sees, "
                f"{type(kernel).__name__}(columns={others}), and take {names[k]!r} as a feature, "
                f"'1 + C({names[k]})', or by the kernel Categorical(columns={names[k]!r})."
            )
