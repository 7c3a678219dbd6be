"""Searches that start from a sample find what others find, whatever the sample."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival
from fairridge.engines import MemoryEngine, memory
from fairridge.engines.samples import spread_rows
from fairridge.search import driver, sample, setup
from fairridge.sources import parquet

N = 6000
CASES = {
    "binomial": {},
    "inactive": {"unfairness": 0.9},
    "free": {"unfairness": 1.0},
    "fair": {"unfairness": 0.0},
    "blind": {"blind": True},
    "controls": {"controls": [3]},
    "penalties": {"penalty": "lasso", "predictor_penalty": 5.0},
    "means": {"definition": "mean-parity"},
    "multinomial": {},
    "poisson": {},
    "gamma": {},
    "cox": {},
}


@pytest.fixture
def sampled(monkeypatch):
    """Return a function that lets small data have samples, or not."""

    def switch(on):
        monkeypatch.setattr(setup, "SMALL_DATA", 0 if on else np.inf)
        monkeypatch.setattr(sample, "ROWS_EACH", 20.0)

    switch(True)
    return switch


def rows(n=N):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(n, 6))
    Z[:, 2:] += 0.4 * Z[:, :1]
    Z[:, 3] = Z[:, 3] > 0.3
    Z[:, 1] = Z[:, 1] > 0.8
    return rng, Z, Z @ [0.6, -0.5, 0.4, -0.3, 0.2, 0.1] - 0.5


def problem_of(case):
    rng, Z, eta = rows()
    if case == "multinomial":
        scores = np.column_stack([eta, -0.5 * eta, np.zeros(N)]) + rng.gumbel(size=(N, 3))
        return FairRidgeClassifier, Z, scores.argmax(axis=1)
    if case in ("poisson", "gamma"):
        mean = np.exp(0.4 * eta)
        y = rng.poisson(mean) if case == "poisson" else mean * rng.gamma(3.0, 1.0 / 3.0, N)
        return FairRidgeRegressor, Z, y
    if case == "cox":
        y = np.column_stack([rng.exponential(np.exp(-eta)), rng.random(N) < 0.7])
        return FairRidgeSurvival, Z, y
    return FairRidgeClassifier, Z, (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))).astype(int)


def fitted(case, order=slice(None)):
    kind, Z, y = problem_of(case)
    options = {"unfairness": 0.03, "sensitive": [0, 1]} | CASES[case]
    if case in ("poisson", "gamma"):
        options["family"] = case
    return kind(**options).fit(Z[order], y[order])


def assert_same(found, expected):
    assert found.status_ == expected.status_
    assert found.unfairness_ == pytest.approx(expected.unfairness_, abs=1e-10)
    assert found.lambda_ == pytest.approx(expected.lambda_, rel=1e-7)
    assert found.deviance_ == pytest.approx(expected.deviance_, rel=1e-11)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0.0, atol=2e-9 * scale)


@pytest.mark.parametrize("case", CASES)
def test_a_sample_changes_nothing_but_the_passes(sampled, case):
    found = fitted(case)
    sampled(False)
    assert_same(found, fitted(case))


def _first(n_rows, count):
    return np.arange(count)


@pytest.mark.parametrize("order", ["response", "group"])
@pytest.mark.parametrize("case", ["free", "poisson", "means"])
def test_bad_samples_cost_time_only(sampled, monkeypatch, case, order):
    """Of sorted rows, the first ones have one outcome or one group."""
    _, Z, y = problem_of(case)
    order = np.argsort({"response": y, "group": Z[:, 1]}[order], kind="stable")
    monkeypatch.setattr(memory, "spread_rows", _first)
    found = fitted(case, order)
    sampled(False)
    assert_same(found, fitted(case, order))


@pytest.mark.parametrize("separated", ["level", "all"])
def test_separated_rows_end_where_they_end_without_a_sample(sampled, separated):
    """No minimum exists, and where the search ends must not depend on where it started."""
    rng, Z, eta = rows()
    chance = (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))) & (Z[:, 3] == 0.0)
    y = (eta > 0.0 if separated == "all" else chance).astype(int)
    with pytest.warns(UserWarning, match="separate the responses"):
        found = FairRidgeClassifier(1.0, sensitive=[0, 1]).fit(Z, y)
    sampled(False)
    with pytest.warns(UserWarning, match="separate the responses"):
        expected = FairRidgeClassifier(1.0, sensitive=[0, 1]).fit(Z, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6)


def test_spread_rows_are_one_of_each_run():
    places = spread_rows(10_007, 100)
    assert len(places) == 100
    assert (np.diff(places) > 0).all()
    assert (places // 100 == np.arange(100)).all()
    assert len(np.unique(places % 10)) == 10  # no pattern of the rows repeats in them
    assert spread_rows(1000, 900) is None


def parted(folder, order):
    """Write rows to four files, and return them as a source."""
    rng, Z, eta = rows(20_000)
    y = (rng.random(len(eta)) < 1.0 / (1.0 + np.exp(-2.0 * eta))).astype(int)
    level = np.where(Z[:, 1] == 1.0, "yes", "no")
    frame = pd.DataFrame(Z[:, [0, 2, 3, 4, 5]], columns=list("acdef")).assign(b=level, y=y)
    if order is not None:
        frame = frame.sort_values(order, kind="stable")
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 4)):
        frame.iloc[part].to_parquet(folder / f"{k}.parquet", index=False)
    return frame, parquet(f"{folder}/*.parquet", response="y", sensitive=["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize("order", [None, "y"])
def test_files_of_one_group_or_outcome_each(sampled, tmp_path, order):
    pytest.importorskip("pyarrow")
    frame, source = parted(tmp_path, order)
    found = FairRidgeClassifier(0.03).fit(source)
    sampled(False)
    X, y = frame.drop(columns="y"), frame["y"]
    assert_same(found, FairRidgeClassifier(0.03, sensitive=["a", "b"]).fit(X, y))
    if order is None:
        assert found.n_iter_ < FairRidgeClassifier(0.03).fit(source).n_iter_


@pytest.mark.parametrize("large", [0.0, np.inf])
def test_a_large_sample_spares_hessians_of_all_rows(monkeypatch, sampled, large):
    """The model is the same with Hessians of all rows or of the sample."""
    rng, Z, eta = rows(40_000)
    y = (rng.random(len(Z)) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    monkeypatch.setattr(driver, "LARGE_SAMPLE", large)
    monkeypatch.setattr(MemoryEngine, "hessian_cost", 5.0)
    orders = []
    derivatives = MemoryEngine.derivatives

    def counted(self, family, center, intercept, raw, order, others=()):
        if self.n_rows == len(Z) and raw.any():
            orders.append(order)
        return derivatives(self, family, center, intercept, raw, order, others)

    monkeypatch.setattr(MemoryEngine, "derivatives", counted)
    found = FairRidgeClassifier(0.05, sensitive=[0, 1]).fit(Z, y)
    assert (2 in orders) == (large > 0.0)
    sampled(False)
    without = FairRidgeClassifier(0.05, sensitive=[0, 1]).fit(Z, y)
    np.testing.assert_allclose(found.coef_, without.coef_, rtol=0.0, atol=1e-10)
    assert found.unfairness_ == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize("r", [0.3, 0.9999])
def test_strong_effects_take_few_passes(r):
    """Whether the bound binds or not, and though the deviance falls to a tenth."""
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(50_000, 20))
    Z[:, 3:] += 0.3 * Z[:, :1]
    y = (Z @ rng.normal(size=20) + 0.5 * rng.normal(size=len(Z)) > 0.0).astype(int)
    model = FairRidgeClassifier(r, sensitive=[0, 1, 2]).fit(Z, y)
    assert model.n_iter_ <= 14
    assert model.status_ == ("converged" if r == 0.3 else "inactive")
