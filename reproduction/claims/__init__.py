"""The statements of the paper, each with a function that judges it.

Verdicts are computed from results, except those that are marked as arguments.
"""

from reproduction.claims import (
    auxiliary,
    classes,
    conclusions,
    extensions,
    linear,
    models,
    others,
)
from reproduction.claims.base import CLAIMS, KINDS, Claim, Verdict, judge

__all__ = [
    "CLAIMS",
    "KINDS",
    "Claim",
    "Verdict",
    "auxiliary",
    "classes",
    "conclusions",
    "extensions",
    "judge",
    "linear",
    "models",
    "others",
]
