"""Odds, rate and hazard ratios, tests of columns, and whole names."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival

LONG = "years_of_experience_in_the_same_profession"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 500
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south", "west"], n),
            LONG: rng.normal(size=n),
        }
    )
    eta = 0.5 * (X["region"] == "south") + 0.8 * X[LONG] + 1.5 * (X["sex"] == "m")
    return X, eta.to_numpy(), rng


def fitted(people, kind):
    X, eta, rng = people
    if kind == "odds_ratio":
        model = FairRidgeClassifier(0.02, sensitive="sex")
        y = rng.random(500) < 1 / (1 + np.exp(-eta))
    elif kind == "hazard_ratio":
        time = rng.exponential(np.exp(-eta))
        model, y = FairRidgeSurvival(0.02, sensitive="sex"), np.column_stack([time, time < 2.0])
    elif kind == "rate_ratio":
        model = FairRidgeRegressor(0.02, sensitive="sex", family="poisson")
        y = rng.poisson(np.exp(eta))
    elif kind == "mean_ratio":
        model = FairRidgeRegressor(0.02, sensitive="sex", family="gamma")
        y = rng.gamma(2.0, np.exp(eta))
    else:
        model, y = FairRidgeRegressor(0.02, sensitive="sex"), eta + rng.normal(size=500)
    return model.fit(X, y).inference(X, y)


@pytest.mark.parametrize("kind", ["odds_ratio", "rate_ratio", "mean_ratio", "hazard_ratio"])
def test_powers_of_e_with_their_intervals(people, kind):
    found = fitted(people, kind)
    plain, ratios = (
        found.to_frame(confidence=0.9),
        found.to_frame(confidence=0.9, exponentiate=True),
    )
    assert list(ratios.columns) == [
        kind if name == "coefficient" else name for name in plain.columns
    ]
    np.testing.assert_allclose(ratios[kind], np.exp(found.estimate))
    np.testing.assert_allclose(ratios[["lower", "upper"]], np.exp(found.confidence_interval(0.9)))
    np.testing.assert_allclose(ratios["standard_error"], ratios[kind] * found.standard_errors)
    pd.testing.assert_series_equal(ratios["p_value"], plain["p_value"])
    text = found.to_text(0.9, exponentiate=True)
    assert kind.replace("_", " ") in text
    assert "[0.05" in text
    assert "0.95]" in text
    line = next(line for line in text.splitlines() if line.startswith("region[south]"))
    wanted = ratios[kind][ratios["term"] == "region[south]"].item()
    assert float(line.split()[1]) == pytest.approx(wanted, rel=1e-3)


def test_differences_of_means_are_no_ratios(people):
    found = fitted(people, "gaussian")
    with pytest.raises(ValueError, match="gaussian model are no ratios"):
        found.to_frame(exponentiate=True)


def test_a_column_stands_for_all_its_levels(people):
    found = fitted(people, "odds_ratio")
    assert list(found.to_frame("fair", exponentiate=True)["term"]) == list(found.names)
    by_column = found.wald_test(["region"])
    assert by_column == found.wald_test(["region[south]", "region[west]"])
    assert found.wald_test("region") == by_column
    with pytest.raises(
        ValueError, match=r"no coefficient 'regio'. Did you mean 'region\[south\]'\?"
    ):
        found.wald_test(["regio"])


def test_a_column_stands_for_all_classes(people):
    X, _, rng = people
    y = rng.choice(["a", "b", "c"], 500)
    found = FairRidgeClassifier(0.02, sensitive="sex").fit(X, y).inference(X, y)
    names = [f"region[{level}] → {label}" for label in "abc" for level in ("south", "west")]
    assert found.wald_test(["region"]) == found.wald_test(names)


class Terminal:
    """A terminal with so many columns."""

    def isatty(self):
        return True

    def write(self, text):
        pass

    def flush(self):
        pass


def test_names_are_whole_unless_a_terminal_is_narrow(people, monkeypatch):
    X, eta, _ = people
    y = eta + np.random.default_rng(0).normal(size=500)
    model = FairRidgeRegressor(0.02, sensitive="sex").fit(X, y)

    def shown():
        return [str(model.inference(X, y)), str(model.summary())]

    assert all(LONG in text for text in shown())  # in a file
    widths = {}
    for columns in (80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout", Terminal())
        texts = shown()
        monkeypatch.undo()
        widths[columns] = max(map(len, texts[0].splitlines()))
        assert [LONG in text for text in texts] == [columns == 200] * 2
    assert widths[80] <= 80 < widths[200]
