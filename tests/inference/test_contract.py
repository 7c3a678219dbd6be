"""The contract: influence functions are derivatives of the whole fit in the weight of one row."""

import numpy as np
import pytest

from fairridge.fairness import (
    AbsoluteDifference,
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    StatisticalParity,
)
from fairridge.families import (
    Binomial,
    Cox,
    Gamma,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    QuasiBinomial,
    QuasiPoisson,
    Tweedie,
)
from fairridge.penalties import Radial, Ridge

from .problems import analyzed, by_class, derivative, draw

FAMILIES = [
    Gaussian(),
    Binomial(),
    Binomial("probit"),
    Binomial("cloglog"),
    QuasiBinomial(),
    Poisson(),
    QuasiPoisson(),
    Gamma(),
    Tweedie(),
    NegativeBinomial(1.5),
    Multinomial(3),
    Cox(),
    Cox("efron"),
]
DEFINITIONS = [StatisticalParity(), EqualityOfOpportunity(), IndividualFairness()]
PENALTIES = [Ridge(), Radial()]
BOUNDS = {0.0: "zero", 0.03: "bound", 1.0: "free"}


def check(family, definition, penalty, r, row=3, regime=None, **options):
    rng = np.random.default_rng(5)
    data = draw(family)
    n = len(data[0])
    weight = 0.5 + rng.random(n)
    idle = family.least_squares or family.n_predictors > 1
    offset = None if idle else 0.1 * rng.normal(size=n)
    options = {"penalty": penalty, "predictor_penalty": 0.0, "standardize": True} | options
    analysis = analyzed(family, data, definition, r, weight, offset, **options)
    found = by_class(family, analysis.influences())
    numeric = derivative(family, data, definition, r, row, weight, offset, **options)
    assert analysis.regime == (regime or BOUNDS[r])
    assert np.abs(found[row] - numeric).max() < 1e-5 * np.abs(numeric).max()
    assert np.abs(weight @ found).max() < 1e-8 * np.abs(weight @ np.abs(found)).max()


@pytest.mark.parametrize("r", BOUNDS)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_every_family(family, r):
    check(family, StatisticalParity(), Ridge(), r)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("predictor_penalty", [0.0, 3.0])
def test_gaussian_in_every_setting(definition, penalty, standardize, predictor_penalty):
    for r in BOUNDS:
        check(
            Gaussian(),
            definition,
            penalty,
            r,
            standardize=standardize,
            predictor_penalty=predictor_penalty,
        )


@pytest.mark.parametrize(
    "definition",
    [
        StatisticalParity(measure="variance"),
        StatisticalParity(measure="nagelkerke"),
        StatisticalParity(center=False),
        IndividualFairness("absolute"),
        IndividualFairness("squared"),
        IndividualFairness(lambda a, b: abs(a - b) ** 1.5),
        IndividualFairness(AbsoluteDifference(transform=np.cbrt)),
        Combined([StatisticalParity(), IndividualFairness()], weights=[1.0, 2.0]),
        Combined([StatisticalParity(), EqualityOfOpportunity()]),
    ],
)
def test_other_definitions(definition):
    check(Poisson(), definition, Ridge(), 0.03)


def test_inactive_below_one():
    check(Gaussian(), StatisticalParity(), Ridge(), 0.95, regime="free")


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_everything(family, definition, penalty):
    for r in BOUNDS:
        for row in (3, 17):
            check(family, definition, penalty, r, row)
    check(family, definition, penalty, 0.03, predictor_penalty=3.0)
    check(family, definition, penalty, 0.03, standardize=False, predictor_penalty=2.0)
