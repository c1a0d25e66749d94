"""The papers, formula by formula: as they are printed, and as they should be.

A is *Generalizing the Bias Term of Support Vector Machines* (Li, Leung & Lee, IJCAI 2007),
B is *Generalized Regularized Least-Squares Learning with Predefined Features in a Hilbert
Space* (Li, Lee & Leung, NIPS 2006), C is *Basis Expansions for Support Vector Machines* (Giesen,
Laue & Mueller, 2012).  The chapters, the errata page and the tests all take the formulas from
here, so that what is called wrong is what was printed.  A function named `..._printed` is the
paper's; its repair stands beside it.  Nothing here is meant for learning from data: use the
estimators for that.

`ERRATA` lists what a reader of the papers should know, with the words or the formula it is about.
`tests/papers/test_errata_a.py`, `test_errata_b.py` and `test_errata_c.py` have a test for each
entry; `test_quotes.py` compares the quotations with the papers.
"""

from kernelbook.papers import ab, c
from kernelbook.papers.ab import *  # noqa: F403
from kernelbook.papers.c import *  # noqa: F403
from kernelbook.papers.erratum import Erratum

ERRATA = ab.ERRATA + c.ERRATA  # type: ignore[assignment]  # longer than that of `ab`

__all__ = ["ERRATA", "Erratum"]
__all__ += [name for module in (ab, c) for name in module.__all__ if name != "ERRATA"]
