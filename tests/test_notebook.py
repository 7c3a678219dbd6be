"""What objects show of themselves in a notebook."""

import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import fairridge
from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
)
from fairridge._notebook import MOST_ROWS, frame_html
from fairridge.export import reasons, scorecard


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(91)
    n = 200
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "<b>": rng.normal(size=n),
            "job": rng.choice([f"job & {k}" for k in range(30)], n),
        }
    )
    return frame, np.where(frame["<b>"] + (frame["sex"] == "m") > rng.normal(size=n), "yes", "no")


@pytest.fixture(scope="module")
def model(people):
    return FairRidgeClassifier(0.05, sensitive="sex", predictor_penalty=1.0).fit(*people)


def parsed(html):
    """The elements, if the text is well formed; void elements and entities aside."""
    text = html.replace("&nbsp;", " ")
    return ElementTree.fromstring(f"<div>{text}</div>")


def test_a_fitted_model_shows_fairness_first(model, people):
    html = model._repr_html_()
    table = html[: html.index("</table>")]
    assert "Unfairness reached in training" in table
    assert f"{model.unfairness_:.4g}" in table
    assert "Share of means explained by S" in table
    assert "sk-top-container" in html  # scikit-learn's diagram follows
    assert "Unfairness reached" not in FairRidgeClassifier()._repr_html_()


def test_models_without_coefficients_and_of_times_show_themselves(people):
    X, _ = people
    wage = X["<b>"].to_numpy()
    assert "Status" in BarycenterRegressor(0.1, sensitive="sex").fit(X, wage)._repr_html_()
    y = np.column_stack([np.exp(wage), np.ones(len(wage))])
    shown = FairRidgeSurvival(0.1, sensitive="sex", predictor_penalty=1.0).fit(X, y)._repr_html_()
    assert "Share of η explained by S" in shown


def test_everything_that_has_a_table_shows_it(model, people):
    X, y = people
    prediction = model.predict(X)
    path = model.path(X, y, unfairness=np.linspace(0, 1, 21))
    for found, expected in (
        (model.summary(), "raw"),
        (path, "polyline"),
        (model.inference(X, y), "standard_error"),
        (fairridge.audit(y, prediction, sensitive_features=X[["sex"]]), "selection_rate"),
        (fairridge.attribution(model), "share"),
        (fairridge.proxies(model, X, n_folds=2), "tells sex (AUC)"),
        (reasons(model, X, top=2), "contribution"),
        (scorecard(model), "points"),
        (fairridge.cross_validate(model, X, y, unfairness=[0.1, 1], cv=2), "polyline"),
        (
            fairridge.compare(X[["sex", "<b>"]], y, sensitive="sex", models={"a <model>": model}),
            "a &lt;model&gt;",
        ),
    ):
        html = found._repr_html_()
        assert expected in html, type(found)
        assert "<b>" not in html.replace('"text-align:left"><b>', "")  # names are escaped
        parsed(html)


def test_long_tables_are_cut_and_say_so():
    html = frame_html(pd.DataFrame({"x": range(1234), "y": np.nan}))
    assert len(re.findall("<tr>", html)) == MOST_ROWS + 1
    assert "… and 1,214 more rows" in html
    assert ">y<" not in html  # nothing to show


def test_a_path_draws_what_it_achieved(people):
    X, y = people
    bounds = [0.0, 0.02, 1.0]
    model = FairRidgeClassifier(sensitive="sex", predictor_penalty=1.0)
    path = model.path(X, y, unfairness=bounds)
    lines = parsed(path._repr_html_()).findall(".//polyline")
    assert len(lines) == 2
    ys = [float(pair.split(",")[1]) for pair in lines[0].get("points").split()]
    assert ys[0] > ys[1] > ys[2]  # down is up in SVG


@pytest.mark.slow
def test_a_report_is_a_page_in_the_notebook(model, people):
    X, y = people
    report = fairridge.report(model, X, y, cv=0, bootstrap=0)
    html = report._repr_html_()
    inside = re.search('srcdoc="([^"]*)"', html).group(1)
    assert unescape(inside) == report.html


def test_regressions_have_r_squared(people):
    X, _ = people
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0)
    path = model.path(X, X["<b>"] ** 2, unfairness=[0.1, 1.0])
    assert "r_squared" in path._repr_html_()
