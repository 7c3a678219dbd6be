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
from fairridge.export import reasons, scorecard
from fairridge.inference import Certificate, pool
from fairridge.rules import MeanGap


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
    assert model._repr_mimebundle_()["text/html"].startswith(html[: html.index("</table>")])
    table = html[: html.index("</table>")]
    assert "Unfairness reached in training" in table
    assert f"{model.unfairness_:.4g}" in table
    assert "Share of means explained by S" in table
    assert "sk-top-container" in html  # scikit-learn's diagram follows
    assert "Unfairness reached" not in FairRidgeClassifier()._repr_html_()


@pytest.fixture(scope="module")
def shown(model, people):
    """What objects show, and something of what they say."""
    X, y = people
    prediction = model.predict(X)
    path = model.path(X, y, unfairness=np.linspace(0, 1, 21))
    wage = X["<b>"].to_numpy()
    few = X[["sex", "<b>"]]
    inference = FairRidgeRegressor(0.2, sensitive="sex").fit(few, wage**2).inference(few, wage**2)
    certificate = Certificate(0.05, 0.01, 0.95, 0.06, "draws", 1234, False, 5678)
    half = (few[:100], y[:100], few[100:], y[100:])
    rule = MeanGap(0.9, favorable="yes")
    return [
        (model.summary(), "as you use it"),
        (path, "polyline"),
        (model.inference(X, y), "std err"),
        (fairridge.audit(y, prediction, sensitive_features=X[["sex"]]), "selected"),
        (fairridge.attribution(model), "share"),
        (fairridge.proxies(model, X, n_folds=2), "tells sex (AUC)"),
        (fairridge.proxies(model, X, n_folds=2).telling, "(all predictors)"),
        (reasons(model, X, top=2), "contribution"),
        (scorecard(model), "points"),
        (fairridge.cross_validate(model, X, y, unfairness=[0.1, 1], cv=2), "polyline"),
        (
            fairridge.compare(few, y, sensitive="sex", models={"a <model>": model}),
            "a &lt;model&gt;",
        ),
        (certificate, "5,678"),
        (path.bands(), "Bands for all bounds"),
        (pool([inference, inference]), "Combined models"),
        (fairridge.choose_bound(model, *half, rule=rule, unfairness=[0.0, 0.1]), "MeanGap"),
    ]


def test_everything_that_has_a_table_shows_it(shown):
    for found, expected in shown:
        html = found._repr_html_()
        assert expected in html, type(found)
        assert "<b>" not in html.replace('"text-align:left"><b>', "")  # names are escaped
        parsed(html)


@pytest.mark.slow
def test_a_report_is_a_page_in_the_notebook(model, people):
    X, y = people
    report = fairridge.report(model, X, y, cv=0, bootstrap=0)
    html = report._repr_html_()
    inside = re.search('srcdoc="([^"]*)"', html).group(1)
    assert unescape(inside) == report.html


def test_models_without_coefficients_and_of_times_show_themselves(people):
    X, _ = people
    wage = X["<b>"].to_numpy()
    assert "Status" in BarycenterRegressor(0.1, sensitive="sex").fit(X, wage)._repr_html_()
    y = np.column_stack([np.exp(wage), np.ones(len(wage))])
    shown = FairRidgeSurvival(0.1, sensitive="sex", predictor_penalty=1.0).fit(X, y)._repr_html_()
    assert "Share of scores explained by S" in shown


def test_a_path_draws_what_it_achieved(people):
    X, y = people
    bounds = [0.0, 0.02, 1.0]
    model = FairRidgeClassifier(sensitive="sex", predictor_penalty=1.0)
    path = model.path(X, y, unfairness=bounds)
    lines = parsed(path._repr_html_()).findall(".//polyline")
    assert len(lines) == 2
    ys = [float(pair.split(",")[1]) for pair in lines[0].get("points").split()]
    assert ys[0] > ys[1] > ys[2]  # down is up in SVG
