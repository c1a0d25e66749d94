"""Written exams, drawn from a bank of questions with worked solutions and rubrics.

bank      the questions of one exam, read from `assignments/exams/NAME.md`
paper     a choice of them, with numbers of its own, as one sheet to print and one to mark with
"""

from kernelbook.course.exams.bank import Bank, Entry, banks, read_bank
from kernelbook.course.exams.paper import choose, write_exam

__all__ = ["Bank", "Entry", "banks", "choose", "read_bank", "write_exam"]
