"""The course: assignments to hand out, and a grader that hostile code cannot fool.

An assignment is a folder with a master notebook and a file of hidden checks:

    assignments/NAME/NAME.ipynb    questions, solutions, public checks, rubrics
    assignments/NAME/checks.py     one `Question` a function: inputs, reference, tolerance, points

`release` strips the master; students get nothing else.  Grading is split between two processes that
share no secret:

    sandbox   runs the student's cells, then calls the student's functions on inputs drawn for this
              student and this file, and writes plain numbers to one descriptor.  It never sees a
              reference, a check, a score, another submission or the network.
    grader    draws the inputs, computes the references, and compares numbers with numbers.  It
              never runs, imports or unpickles anything a student wrote.   (`grading`, `values`)

So the only way to earn a question's points is to return the right numbers for hidden
inputs.  Scores go into nbgrader's gradebook (`gradebook`), whose formgrader serves manual grading;
what people look at is made by `showing`, which lets nothing through that a browser would obey.
"""

from kernelbook.course.assignment import LIMIT, Assignment, Question, Slip

__all__ = ["LIMIT", "Assignment", "Question", "Slip"]
