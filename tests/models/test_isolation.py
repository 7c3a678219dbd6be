"""Levels that decide the outcome, found by counting codes or from moments."""

import numpy as np
import pytest
from scipy import sparse

from fairridge.data import Indicators, RowLevel, Rows, Slab, SparseSlab
from fairridge.engines import MemoryEngine
from fairridge.families import Binomial, Multinomial
from fairridge.models import drop_separated, isolation, separated_levels


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


def numbers(X, y, kind):
    """Rows of columns of numbers alone, in one type of storage."""
    stored = SparseSlab(sparse.csr_array(X)) if kind == "sparse" else Slab(X.astype(kind))
    S, names = Slab(np.zeros((len(y), 1))), tuple(f"c{k}" for k in range(1 + X.shape[1]))
    return MemoryEngine(Rows((S,), (stored,), names, y[:, None], y[:, None]))


@pytest.mark.parametrize("kind", ["float32", "bool", "sparse"])
def test_0_1_columns_are_counted_whatever_their_type(kind):
    rng = np.random.default_rng(3)
    n = 5000
    y = (rng.random(n) < 0.01).astype(float)  # the rows that are looked at first have most events
    X = (rng.random((n, 30)) < np.geomspace(1e-3, 0.5, 30)).astype(float)
    X[rng.choice(n, 3, replace=False), 29] = 0.0
    X[:, 28] = 1.0 - X[:, 0]  # the decided value is 0
    expected = {
        (k, value): int(outcomes[0])
        for k in range(30)
        for value in (0, 1)
        if len(outcomes := np.unique(y[X[:, k] == value])) == 1
    }
    found = separated_levels(numbers(X, y, kind), Binomial())
    assert {(one.level.columns[0], one.level.value): one.outcome for one in found} == expected
    assert {value for _, value in expected} == {0, 1}


@pytest.mark.parametrize("spread", [1.0, 300.0])
@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("family", [Binomial(), Binomial(link="cloglog"), Multinomial(4)])
def test_steps_give_rows_their_totals_however_far_they_are_from_each_other(family, outcome, spread):
    rng = np.random.default_rng(6)
    m = 4 if family.n_predictors > 1 else 1
    eta, weight = spread * rng.normal(size=(20, m)) + 5.0, rng.uniform(1.0, 2.0, 20)
    others = np.array([0.1, 0.2, 0.05, 0.15]) if m > 1 else np.array([0.48, 0.48])
    others[outcome] = 0.0
    totals = others if m > 1 else others[1:] - others[:1]
    with np.errstate(over="ignore"):
        moved = eta + isolation._step(family, eta, weight, outcome, totals)
        found = weight @ family.probabilities(moved)
    np.testing.assert_allclose(np.delete(found, outcome), np.delete(others, outcome), rtol=1e-9)
