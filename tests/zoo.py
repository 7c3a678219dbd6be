"""Helpers that many tests share: late imports, responses, models and plain statistics."""

import importlib


class LateModule:
    """A module that is imported when a test first uses it: collecting all tests needs few."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):  # pytest looks for its own marks on everything it collects
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


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
