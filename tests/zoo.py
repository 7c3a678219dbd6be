"""Helpers that many tests share: late imports, responses, models and plain statistics."""

import importlib
from itertools import combinations, product

import pytest


class LateModule:
    """A module that is imported when a test first uses it: collecting all tests needs few."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):  # pytest looks for its own marks on everything it collects
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def pairwise(*choices, allowed=lambda *row: True):
    """Return rows of the product of all choices in which every two values meet that may meet.

    A greedy covering array: the pairs that the fewest rows have come first, and of the rows with
    such a pair the one is taken that has most of those still missing.
    """
    rows_of = {}
    for row in product(*choices):
        if allowed(*row):
            for pair in _pairs(row):
                rows_of.setdefault(pair, []).append(row)
    missing, chosen = set(rows_of), []
    for pair in sorted(rows_of, key=lambda pair: len(rows_of[pair])):
        if pair in missing:
            chosen.append(max(rows_of[pair], key=lambda row: len(missing & set(_pairs(row)))))
            missing -= set(_pairs(chosen[-1]))
    return chosen


def _pairs(row):
    return combinations(enumerate(row), 2)


def crossed(*, allowed=lambda *row: True, **choices):
    """Parametrize a test by all combinations; the quick tests have those of `pairwise`."""
    rows = [row for row in product(*choices.values()) if allowed(*row)]
    quick = set(pairwise(*choices.values(), allowed=allowed))
    marks = [() if row in quick else pytest.mark.slow for row in rows]
    params = [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks, strict=True)]
    return pytest.mark.parametrize(tuple(choices), params)


def statsmodels_family(name, power=1.5, dispersion=1.0):
    """Return what statsmodels calls a family, or the binomial one with a link of that name."""
    families = importlib.import_module("statsmodels.api").families
    links = families.links
    return {
        "binomial": lambda: families.Binomial(),
        "cloglog": lambda: families.Binomial(links.CLogLog()),
        "gamma": lambda: families.Gamma(links.Log()),
        "gaussian": lambda: families.Gaussian(),
        "negative-binomial": lambda: families.NegativeBinomial(links.Log(), dispersion),
        "poisson": lambda: families.Poisson(),
        "probit": lambda: families.Binomial(links.Probit()),
        "quasi-binomial": lambda: families.Binomial(),
        "tweedie": lambda: families.Tweedie(links.Log(), var_power=power),
    }[name]()
