"""Sums of predicted means over rows, against plain arrays and differences."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier
from fairridge.engines import blocked_matrix
from fairridge.estimators._training import read_training
from fairridge.families import Binomial, Multinomial
from fairridge.families.sums import PredictedMeans


def frame(n, levels):
    """Sensitive age and sex, and predictors; codes are left as codes if they have many levels."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "age": rng.normal(50.0, 5.0, n),
            "sex": rng.choice(["f", "m"], n),
            "skill": rng.normal(3.0, 1.0, n),
            "place": rng.choice([f"p{k:02}" for k in range(levels)], n),
        }
    )


@pytest.fixture(params=["dense", "codes", "split"])
def engine(request, monkeypatch):
    if request.param == "codes":
        monkeypatch.setattr(blocked_matrix, "CODED_MIN_ROWS", 900)
        monkeypatch.setattr(blocked_matrix.Coding, "gain", lambda *_: 2.0)
    data = frame(900, 60 if request.param == "split" else 4)
    y = np.random.default_rng(9).integers(0, 3, len(data))
    weight = np.random.default_rng(10).uniform(0.5, 2.0, len(data))
    model = FairRidgeClassifier(sensitive=["age", "sex"])
    found = read_training(model, data, y, None, weight, None).engine
    assert found._matrix.split == (request.param == "split")
    assert (found._matrix.coding is not None) == (request.param == "codes")
    return found


def asked(engine, family, codes, raw, multipliers=None, order=2):
    k = len(engine.names)
    center = np.linspace(-1.0, 1.0, k)
    level = np.full(family.n_predictors, 0.2)
    among = None if codes is None else tuple((0 if level.size == 1 else k, k) for k in codes)
    means = PredictedMeans(family, among)
    return engine.means(family, means, center, level, raw, multipliers, order=order), center


def drawn(engine, family, codes, seed):
    """Return coefficients, multipliers of the means that are asked for, and what drew them."""
    rng, m = np.random.default_rng(seed), family.n_predictors
    raw = rng.normal(size=(m, len(engine.names))) * 0.03
    K = m if codes is None and m == 1 else 3 if codes is None else len(codes)
    return raw, rng.normal(size=(K, 3)), rng


CASES = [(Binomial(), None), (Binomial(), (1,)), (Multinomial(3), None), (Multinomial(3), (0, 2))]


@pytest.mark.parametrize(("family", "codes"), CASES)
def test_sums_are_those_of_plain_arrays(engine, family, codes):
    k, m = len(engine.names), family.n_predictors
    raw = np.random.default_rng(1).normal(size=(m, k)) * 0.03
    sums, center = asked(engine, family, codes, raw)
    S, X, y, weight = engine.dense_columns()
    Z = np.hstack([S, X]) - center
    mu = family.mean(0.2 + Z @ raw.T)
    counted = np.ones_like(mu) if codes is None else (y == np.array(codes)).astype(float)
    mu = mu if codes is None or m == 1 else mu[:, list(codes)]
    T = np.column_stack([np.ones(len(Z)), Z[:, :2]])
    each = weight[:, None] * counted
    np.testing.assert_allclose(sums.products, (each * mu).T @ T, rtol=1e-11)
    np.testing.assert_allclose(sums.squares, (each * mu**2).sum(0), rtol=1e-11)
    np.testing.assert_allclose(sums.gram, np.einsum("nk,ni,nj->kij", each, T, T), rtol=1e-10)
    np.testing.assert_array_equal(sums.counts, counted.sum(0))


@pytest.mark.parametrize(("family", "codes"), CASES)
def test_derivatives_are_differences(engine, family, codes):
    raw, multipliers, rng = drawn(engine, family, codes, 2)
    slopes = asked(engine, family, codes, raw, multipliers)[0].slopes
    direction, h = rng.normal(size=raw.shape) * 0.01, 1e-4

    def at(step):
        return asked(engine, family, codes, raw + step * direction, multipliers)[0]

    ahead, behind = at(h), at(-h)

    def close(ours, theirs):
        difference = theirs / (2 * h)
        np.testing.assert_allclose(
            ours, difference, rtol=1e-5, atol=1e-6 * np.abs(theirs / h).max()
        )

    close(
        np.einsum("kimj,mj->ki", slopes.jacobian[..., 1:], direction),
        ahead.products - behind.products,
    )
    close(
        2 * np.einsum("kmj,mj->k", slopes.squares[..., 1:], direction),
        ahead.squares - behind.squares,
    )

    def gradient(sums):  # of the deviance and of the means, times the multipliers
        return sums.slopes.glm.gradient + np.einsum(
            "ki,kimj->mj", multipliers, sums.slopes.jacobian
        )

    close(
        np.einsum("aibj,bj->ai", slopes.glm.hessian[..., 1:], direction),
        gradient(ahead) - gradient(behind),
    )
