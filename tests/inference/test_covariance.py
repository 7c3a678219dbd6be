"""Covariances against statsmodels, and under changes that must not change them."""

import numpy as np
import pytest

from fairridge.engines import blocks
from fairridge.fairness import EqualityOfOpportunity, IndividualFairness, StatisticalParity
from fairridge.families import Binomial, Gaussian, Multinomial, Poisson
from fairridge.inference import influence, passes, rows
from fairridge.penalties import Radial, Ridge
from tests.zoo import LateModule

from .problems import analyzed, draw, inferred

sm = LateModule("statsmodels.api")

PARITY = StatisticalParity()


def design(data):
    return sm.add_constant(np.hstack(data[:2]))


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC3"])
def test_without_a_bound_it_is_that_of_least_squares(covariance):
    data = draw(Gaussian(), n=120)
    theirs = sm.OLS(data[2][:, 0], design(data)).fit(cov_type=covariance)
    ours = inferred(Gaussian(), data, PARITY, 1.0, covariance=covariance)
    np.testing.assert_allclose(ours.estimate, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("family", "model"), [(Binomial(), "Logit"), (Poisson(), "Poisson")])
def test_without_a_bound_it_is_that_of_a_glm(family, model):
    data = draw(family, n=150)
    theirs = getattr(sm, model)(data[2][:, 0], design(data)).fit(cov_type="HC0", disp=0, tol=1e-12)
    ours = inferred(family, data, PARITY, 1.0, covariance="HC0")
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.confidence_interval(), theirs.conf_int(), rtol=1e-6, atol=1e-8)


def test_clusters_are_those_of_least_squares():
    data = draw(Gaussian(), n=120)
    groups = np.random.default_rng(3).integers(0, 15, 120)
    options = {"groups": groups, "use_correction": False}
    theirs = sm.OLS(data[2][:, 0], design(data)).fit(cov_type="cluster", cov_kwds=options)
    labels = np.array([f"household {k}" for k in groups])
    ours = inferred(Gaussian(), data, PARITY, 1.0, clusters=labels)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params() * 15 / 14, rtol=1e-8)
    assert ours.facts.df == 14
    assert ours.facts.covariance == "cluster"


@pytest.mark.parametrize(("covariance", "r"), [("HC0", 0.0), ("HC1", 0.05), ("HC3", 0.05)])
def test_frequency_weights_are_repeated_rows(covariance, r):
    data = draw(Gaussian())
    counts = np.random.default_rng(1).integers(1, 4, 60)
    repeated = tuple(np.repeat(part, counts, axis=0) for part in data)
    ours = inferred(
        Gaussian(), data, PARITY, r, counts.astype(float), covariance=covariance, frequency=True
    )
    theirs = inferred(Gaussian(), repeated, PARITY, r, covariance=covariance)
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-8)
    np.testing.assert_allclose(ours.fair.covariance, theirs.fair.covariance, rtol=1e-8)


def test_frequency_weights_of_clustered_rows_are_repeated_rows():
    data, counts = draw(Gaussian()), np.random.default_rng(1).integers(1, 4, 60)
    groups = np.arange(60) // 3
    repeated = tuple(np.repeat(part, counts, axis=0) for part in data)
    weight = counts.astype(float)
    ours = inferred(Gaussian(), data, PARITY, 0.05, weight, clusters=groups, frequency=True)
    theirs = inferred(Gaussian(), repeated, PARITY, 0.05, clusters=np.repeat(groups, counts))
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-8)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    data = draw(Poisson(), n=700)
    groups = np.arange(700) // 7
    definition = IndividualFairness()
    for options in ({}, {"covariance": "HC3"}, {"clusters": groups}):
        whole = inferred(Poisson(), data, definition, 0.3, **options)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "BLOCK_BYTES", 1)
            parts = inferred(Poisson(), data, definition, 0.3, **options)
        np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-8)


def test_a_predictor_that_s_explains_almost_altogether():
    S, X, y, targets = draw(Gaussian(), n=200)
    X[:, 2] = S @ [1.0, 2.0] + 1e-6 * X[:, 2]
    data = (S, X, y, targets)
    theirs = sm.OLS(y[:, 0], design(data)).fit(cov_type="HC1")
    ours = inferred(Gaussian(), data, PARITY, 1.0)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-7)


@pytest.mark.parametrize(
    ("family", "definition", "r", "penalty", "covariance"),
    [
        (Gaussian(), PARITY, 0.05, Radial(), "HC1"),
        (Gaussian(), EqualityOfOpportunity(), 0.05, Ridge(), "HC3"),
        (Binomial(), PARITY, 0.0, Ridge(), "HC3"),
        (Multinomial(3), PARITY, 0.02, Ridge(), "cluster"),
    ],
    ids=str,
)
def test_multiples_of_x_that_become_those_of_u(
    monkeypatch, family, definition, r, penalty, covariance
):
    """Rows whose terms are written out, as where S explains most of a predictor, show the same."""
    data, rng = draw(family, n=600), np.random.default_rng(5)
    model = family, data, definition, r
    options = {"weight": 0.2 + rng.random(600), "covariance": covariance, "penalty": penalty}
    if covariance == "cluster":
        options["clusters"] = rng.integers(0, 40, 600)
    monkeypatch.setattr(passes, "PIECE_BYTES", 0)  # pieces of 256 rows
    monkeypatch.setattr(
        rows, "UNPACKED_PRODUCT_SIZE", 5000
    )  # and of fewer for products with few columns
    monkeypatch.setattr(rows, "MIN_PRODUCT_ROWS", 1)
    assert analyzed(*model, options["weight"], penalty=penalty).branch.apart
    ours = inferred(*model, **options.copy())
    monkeypatch.setattr(influence, "MIN_RESIDUAL_SHARE", np.inf)
    assert not analyzed(*model, options["weight"], penalty=penalty).branch.apart
    theirs = inferred(*model, **options.copy())
    for one, other in ((ours, theirs), (ours.fair, theirs.fair)):
        scale = np.sqrt(np.outer(*2 * [np.diag(other.covariance)])) + 1e-300
        np.testing.assert_allclose(one.covariance / scale, other.covariance / scale, atol=1e-10)
    if isinstance(ours.population, str):  # other definitions have no interval
        assert ours.population == theirs.population
    else:
        assert ours.population.spread == pytest.approx(theirs.population.spread, rel=1e-9)
    assert ours.quantities.keys() == theirs.quantities.keys()
    for name, (_, error) in ours.quantities.items():
        assert error == pytest.approx(theirs.quantities[name][1], rel=1e-9), name
