"""Every checkable claim of the paper, each with a function that judges it.

Verdicts are computed from results; nothing about them is typed in.
"""

from reproduction.claims import accuracy, classes, examples, extensions, overall
from reproduction.claims.base import CLAIMS, KINDS, Claim, Verdict, judge

__all__ = [
    "CLAIMS",
    "KINDS",
    "Claim",
    "Verdict",
    "accuracy",
    "classes",
    "examples",
    "extensions",
    "judge",
    "overall",
]
