"""The experiments, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairridge.experiments import formulas, linear, logistic, others
from fairridge.experiments.bias import CASES, bias_part
from fairridge.experiments.checks import checks_part
from fairridge.experiments.describe import datasets_part
from fairridge.experiments.profiles import (
    definitions_part,
    logistic_profiles_part,
    profiles_part,
)
from fairridge.experiments.scale import scale_part
from fairridge.experiments.settings import Settings
from fairridge.experiments.table import Row

__all__ = ["EXPERIMENTS", "Experiment"]


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Experiment:
    """Something to compute, in parts.

    Attributes
    ----------
    name, title : str
        What it is called, and what it shows.
    cases : tuple of str
        Its data sets or examples.
    part : callable
        Computes one run on one of them.
    most : int or None
        Parts at most for each case, where one takes minutes.
    remark : str
        How it departs from the protocol, if it does.
    lacks : callable
        Says which library is missing, if any.
    """

    name: str
    title: str
    cases: tuple[str, ...]
    part: Callable[[str, int, Settings], list[Row]]
    most: int | None = None
    remark: str = ""
    lacks: Callable[[], str] = _nothing

    def runs(self, settings: Settings) -> int:
        """Return how many parts a case has; in quick mode those that take minutes have one."""
        if self.most is None:
            return settings.runs
        return min(self.most if settings.rows is None else 1, settings.runs)


_EXAMPLE = ("example",)
_ALL = tuple(
    dict.fromkeys((*linear.PAPER, *logistic.PAPER[:2], *linear.CORRECTED, *others.STEINBERG))
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("datasets", "sizes of the data sets", _ALL, datasets_part, most=1),
        Experiment("bias", "bias in the auxiliary model", tuple(CASES), bias_part),
        Experiment("profiles", "coefficients of NCLM and FRRM", _EXAMPLE, profiles_part),
        Experiment("definitions", "three definitions of fairness", _EXAMPLE, definitions_part),
        Experiment(
            "logistic-profiles", "coefficients of FGRRM and ZLRM", _EXAMPLE, logistic_profiles_part
        ),
        Experiment("checks", "formulas on random problems", ("random",), checks_part),
        Experiment("formulas", "two more formulas", formulas.CASES, formulas.formulas_part),
        Experiment("scale", "FRRM on raw and standardized S", linear.PAPER, scale_part, most=1),
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
            most=10,
            remark="a single run, because one fold takes up to a minute",
            lacks=others.lacks_fairlearn,
        ),
    )
}
