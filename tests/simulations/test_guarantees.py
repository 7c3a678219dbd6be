"""Promises on populations that they were not made for."""

import warnings

import numpy as np
import pandas as pd
import pytest

from simulations import guarantees, page

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


@pytest.mark.slow
@pytest.mark.parametrize(
    "population",
    [
        "6 groups, small ones with wide scores",
        "blind, 200 rows, 20 predictors",
        "exponential S, large values rarely seen",
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
