"""The statements of the theory, checked by simulation and by exact computation.

    >>> import kernelbandits as kb
    >>> for checked in kb.verification.check_topics("E7"):
    ...     print(checked.verdict, checked.as_expected)
    fails True
    holds True

Each topic is one module with one function `check_...` that yields its statements. To add a
statement, yield one more `CheckedStatement` there; to add a confidence band, add one line to
`bands.BANDS`; to add a topic, write a module and add one line to `run.TOPICS`.

The predictions come from `kernelbandits.theory` or from formulas written out here, the
observations from the policies of the package. Whether the program computes its formulas correctly
is another question, and the tests answer it (tests/*/test_*_by_definition.py).
"""

from kernelbandits.verification.run import TOPICS, check_topics
from kernelbandits.verification.statements import FAILS, HOLDS, CheckedStatement, Effort

__all__ = ["FAILS", "HOLDS", "TOPICS", "CheckedStatement", "Effort", "check_topics"]
