"""Sums over batches are the sums over all rows."""

import threading

import numpy as np
import pandas as pd
import pytest

from fairridge import sources
from fairridge.engines import MemoryEngine
from fairridge.families import Binomial, Gamma, Multinomial, Poisson, Tweedie
from fairridge.sources.batch import prefetched, row_keys
from fairridge.sources.encoder import BatchEncoder
from fairridge.sources.responses import Labels, Numbers
from fairridge.sources.stream import StreamEngine

ROLES = {"sensitive": ["s"], "predictors": ["x", "z"], "weight": "w", "offset": "o"}


def frame(n=700, seed=0):
    rng = np.random.default_rng(seed)
    columns = {name: rng.normal(size=n) for name in "sxzo"}
    return pd.DataFrame(
        columns
        | {
            "z": 1e6 + rng.normal(size=n),
            "w": rng.integers(0, 3, n) * 0.5,
            "count": rng.poisson(1.0, n),
            "size": rng.gamma(2.0, size=n),
            "kind": rng.choice(["a", "b", "c"], n, p=[0.1, 0.3, 0.6]),
            "yes": rng.choice(["n", "y"], n),
        }
    )


def engines(response, reader, family=None, batch_rows=90):
    """The same rows in batches and in memory."""
    data = frame()[[*"sxzwo", response]]
    source = sources.frame(data, response=response, **ROLES, batch_rows=batch_rows)
    design = source.count_levels().design
    encode = BatchEncoder(source.roles, design, reader)
    streamed = StreamEngine(source, encode, design.encoded_names, 1, family=family, has_offset=True)
    whole = sources.frame(data, response=response, **ROLES, batch_rows=len(data))
    (batch,) = whole._batches(encode.columns)
    return streamed, MemoryEngine(encode(batch).rows)


FAMILIES = {
    "poisson": (Poisson(), "count", Numbers()),
    "gamma": (Gamma(), "size", Numbers()),
    "tweedie": (Tweedie(1.4), "size", Numbers()),
    "binomial": (Binomial(), "yes", Labels(np.array(["n", "y"]))),
    "multinomial": (Multinomial(3), "kind", Labels(np.array(["a", "b", "c"]))),
}
CENTER, RAW = np.array([0.1, -0.2, 1e6]), np.array([[0.3, -0.2, 0.1], [0.0, 0.4, -0.3]])


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_family_asks(name):
    family, response, reader = FAMILIES[name]
    ours, theirs = engines(response, reader, family)
    m = family.n_predictors
    np.testing.assert_allclose(
        ours.initial_intercepts(family), theirs.initial_intercepts(family), rtol=1e-12
    )
    assert ours.n_rows == theirs.n_rows
    assert ours.loglik(family, 12.0, 0.7) == pytest.approx(
        theirs.loglik(family, 12.0, 0.7), rel=1e-12
    )
    for order in (1, 2):
        a, b = (
            engine.derivatives(family, CENTER, np.arange(m) * 0.1, RAW[:m], order)
            for engine in (ours, theirs)
        )
        assert a.deviance == pytest.approx(b.deviance, rel=1e-12)
        np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(a.hessian, b.hessian, rtol=1e-10, atol=1e-8)


def test_moments_triangle_and_residuals():
    ours, theirs = engines("size", Numbers(less_offset=True))
    a, b = ours.moments(), theirs.moments()
    assert (a.n_rows, a.weight) == (b.n_rows, b.weight)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-13)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-11, atol=1e-9)
    scale = np.array([1.0, 2.0, 0.5, 3.0])
    R, other = ours.qr_factor(a.mean, scale), theirs.qr_factor(a.mean, scale)
    np.testing.assert_allclose(R.T @ R, other.T @ other, rtol=1e-11, atol=1e-10)
    assert (np.tril(R, -1) == 0.0).all()
    products = (e.residual_products(RAW[0], a.mean[:3], a.mean[3]) for e in (ours, theirs))
    np.testing.assert_allclose(*products, rtol=1e-10, atol=1e-9)
    assert ours.passes == 3


def test_rows_are_not_there():
    engine, _ = engines("count", Numbers())
    for ask in ("response", "weights", "offset"):
        with pytest.raises(ValueError, match="not in memory"):
            getattr(engine, ask)
    with pytest.raises(ValueError, match="not in memory"):
        engine.dense_columns()


def test_keys_depend_on_the_place_alone():
    keys = row_keys(3, 5, np.arange(10_000))
    np.testing.assert_array_equal(keys[77:99], row_keys(3, 5, np.arange(77, 99)))
    assert len(np.unique(keys)) == 10_000
    share = keys.astype(np.float64) / 2.0**64
    # Uniform: the largest gap between ranks and values is that of 10,000 random numbers.
    assert np.abs(np.sort(share) - (np.arange(10_000) + 0.5) / 10_000).max() < 0.02
    bits = np.unpackbits(keys.view(np.uint8)).reshape(10_000, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 0.025


def test_whoever_abandons_batches_does_not_wait_for_the_next_one():
    """The garbage collector may end them in a thread that cannot wait for others."""
    read = threading.Event()

    def batches():
        yield 1
        read.wait(30)
        yield 2

    coming = prefetched(batches())
    assert next(coming) == 1
    ended = threading.Thread(target=coming.close)
    ended.start()
    ended.join(10)
    waited = ended.is_alive()
    read.set()
    assert not waited
