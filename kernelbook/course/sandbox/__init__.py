"""A place for hostile code: what it sees, what it may use, and who watches it.

view       what is visible inside: a Python, the allowed packages, nothing to write on
seccomp    the system calls that are refused
limits     what one submission may use, and what came of it
clocks     how long it computed, and how long it waited
inside     the program that runs in there, beside the student's code
watch      reads what comes out and ends what goes on too long
box        puts these together around one run
"""

from kernelbook.course.sandbox.box import HOW, Sandbox, SandboxMissing, why_not
from kernelbook.course.sandbox.limits import Limits, Outcome

__all__ = ["HOW", "Limits", "Outcome", "Sandbox", "SandboxMissing", "why_not"]
