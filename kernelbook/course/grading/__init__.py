"""Grading: draw the inputs, run each submission in a sandbox, compare outside.

inputs     the hidden inputs, new for each student and each attempt
frames     the lines that come out of a sandbox, read with suspicion
results    what was found, as it is stored
grader     one submission, many submissions
"""

from kernelbook.course.grading.grader import Grader
from kernelbook.course.grading.results import Result, Verdict

__all__ = ["Grader", "Result", "Verdict"]
