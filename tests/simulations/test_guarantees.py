"""Promises on populations that they were not made for."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor
from simulations import guarantees, page
from simulations.populations import share

CERTIFIED = guarantees.certified_cases()


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(guarantees, "MANY", 3000)


@pytest.mark.filterwarnings("ignore")  # of bounds that are not granted, and of levels of few rows
@pytest.mark.parametrize("promise", sorted({promise for promise, _ in guarantees.CASES}))
def test_one_sample_of_each_promise(promise, few):
    first = next(population for name, population in guarantees.CASES if name == promise)
    (found,) = guarantees.sample(0, promise=promise, population=first)
    assert set(found) == {"broken", "refused"}
    assert not (found["broken"] and found["refused"])
    assert [found] == guarantees.sample(0, promise=promise, population=first)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_sample_of_each_population(few):
    for setting in guarantees.SETTINGS:
        (found,) = guarantees.sample(1, **setting)
        assert not (found["broken"] and found["refused"])


@pytest.mark.parametrize("name", list(CERTIFIED))
def test_populations_are_drawn_as_the_model_reads_them(name):
    case = CERTIFIED[name]
    Z, y = case.draw(np.random.default_rng(0), 400)
    assert Z.shape[0] == len(y) == 400
    assert np.isfinite(Z).all()
    assert (Z[:, : case.q].std(axis=0) > 0.0).all()


def test_shares_in_the_population_are_those_of_many_rows(few):
    for name in ("6 groups, small ones with wide scores", "blind, 200 rows, 20 predictors"):
        case = CERTIFIED[name]
        Z, y = case.draw(np.random.default_rng(1), 500)
        model = FairRidgeRegressor(
            0.05, sensitive=list(range(case.q)), blind="blind" in case.options
        ).fit(Z, y)
        many = guarantees.rows_of(case.draw, guarantees.MANY)
        known = share(model.predict(many), many[:, : case.q])
        assert case.reached(model) == pytest.approx(known, rel=1e-6)
    tails = CERTIFIED["S with t(2.5), 800 rows"]
    Z, y = tails.draw(np.random.default_rng(2), 800)
    a, b, c = FairRidgeRegressor(0.05, sensitive=[0]).fit(Z, y).coef_
    explained = 5.0 * (a + 0.4 * b) ** 2  # VAR(t(2.5)) = 5
    found = tails.reached(FairRidgeRegressor(0.05, sensitive=[0]).fit(Z, y))
    assert found == pytest.approx(explained / (explained + b**2 + c**2))


def test_shares_of_classes_are_of_all_together():
    rng = np.random.default_rng(3)
    S, means = rng.normal(size=(500, 1)), rng.random((500, 3))
    means[:, 0] += S[:, 0]
    own = [share(column, S) for column in means.T]
    variance = means.var(axis=0)
    found = guarantees.share_of_all(means, S)
    assert found == pytest.approx(own @ variance / variance.sum())
    assert guarantees.share_of_all(means[:, 0], S) == pytest.approx(own[0])


def test_the_worst_comes_first_and_is_marked():
    """Refusals count as samples: a promise that is hardly ever made is not better kept."""
    names = [("MeanGap at its boundary", "30 normal"), ("certificate", "30 levels")]
    rows = [
        {"seed": seed, "promise": promise, "population": population,
         "broken": seed < broken, "refused": seed >= 90}
        for (promise, population), broken in zip(names, (10, 25), strict=True)
        for seed in range(100)
    ]  # fmt: skip
    found = guarantees.table(pd.DataFrame(rows))
    assert found["population"].tolist() == ["30 levels", "30 normal"]
    assert found["excess"].tolist() == pytest.approx([5.0, 0.0])
    shown = page.guarantees_table(found)
    assert shown["fails"].tolist() == ["**25.0 ± 3.0 %**", "10.0 ± 3.0 %"]
    assert shown["refused"].tolist() == ["10.0 %", "10.0 %"]
