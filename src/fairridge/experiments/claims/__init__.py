"""Every checkable claim of the paper, each with a function that judges it.

Verdicts are computed from results; nothing about them is typed in.
"""

from fairridge.experiments.claims import accuracy, classes, examples, extensions, overall
from fairridge.experiments.claims.base import CLAIMS, KINDS, Claim, Verdict, judge

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
