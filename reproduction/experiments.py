"""The experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from reproduction import linear, logistic, others, profiles
from reproduction.bias import CASES, bias_part
from reproduction.checks import FORMULA_CASES, checks_part, formulas_part
from reproduction.descriptions import datasets_part
from reproduction.settings import Settings


@dataclass(frozen=True)
class Experiment:
    """Something to compute on several data sets or examples (`cases`), run by run.

    `part` computes one run on one case. `maximum` limits the runs of a case if
    one takes minutes; `remark` says how that departs from the protocol.
    `lacks` names the library that is missing, if any.
    """

    name: str
    title: str
    cases: tuple[str, ...]
    part: Callable[[str, int, Settings], pd.DataFrame]
    maximum: int | None = None
    remark: str = ""
    lacks: Callable[[], str] = str

    def runs(self, settings: Settings) -> int:
        """Return how many parts a case has; in quick mode those that take minutes have one."""
        if self.maximum is None:
            return settings.runs
        return min(self.maximum if settings.rows is None else 1, settings.runs)


_EXAMPLE = ("example",)
_ALL = tuple(
    dict.fromkeys((*linear.PAPER, *logistic.PAPER[:2], *linear.CORRECTED, *others.STEINBERG))
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("datasets", "sizes of the data sets", _ALL, datasets_part, maximum=1),
        Experiment("bias", "bias in the auxiliary model", tuple(CASES), bias_part),
        Experiment("profiles", "coefficients of NCLM and FRRM", _EXAMPLE, profiles.profiles_part),
        Experiment(
            "definitions", "three definitions of fairness", _EXAMPLE, profiles.definitions_part
        ),
        Experiment(
            "logistic-profiles",
            "coefficients of FGRRM and ZLRM",
            _EXAMPLE,
            profiles.logistic_profiles_part,
        ),
        Experiment("checks", "formulas on random problems", ("random",), checks_part),
        Experiment("formulas", "two more formulas", FORMULA_CASES, formulas_part),
        Experiment(
            "scale", "FRRM on raw and standardized S", linear.PAPER, linear.scale_part, maximum=1
        ),
        Experiment("linear", "RMSE of NCLM, FRRM and ZLM", linear.PAPER, linear.linear_part),
        Experiment(
            "corrected",
            "the same on corrected data, and with another response",
            linear.CORRECTED,
            linear.linear_part,
        ),
        Experiment("logistic", "F1 of FGRRM and ZLRM", logistic.PAPER, logistic.logistic_part),
        Experiment(
            "steinberg", "RMSE of FRRM and Steinberg's", others.STEINBERG, others.steinberg_part
        ),
        Experiment(
            "fairlearn",
            "F1 of FGRRM and fairlearn's reductions",
            others.FAIRLEARN,
            others.fairlearn_part,
            maximum=10,
            remark="a single run, because one fold takes up to a minute",
            lacks=others.lacks_fairlearn,
        ),
    )
}
