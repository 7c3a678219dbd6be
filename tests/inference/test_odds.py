"""Quantiles of odds, and the odds that they are quantiles of."""

import numpy as np
import pytest
from scipy import stats

from fairridge.inference.certificate import (
    MAX_NONCENTRALITY,
    NORMAL_NONCENTRALITY,
    odds_behind,
    quantile_of_odds,
)

KNOWN = {"columns": 3, "spread": 0.002}


@pytest.mark.parametrize("odds", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("degrees", [4.0, 60.0, np.inf])
def test_quantiles_are_those_of_draws(odds, degrees):
    rng = np.random.default_rng(0)
    b = rng.normal(size=(200_000, 3))
    b[:, 0] += np.sqrt(odds / 0.002)
    drawn = 0.002 * (b**2).sum(axis=1)
    if np.isfinite(degrees):
        drawn /= rng.chisquare(degrees, 200_000) / degrees
    for level in (0.05, 0.5, 0.9):
        found = quantile_of_odds(level, odds, degrees=degrees, **KNOWN)
        assert (drawn <= found).mean() == pytest.approx(level, abs=0.004)


def test_many_degrees_of_freedom_are_as_good_as_a_known_variance():
    known, estimated = (quantile_of_odds(0.95, 0.05, degrees=d, **KNOWN) for d in (np.inf, 1e7))
    assert estimated == pytest.approx(known, rel=1e-5)
    fewer = [quantile_of_odds(0.95, 0.05, degrees=d, **KNOWN) for d in (100.0, 10.0, 3.0)]
    assert known < fewer[0] < fewer[1] < fewer[2]


@pytest.mark.parametrize(
    ("many", "degrees"),
    [(NORMAL_NONCENTRALITY, np.inf), (MAX_NONCENTRALITY, 1e4), (MAX_NONCENTRALITY, 1e10)],
)
def test_huge_noncentralities_go_on_without_a_step(many, degrees):
    below, above = (
        quantile_of_odds(0.95, 0.05, columns=2, spread=0.05 / (many * k), degrees=degrees)
        for k in (0.9999, 1.0001)
    )
    assert above == pytest.approx(below, rel=1e-6)
    assert above > 0.05


@pytest.mark.parametrize("degrees", [5.0, np.inf])
def test_odds_behind_a_quantile(degrees):
    for level in (0.025, 0.5, 0.975):
        found = odds_behind(level, 0.08, degrees=degrees, **KNOWN)
        again = quantile_of_odds(level, found, degrees=degrees, **KNOWN)
        assert again == pytest.approx(0.08, rel=1e-9)
    assert odds_behind(0.975, 0.001, degrees=degrees, **KNOWN) == 0.0
    assert stats.chi2.sf(0.001 / 0.002, 3) > 0.025
