"""Promises on populations that they were not made for."""

import warnings
from dataclasses import replace

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
    assert set(found) == {"broken", "refused", "warned"}
    assert sum(found.values()) <= 1
    assert [found] == guarantees.sample(0, promise=promise, population=first)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_sample_of_each_population(few):
    for setting in guarantees.SETTINGS:
        (found,) = guarantees.sample(1, **setting)
        assert sum(found.values()) <= 1


@pytest.mark.parametrize("name", list(CERTIFIED))
def test_populations_are_drawn_as_the_model_reads_them(name):
    case = CERTIFIED[name]
    Z, y, weight = case.rows(np.random.default_rng(0))
    assert Z.shape[0] == len(y) == case.n
    assert weight is None or (len(weight) == case.n and (weight > 0.0).all())
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


def test_samples_with_unequal_chances_stand_for_the_population():
    case = replace(CERTIFIED["exponential S, large values rarely seen"], n=50_000)
    Z, _, weight = case.rows(np.random.default_rng(0))
    assert Z[:, 0].mean() < 0.6
    assert np.average(Z[:, 0], weights=weight) == pytest.approx(1.0, abs=0.05)


def test_certificates_with_a_warning_are_counted_apart():
    case = CERTIFIED["S with t(2.5), 4,000 rows"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the heavy tail
        judged = [case(np.random.default_rng(seed)) for seed in range(4)]
    assert judged.count("warned") >= 2


def test_rows_of_a_cluster_share_an_attribute():
    Z, _ = guarantees.clustered(np.random.default_rng(0), 100)
    assert len(np.unique(Z[:, 0])) == 10
    assert (Z[:10, 0] == Z[0, 0]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "population",
    [
        "6 groups, small ones with wide scores",
        "blind, 200 rows, 20 predictors",
        "exponential S, large values rarely seen",
        "a group of 2 %, 1,000 rows",
    ],
)
def test_certified_bounds_hold_where_few_people_decide(population):
    """Errors along one direction, or without optimism, are exceeded by 15 to 29 %."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds not granted
        judged = [
            guarantees.sample(seed, promise="certificate", population=population)[0]["broken"]
            for seed in range(300)
        ]
    assert np.mean(judged) <= 0.1 + 3.0 * (0.09 / 300) ** 0.5


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
         "broken": seed < broken, "refused": seed >= 90, "warned": 80 <= seed < 90}
        for (promise, population), broken in zip(names, (10, 25), strict=True)
        for seed in range(100)
    ]  # fmt: skip
    found = guarantees.table(pd.DataFrame(rows))
    assert found["population"].tolist() == ["30 levels", "30 normal"]
    assert found["excess"].tolist() == pytest.approx([5.0, 0.0])
    shown = page.guarantees_table(found)
    assert shown["fails"].tolist() == ["**25.0 ± 3.0 %**", "10.0 ± 3.0 %"]
    assert shown["refused"].tolist() == shown["warned"].tolist() == ["10.0 %", "10.0 %"]


def test_long_tables_show_the_worst_and_leave_the_others_to_a_file(tmp_path):
    settings = guarantees.SETTINGS[: page.SHOWN["guarantees"] + 5]
    rows = [
        {"seed": seed, **one, "broken": seed == 0 and k % 2 == 0, "refused": False, "warned": False}
        for k, one in enumerate(settings)
        for seed in range(4)
    ]
    written = page.write_page({"guarantees": pd.DataFrame(rows)}, tmp_path, "img")
    assert "img/guarantees.csv" in written
    whole = pd.read_csv(tmp_path / "img" / "guarantees.csv")
    text = (tmp_path / "simulations.md").read_text(encoding="utf-8")
    assert len(whole) == page.SHOWN["guarantees"] + 5
    assert f"[All {len(whole)} rows](img/guarantees.csv)" in text
    assert whole["population"].iloc[page.SHOWN["guarantees"] - 1] in text
    assert text.count("\n| certificate |") == page.SHOWN["guarantees"]
