"""The experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from reproduction import (
    beyond,
    bias,
    checks,
    examples,
    fairml,
    families,
    floors,
    formulas,
    linear,
    logistic,
    others,
    profiles,
    today,
)
from reproduction.descriptions import datasets_part
from reproduction.settings import Settings


@dataclass(frozen=True)
class Experiment:
    """Something to compute on several data sets or examples (`cases`), run by run.

    `part` computes one run on one case. `maximum` limits the runs of all cases,
    `fewer` those of single ones. `lacks` names the library that is missing, if any.
    """

    name: str
    title: str
    cases: tuple[str, ...]
    part: Callable[[str, int, Settings], pd.DataFrame]
    maximum: int | None = None
    fewer: dict[str, int] = field(default_factory=dict)
    lacks: Callable[[], str] = str

    def runs(self, case: str, settings: Settings) -> int:
        """Return how many parts a case has; in quick mode, one if their number is limited."""
        limit = self.fewer.get(case, self.maximum)
        if limit is None:
            return settings.runs
        return min(limit if settings.rows is None else 1, settings.runs)


_ALL = tuple(dict.fromkeys((*linear.PAPER, *logistic.PAPER, *linear.CORRECTED, *others.STEINBERG)))
_ONCE = {"vu.test": 1}

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("datasets", "sizes of the data sets", _ALL, datasets_part, maximum=1),
        Experiment("bias", "bias in the auxiliary model", bias.CASES, bias.bias_part, fewer=_ONCE),
        Experiment(
            "profiles",
            "coefficients of NCLM and FRRM",
            examples.CASES,
            profiles.profiles_part,
            fewer=_ONCE,
        ),
        Experiment(
            "definitions",
            "three definitions of fairness",
            examples.CASES,
            profiles.definitions_part,
            fewer=_ONCE,
        ),
        Experiment(
            "logistic-profiles",
            "coefficients of FGRRM and ZLRM",
            examples.CASES,
            profiles.logistic_profiles_part,
            fewer=_ONCE,
        ),
        Experiment("checks", "formulas on random problems", ("random",), checks.checks_part),
        Experiment("formulas", "more formulas", formulas.CASES, formulas.formulas_part),
        Experiment("beyond", "extensions that the paper names", beyond.CASES, beyond.beyond_part),
        Experiment(
            "families",
            "families, penalties and definitions",
            families.CASES,
            families.families_part,
            maximum=1,
        ),
        Experiment("fairml", "fairml's own answers", fairml.CASES, fairml.fairml_part, maximum=1),
        Experiment(
            "floors", "NCLM as fairml states it", floors.CASES, floors.floors_part, maximum=1
        ),
        Experiment(
            "scale", "FRRM on raw and standardized S", linear.PAPER, linear.scale_part, maximum=1
        ),
        Experiment("linear", "RMSE of NCLM, FRRM and ZLM", linear.PAPER, linear.linear_part),
        Experiment(
            "matched",
            "FRRM and ZLM at the same R² on S",
            linear.PAPER,
            linear.matched_part,
            maximum=20,
        ),
        Experiment(
            "corrected", "the linear part on corrected data", linear.CORRECTED, linear.linear_part
        ),
        Experiment(
            "logistic",
            "F1 of FGRRM and ZLRM",
            logistic.PAPER,
            logistic.logistic_part,
            # A run takes a minute of ADULT as it is, and half of one without three levels; more
            # runs hardly change the interval for other samples of rows.
            fewer={"ADULT": 5, "ADULT, isolated": 10},
        ),
        Experiment(
            "logistic-matched",
            "FGRRM and ZLRM at the same R² on S",
            logistic.MATCHED,
            logistic.matched_part,
            maximum=5,
        ),
        Experiment(
            "uncentered",
            "FGRRM with and without centered S",
            logistic.CENTERED,
            logistic.uncentered_part,
            maximum=1,
        ),
        Experiment(
            "steinberg",
            "RMSE of FRRM and Steinberg's",
            others.STEINBERG,
            others.steinberg_part,
            maximum=20,
        ),
        Experiment(
            "steinberg-bounds",
            "Steinberg's model at given bounds",
            others.STEINBERG,
            others.bounds_part,
            maximum=1,
        ),
        Experiment(
            "fairlearn",
            "F1 of FGRRM and fairlearn's reductions",
            others.FAIRLEARN,
            others.fairlearn_part,
            maximum=10,
            lacks=others.lacks_fairlearn,
        ),
        Experiment(
            "today",
            "blind and certified models, elastic net",
            today.LINEAR,
            today.linear_part,
            maximum=10,
        ),
        Experiment(
            "today-classes",
            "mean parity and blind models",
            today.CLASSES,
            today.classes_part,
            maximum=5,
        ),
    )
}
