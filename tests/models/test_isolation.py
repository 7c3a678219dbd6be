"""Levels that decide the outcome, found by counting codes or from moments."""

import numpy as np
import pytest

from fairridge.data import Indicators, RowLevel, Rows, Slab
from fairridge.engines import MemoryEngine
from fairridge.families import Binomial
from fairridge.models import drop_separated, isolation


def engine(bad=0.0):
    """Rows with two decided levels, one of them a base level, and a decided 0/1 column."""
    rng = np.random.default_rng(20)
    n = 2000
    y = rng.integers(0, 2, n).astype(float)
    first, second = rng.integers(0, 3, n), rng.integers(0, 2, n)
    first[:3], y[:3] = -1, 0.0
    second[3:8], y[3:8] = 2, 1.0
    flag, number = rng.integers(0, 2, n).astype(float), rng.normal(size=n)
    flag[:] = 0.0
    flag[6:10], y[6:10] = 1.0, 1.0
    number[4] += bad
    columns = np.column_stack([flag, number])
    names = tuple(f"c{k}" for k in range(1 + 3 + 2 + 3))
    S = Slab(rng.normal(size=(n, 1)))
    X = Indicators(first, 3), Slab(columns), Indicators(second, 3)
    return MemoryEngine(Rows((S,), X, names, y[:, None], y[:, None]))


def test_counts_find_what_moments_find(monkeypatch):
    found = drop_separated(engine(), Binomial())
    assert [(one.level, one.outcome) for one in found.levels] == [
        (RowLevel((7,), 1), 1),
        (RowLevel((0, 1, 2), 0), 0),
        (RowLevel((3,), 1), 1),
    ]
    assert found.counts == (5, 3, 2)
    monkeypatch.setattr(isolation, "in_memory", lambda _: False)  # as of rows elsewhere
    by_moments = drop_separated(engine(), Binomial())
    assert by_moments.levels == found.levels
    assert by_moments.kept.n_rows == found.kept.n_rows == 1990


def test_null_deviance_is_that_of_all_rows():
    rows = engine()
    y = rows.response[:, 0]
    expected = -2.0 * (y * np.log(y.mean()) + (1.0 - y) * np.log(1.0 - y.mean())).sum()
    assert drop_separated(rows, Binomial()).null_deviance(Binomial()) == pytest.approx(
        expected, rel=1e-12
    )


def test_numbers_of_rows_that_leave_are_looked_at():
    with pytest.raises(ValueError, match="'c5' contains infinity"):
        drop_separated(engine(bad=np.inf), Binomial())
