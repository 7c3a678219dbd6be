"""An engine whose moments came from elsewhere: same answers, and rows only where they must be."""

import numpy as np
import pytest

from fairridge.data import Rows, Slab
from fairridge.engines import MemoryEngine, PrecomputedMoments
from fairridge.fairness import StatisticalParity
from fairridge.families import Gaussian
from fairridge.families.distances import AbsoluteDifference, ChangedColumns
from fairridge.penalties import Ridge
from fairridge.search import ModelSettings, set_up

NAMES = ("s", "t", "a", "b", "c")
AS_IT_IS = ChangedColumns(np.zeros(2), np.eye(2))
CENTER, LEVEL, RAW = np.arange(5.0), np.array([0.5]), np.full((1, 5), 0.3)


def products(y, eta, w):
    return np.array([w @ (y * eta)[:, 0]])


def engine_of(Z):
    rng = np.random.default_rng(1)
    y = Z @ [1.0, -1.0, 2.0, 0.5, 0.0] + rng.normal(size=len(Z))
    y, weight = y[:, None], rng.uniform(0.5, 2.0, len(Z))
    rows = Rows((Slab(Z[:, :2]),), (Slab(Z[:, 2:]),), NAMES, y, y, weight, 0.1 * weight)
    return MemoryEngine(rows)


@pytest.fixture
def Z():
    return np.random.default_rng(0).normal(size=(300, 5))


@pytest.fixture
def made():
    """The engines that were made so far."""
    return []


@pytest.fixture
def pair(Z, made):
    """An engine of rows, and one that knows its moments."""
    return _pair(Z, made)


def _pair(Z, made):
    rows = engine_of(Z)

    def make():
        made.append(engine_of(Z))
        return made[-1]

    return rows, PrecomputedMoments(rows.moments(), NAMES, 2, make)


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.qr_factor(e.moments().mean, np.ones(6)),
        lambda e: e.residual_products(RAW[0], CENTER, 0.5),
        lambda e: e.pairwise(AbsoluteDifference(), AS_IT_IS),
        lambda e: e.sum_over_rows(products, CENTER, LEVEL, RAW),
        lambda e: e.derivatives(Gaussian(), CENTER, LEVEL, RAW, 2).hessian,
        lambda e: e.dense_columns()[1],
        lambda e: e.response,
        lambda e: e.weights,
        lambda e: e.offset,
    ],
    ids=[
        "triangle", "residual products", "pairwise", "total", "derivatives", "columns",
        "response", "weights", "offset",
    ],
)  # fmt: skip
def test_everything_else_comes_from_the_rows(pair, made, ask):
    rows, known = pair
    np.testing.assert_array_equal(ask(known), ask(rows))
    ask(known)
    assert len(made) == 1
    assert known.passes == made[0].passes


@pytest.mark.parametrize(("gap", "reads"), [(1.0, False), (1e-4, True)])
def test_a_model_reads_the_rows_only_where_they_are_ill_conditioned(Z, made, gap, reads):
    Z[:, 4] = Z[:, 3] + gap * Z[:, 4]
    rows, known = _pair(Z, made)
    settings = ModelSettings(Ridge())
    ours, theirs = (
        set_up(engine, Gaussian(), StatisticalParity(), settings) for engine in (known, rows)
    )
    np.testing.assert_allclose(ours.ridge.beta, theirs.ridge.beta, rtol=1e-9)
    assert bool(made) is reads
    assert (known.passes > 0) is reads
