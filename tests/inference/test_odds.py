"""Quantiles of odds, and the odds that they are quantiles of."""

import numpy as np
import pytest

from fairridge.inference.certificate import NORMAL_NONCENTRALITY, odds_behind, quantile_of_odds

KNOWN = {"columns": 3, "spread": 0.002}


@pytest.mark.parametrize("odds", [0.0, 0.01])
def test_quantiles_are_those_of_draws(odds):
    rng = np.random.default_rng(0)
    b = rng.normal(size=(200_000, 3))
    b[:, 0] += np.sqrt(odds / 0.002)
    drawn = 0.002 * (b**2).sum(axis=1)
    for level in (0.05, 0.5, 0.9):
        found = quantile_of_odds(level, odds, **KNOWN)
        assert odds_behind(level, found, **KNOWN) == pytest.approx(odds, rel=1e-8, abs=1e-10)
        assert (drawn <= found).mean() == pytest.approx(level, abs=0.004)


def test_huge_noncentralities_go_on_without_a_step():
    below, above = (
        quantile_of_odds(0.95, 0.05, columns=2, spread=0.05 / (NORMAL_NONCENTRALITY * k))
        for k in (0.9999, 1.0001)
    )
    assert above == pytest.approx(below, rel=1e-6)
    assert above > 0.05
