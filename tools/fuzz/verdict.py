"""What came of a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Processor seconds of one problem.
SLOW, STOP = 2.0, 20.0


@dataclass(frozen=True)
class Verdict:
    """What came of a problem.

    Attributes
    ----------
    problem : Problem or Use
        The problem.
    status : str
        The model's status, "refused" for a ValueError, or "failed".
    violations : tuple of str
        What is wrong; empty where all is well.
    seconds : float
        Processor time of the fit.
    separated : bool
        Whether the library warned that the data are separated.
    beyond : str
        Which limits of the contract the data exceed; empty inside it.
    """

    problem: Any
    status: str
    violations: tuple[str, ...] = ()
    seconds: float = 0.0
    separated: bool = False
    beyond: str = ""
    note: str = field(default="", repr=False)
