"""The contract: influence functions are derivatives of the whole fit in the weight of one row."""

import numpy as np
import pytest

from fairridge.fairness import (
    AbsoluteDifference,
    Combined,
    EqualityOfOpportunity,
    IndividualFairness,
    MeanOdds,
    MeanOpportunity,
    MeanParity,
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

from .problems import analyzed, by_class, derivative, draw, influences_of

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
BOUNDS = {0.0: "zero", 0.003: "bound", 0.03: "bound", 1.0: "free"}


def check(family, definition, penalty, r, row=3, regime=None, **options):
    rng = np.random.default_rng(5)
    # A blind model needs more predictors beside its controls than S has columns.
    data = draw(family, p=4 if options.get("kind") == "blind controls" else 3)
    n = len(data[0])
    weight = 0.5 + rng.random(n)
    idle = family.least_squares or family.n_predictors > 1
    offset = None if idle else 0.1 * rng.normal(size=n)
    options = {"penalty": penalty, "predictor_penalty": 0.0, "standardize": True} | options
    analysis = analyzed(family, data, definition, r, weight, offset, **options)
    found = by_class(family, influences_of(analysis))
    numeric = derivative(family, data, definition, r, row, weight, offset, **options)
    assert analysis.regime == (regime or BOUNDS[r])
    assert np.abs(found[row] - numeric).max() < 1e-5 * np.abs(numeric).max()
    assert np.abs(weight @ found).max() < 1e-8 * np.abs(weight @ np.abs(found)).max()


@pytest.mark.parametrize(
    "definition",
    [
        StatisticalParity(measure="variance"),
        StatisticalParity(measure="nagelkerke"),
        StatisticalParity(center=False),
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


OTHERS = [
    ("means", MeanParity(), Binomial(class_weights=(1.0, 2.5))),
    ("means", MeanParity(), Multinomial(3, (1.0, 0.5, 2.0))),
    ("means", MeanOpportunity(), Binomial()),
    ("means", MeanOpportunity(), Multinomial(3)),
    ("means", MeanOdds(), Binomial()),
    ("controls", StatisticalParity().given_controls, Binomial()),
    ("controls", StatisticalParity().given_controls, Multinomial(3)),
    ("controls", StatisticalParity(measure="nagelkerke").given_controls, Poisson()),
]


@pytest.mark.parametrize("r", [0.0, 0.003, 1.0])
@pytest.mark.parametrize(("kind", "definition", "family"), OTHERS)
def test_other_kinds_of_models(kind, definition, family, r):
    check(family, definition, Ridge(), r, kind=kind)


def test_controls_with_the_radial_penalty():
    for r in BOUNDS:
        check(Binomial(), StatisticalParity().given_controls, Radial(), r, kind="controls")


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_everything(family, definition, penalty):
    for r in BOUNDS:
        check(family, definition, penalty, r)
    check(family, definition, penalty, 0.03, 17, standardize=False, predictor_penalty=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize(
    "kind",
    [
        "means",
        "blind",
        "blind means",
        "controls",
        "means controls",
        "blind controls",
        "blind means controls",
    ],
)
def test_every_kind_of_every_family(kind, family):
    if "means" in kind and family.reads == "times":
        pytest.skip("hazards are not means")
    definition = StatisticalParity(measure="variance")
    definition = MeanParity() if "means" in kind else definition
    definition = definition.given_controls if "controls" in kind else definition
    kind = kind.replace("blind means", "blind")
    for r in (0.0, 0.003, 1.0):
        check(family, definition, Ridge(), r, kind=kind)
    options = {"kind": kind, "standardize": False, "predictor_penalty": 2.0}
    check(family, definition, Ridge(), 0.003, 17, **options)
