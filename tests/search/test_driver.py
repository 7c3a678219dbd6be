"""λ and coefficients found together are those that a search over λ finds, in fewer passes."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.fairness import EqualityOfOpportunity, StatisticalParity
from fairridge.search.driver import BoundSearch

N = 4000
# The last is looser than any of the unconstrained models needs.
BOUNDS = (0.01, 0.05, 0.95)


def columns():
    rng = np.random.default_rng(3)
    S, X = rng.normal(size=(N, 2)), rng.normal(size=(N, 6))
    X[:, :3] += 0.6 * S[:, :1]
    X[:, 3] = X[:, 3] > 0.4
    return rng, np.hstack([S, X]), 0.8 * S @ [1.0, -0.7] + X @ [0.5, -0.4, 0.3, 0.6, 0.2, 0.0]


def problem_of(family):
    """Return a model, its columns and a response."""
    rng, Z, eta = columns()
    if family == "binomial":
        return FairRidgeClassifier(), Z, (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    if family == "multinomial":
        scores = np.column_stack([eta, -0.5 * eta, np.zeros(N)]) + rng.gumbel(size=(N, 3))
        return FairRidgeClassifier(), Z, scores.argmax(axis=1)
    mean = np.exp(0.4 * eta)
    y = rng.poisson(mean) if family == "poisson" else mean * rng.gamma(3.0, 1.0 / 3.0, N)
    return FairRidgeRegressor(family=family), Z, y


def fitted(family, r, **options):
    model, Z, y = problem_of(family)
    return model.set_params(unfairness=r, sensitive=[0, 1], **options).fit(Z, y)


@pytest.fixture
def refuse(monkeypatch):
    """Return a function that turns the joint search off."""
    return lambda: monkeypatch.setattr(BoundSearch, "find", lambda *_: None)


CASES = [
    ("binomial", {}),
    ("binomial", {"blind": True}),
    ("binomial", {"definition": StatisticalParity(measure="nagelkerke")}),
    ("binomial", {"definition": EqualityOfOpportunity(), "predictor_penalty": 50.0}),
    ("multinomial", {"penalty": "radial"}),
    ("gamma", {"predictor_penalty": 10.0}),
]
IDS = [f"{family}-{'-'.join(options) or 'plain'}" for family, options in CASES]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "options"), CASES, ids=IDS)
def test_it_finds_what_a_search_over_the_penalty_finds(refuse, family, options):
    jointly = [fitted(family, r, **options) for r in BOUNDS]
    refuse()
    for r, found in zip(BOUNDS, jointly, strict=True):
        one_by_one = fitted(family, r, **options)
        assert found.status_ == one_by_one.status_
        assert found.lambda_ == pytest.approx(one_by_one.lambda_, rel=1e-8)
        assert found.unfairness_ == pytest.approx(one_by_one.unfairness_, abs=1e-10)
        assert found.deviance_ == pytest.approx(one_by_one.deviance_, rel=1e-11)
        scale = np.abs(one_by_one.coef_).max()
        np.testing.assert_allclose(found.coef_, one_by_one.coef_, rtol=0.0, atol=1e-9 * scale)
        assert found.n_iter_ < one_by_one.n_iter_ or r == BOUNDS[-1]


def test_it_needs_few_passes(refuse):
    found = fitted("binomial", 0.02)
    assert found.status_ == "converged"
    assert found.unfairness_ == pytest.approx(0.02, abs=1e-10)
    # One for the moments, the others of the fit; then those that describe it.
    assert found.n_iter_ <= 12
    refuse()
    assert fitted("binomial", 0.02).n_iter_ >= 20
