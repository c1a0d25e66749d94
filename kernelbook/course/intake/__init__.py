"""What students hand in: found, read with suspicion, taken apart into cells.

    names      who a folder or a file belongs to
    roster     the class: who they are, and how long they have
    finding    one file for each student, whatever a learning management system called it
    opening    bytes, reached without following a link, out of a folder or a zip file
    reading    a notebook's cells out of bytes, whatever an editor did to them
    matching   which cell answers which question, with or without nbgrader's tags

Nothing is lost on the way: what cannot be read or matched is put on the list for hand grading, with
a remark that names the file and the remedy.
"""

from kernelbook.course.intake.reading import Submission, code, read

__all__ = ["Submission", "code", "read"]
