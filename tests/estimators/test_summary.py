"""What a summary says first, and what it leaves for its details."""

import re

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, ZafarRegressor
from fairridge.datasets import load_german_credit

WHO = ["Age", "Gender"]
COLUMNS = [*WHO, "Duration", "Credit_amount"]
# Terms that a newcomer does not know stand beside their words, or not at all.
RIDDLES = ("η", "SMD", "|COR|", "Impact ratio", "raw coef", "Explained by U")


@pytest.fixture(scope="module")
def credit():
    data = load_german_credit()
    return data.X[COLUMNS], data.y


def fitted(credit, **options):
    return FairRidgeClassifier(0.01, sensitive=WHO, definition="mean-parity", **options).fit(
        *credit
    )


def lines_of(summary):
    return [re.sub(" {2,}", " | ", line) for line in str(summary).splitlines()]


def test_the_limit_and_what_was_reached_come_first(credit):
    model = fitted(credit)
    lines = lines_of(model.summary())
    assert lines[:2] == ["FairRidgeClassifier: GOOD, not BAD, 1,000 rows", "S = Age, Gender"]
    assert lines[3] == "Fairness in the training rows | limit | reached"
    assert lines[5] == "S explains of the predicted probabilities | 1.00 % | 1.00 %"
    correlation = model.group_differences_["max_correlation"]
    assert f"largest correlation with S | {correlation:.2f}" in lines
    assert f"deviance explained (D²) | {100.0 * model.explained_deviance_:.1f} %" in lines
    assert f"penalty on S (λ) | {model.lambda_:.4g}, converged" in lines
    assert "Needs Age and Gender to score people (blind=False)." in lines
    assert max(map(len, str(model.summary()).splitlines())) <= 80
    assert not [term for term in RIDDLES if term in str(model.summary())]


@pytest.mark.parametrize("positive", ["GOOD", "BAD"])
def test_ratios_are_those_of_the_favorable_class(credit, positive):
    model = fitted(credit, positive=positive)
    lines = lines_of(model.summary())
    ratio = model.group_differences_["adverse_impact_ratio[GOOD]"]
    assert f"share given GOOD, lowest ÷ highest | {ratio:.2f}" in lines
    assert not [line for line in lines if line.startswith("share given BAD")]


def test_the_group_that_is_farthest_off_is_named(credit):
    model = fitted(credit)
    groups = {k: v["ratio"] for k, v in model.total_ratios_.items() if ": " in k}
    name = max(groups, key=lambda group: abs(np.log(groups[group])))
    text = " ".join(str(model.summary()).split())
    way = "low" if groups[name] < 1.0 else "high"
    assert (
        f"Farthest off is {name}: predictions are {100 * abs(groups[name] - 1):.0f} % too {way}"
        in text
    )


def test_details_are_all_there(credit):
    model = fitted(credit)
    short, whole = str(model.summary()), str(model.summary(details=True))
    for label in ("Log-likelihood", "Definition", "Bound r", "Largest difference of a level"):
        assert f"{label}:" in whole
        assert label not in short
    pd.testing.assert_frame_equal(
        model.summary().to_frame(), model.summary(details=True).to_frame()
    )


def test_each_attribute_with_a_bound_has_a_line(credit):
    X, _ = credit
    model = FairRidgeRegressor(
        {"Age": 0.05, "Gender": 0.01}, sensitive=WHO, definition="mean-parity"
    )
    model.fit(X.drop(columns="Credit_amount"), X["Credit_amount"])
    lines = lines_of(model.summary())
    assert (
        f"Gender explains of the predictions | 1.00 % | {100 * model.unfairness_['Gender']:.2f} %"
        in lines
    )
    assert [line for line in lines if line.startswith("penalty on Age (λ) | ")]


def test_models_that_do_not_need_s_have_one_column_of_coefficients(credit):
    model = fitted(credit, blind=True)
    text = str(model.summary())
    assert "Does not need Age and Gender to score people." in text
    assert "in the model" not in text
    assert "as you use it" in text


def test_bounds_of_other_models_are_no_percentages(credit):
    X, _ = credit
    model = ZafarRegressor(0.5, bound="covariance", sensitive=WHO)
    model.fit(X.drop(columns="Credit_amount"), X["Credit_amount"])
    (line,) = [line for line in lines_of(model.summary()) if line.startswith("unfairness")]
    assert line.endswith("| 0.5 | 0.5")


def test_notebooks_show_the_same(credit):
    html = fitted(credit).summary()._repr_html_()
    assert "Fairness in the training rows" in html
    assert "as you use it" in html
