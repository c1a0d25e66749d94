"""A checker that trusts nobody: is a fitted learner optimal, and is what it says of itself true?

It imports NumPy, and nothing of the solvers or estimators; from the public attributes of a fit, and
the data, it computes kernel, features, f and both objectives anew, with bounds of every error.

| file | what it does |
|---|---|
| `balls` | numbers with twice the digits, each with a bound on its error |
| `models` | kernels, features and bases from their parameters, in these numbers |
| `check` | `verify`: gap and objective of a fit, what it claims, and the verdict |
"""

from kernelbook.verifier.check import Verdict, fingerprint, verify

__all__ = ["Verdict", "fingerprint", "verify"]
