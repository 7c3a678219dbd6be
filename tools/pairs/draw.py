"""Random cases: at least three options that differ from their defaults.

A case is a function of its seed alone, so that a fault is shown again by one number.
"""

from __future__ import annotations

import numpy as np

from tools.pairs.judge import Outcome, outcomes, shrunk
from tools.pairs.options import OPTIONS, Case, is_possible
from tools.pairs.refusals import barred
from tools.pairs.verbs import CHEAP, EXPENSIVE

# Probability of another value for options beside the three.
OTHERS = 0.15


def draw(seed: int) -> tuple[Case, list[str]]:
    """Return a case that `fit` does not refuse, and what to do with its model."""
    rng, names = np.random.default_rng(seed), list(OPTIONS)
    while True:
        three = set(rng.choice(names, 3, replace=False))
        values = {
            name: str(rng.choice(OPTIONS[name][1:]))
            for name in names
            if name in three or rng.random() < OTHERS
        }
        case = Case(**values)
        if is_possible(case, barred()):
            return case, [*CHEAP, str(rng.choice(list(EXPENSIVE)))]


def faults(seed: int) -> list[Outcome]:
    """Return what is wrong with the case of a seed, each with as few options as show it."""
    found = [one for one in outcomes(*draw(seed)) if one.fault]
    return [shrunk(one, barred()) for one in found]


def shown(seed: int) -> str:
    """Return the faults of a case for readers; empty if there are none."""
    found = faults(seed)
    if not found:
        return ""
    again = f"    python -m tools.fuzz --pairs --seed {seed} --problems 1"
    return "\n".join([*map(str, found), again])
