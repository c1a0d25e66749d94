"""The course: assignments to hand out, and a grader that hostile code cannot fool.

An assignment is a folder with a master notebook and a file of hidden checks:

    assignments/NAME/NAME.ipynb    questions, solutions, public checks, rubrics
    assignments/NAME/checks.py     one `Question` a function: inputs, reference, tolerance, points

`release` strips the master; students get nothing else.  Grading is split between two processes that
share no secret:

    sandbox   runs the student's cells, calls the student's functions on inputs drawn at random,
              and writes plain numbers to one descriptor.  It never sees a reference, a check, a
              score, another submission or the network.            (`_inside`, `sandbox`)
    grader    draws the inputs, computes the references, and compares numbers with numbers.  It
              never runs, imports or unpickles anything a student wrote.   (`grading`, `values`)

So the only way to earn a question's points is to return the right numbers for inputs nobody has
seen.  Scores go into nbgrader's gradebook (`gradebook`), whose formgrader serves manual grading.
"""

from kernelbook.course.assignment import Assignment, Question

__all__ = ["Assignment", "Question"]
