"""What people see of a submission: in formgrader, on the feedback page, in the class report.

Everything a student wrote passes through `text` (words and formulas) or `outputs` (what cells
printed and drew) before a browser sees it; `notebook` and `page` put the pieces together.
"""
