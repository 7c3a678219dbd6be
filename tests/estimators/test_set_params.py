"""What was fitted stays fitted, whatever `set_params` changes afterwards."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import SplineTransformer

import fairridge
from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    Monitor,
    ZafarRegressor,
)

N = 300


def rows(seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, N)
    frame = pd.DataFrame(
        {
            "sex": np.where(sex, "m", "f"),
            "skill": rng.normal(size=N) + 0.8 * sex,
            "hours": rng.normal(size=N),
        }
    )
    return frame, frame["skill"].to_numpy() + sex + rng.normal(size=N)


FRAME, Y = rows()
# Parameters with values that make another model.
CHANGES = {
    "unfairness": 0.9,
    "definition": "individual",
    "predictor_map": SplineTransformer(),
    "blind": True,
    "controls": ["hours"],
    "confidence": 0.9,
    "sensitive": ["hours"],
    "family": "poisson",
}


def fitted(**parameters):
    return FairRidgeRegressor(**{"unfairness": 0.05, "sensitive": ["sex"]} | parameters).fit(
        FRAME, Y
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the readers of a fitted model say of it."""
    return said(fitted(), tmp_path_factory.mktemp("expected"))


def said(model, folder):
    fairridge.save(model, folder / "model.json")
    inference = model.inference(FRAME, Y)
    return {
        "predict": model.predict(FRAME),
        "score": model.score(FRAME, Y),
        "summary": str(model.summary(details=True)),
        "notebook": model._repr_html_().partition("</table>")[0],
        "standard errors": inference.standard_errors,
        "population": inference.population_unfairness().upper,
        "monitor": Monitor(model).unfairness,
        "file": json.loads((folder / "model.json").read_text(encoding="utf-8")),
        "sql": fairridge.export.to_sql(model, "duckdb"),
    }


@pytest.mark.parametrize("name", CHANGES)
def test_no_reader_of_a_fit_sees_a_parameter_that_is_set_later(name, expected, tmp_path):
    model = fitted().set_params(**{name: CHANGES[name]})
    found = said(model, tmp_path)
    for reader, value in expected.items():
        np.testing.assert_equal(found[reader], value, err_msg=reader)
    assert str(model.get_params()[name]) == str(CHANGES[name])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"blind": True}, {"blind": False}),
        ({"confidence": 0.9, "unfairness": 0.3}, {"confidence": None}),
        ({"predictor_penalty": "cv"}, {"predictor_penalty": 0.0}),
        ({"controls": ["hours"]}, {"controls": None, "blind": True}),
        (
            {"predictor_map": SplineTransformer(n_knots=4), "predictor_penalty": 1.0},
            {"predictor_map__n_knots": 8},
        ),
    ],
)
def test_a_fit_with_other_settings_keeps_them(before, after):
    model = fitted(**before)
    summary, means, inference = (
        str(model.summary(details=True)),
        model.predict(FRAME),
        model.inference,
    )
    errors = inference(FRAME, Y).standard_errors
    model.set_params(**after)
    assert str(model.summary(details=True)) == summary
    np.testing.assert_array_equal(model.predict(FRAME), means)
    np.testing.assert_array_equal(inference(FRAME, Y).standard_errors, errors)


def test_a_parameter_that_is_changed_in_place_is_not_seen_either():
    bounds = {"sex": 0.03}
    model = fitted(unfairness=bounds, definition="mean-parity")
    bounds["sex"] = 0.7
    assert "sex ≤ 0.03" in str(model.summary(details=True))
    assert model._fitted.bound == {"sex": 0.03}


def test_a_new_fit_has_the_new_parameters():
    model = fitted().set_params(unfairness=0.5, blind=True).fit(FRAME, Y)
    other = fitted(unfairness=0.5, blind=True)
    np.testing.assert_array_equal(model.predict(FRAME), other.predict(FRAME))
    assert str(model.summary(details=True)) == str(other.summary(details=True))
    assert not hasattr(clone(model), "_settings")


def test_rows_to_predict_are_read_as_the_model_says_now(tmp_path):
    """`unknown` is about these rows, not about the fit."""
    model, other = fitted(min_frequency=1), FRAME.assign(sex="d")
    with pytest.raises(ValueError, match="'sex' has the level 'd'"):
        model.predict(other)
    means = model.set_params(unknown="mean").predict(other)
    fairridge.save(model, tmp_path / "model.json")
    np.testing.assert_array_equal(fairridge.load(tmp_path / "model.json").predict(other), means)


def test_a_path_keeps_the_parameters_that_it_was_made_with():
    model = FairRidgeRegressor(sensitive=["sex"])
    path = model.path(FRAME, Y, unfairness=[0.05, 0.1])
    bands = path.bands().lower
    model.set_params(penalty="lasso", blind=True, predictor_penalty=9.0)
    np.testing.assert_array_equal(path.at(0.05).predict(FRAME), fitted().predict(FRAME))
    np.testing.assert_array_equal(path.bands().lower, bands)


def test_a_report_is_about_the_fit(tmp_path):
    options = {"cv": 0, "bootstrap": 0, "date": "today"}
    model = fitted()
    page = fairridge.report(model, FRAME, Y, **options).html
    new_rows = fairridge.report(model, FRAME, Y, new_rows=True, **options).html
    model.set_params(unfairness=0.9, definition="individual", blind=True)
    assert fairridge.report(model, FRAME, Y, **options).html == page
    assert fairridge.report(model, FRAME, Y, new_rows=True, **options).html == new_rows


@pytest.mark.parametrize(
    ("model", "after"),
    [
        (KomiyamaRegressor(0.05, sensitive=["sex"]), {"unfairness": 0.9, "ridge": 3.0}),
        (ZafarRegressor(5.0, bound="covariance", sensitive=["sex"]), {"bound": "correlation"}),
        (BarycenterRegressor(0.05, sensitive=["sex"]), {"unfairness": 0.9}),
    ],
)
def test_models_of_comparison_keep_their_fit(model, after):
    model = clone(model).fit(FRAME, Y)
    summary, html = str(model.summary()), model._repr_html_().partition("</table>")[0]
    model.set_params(**after)
    assert str(model.summary()) == summary
    assert model._repr_html_().partition("</table>")[0] == html


def test_classes_and_links_stay():
    hired = np.median(Y) < Y
    model = FairRidgeClassifier(0.05, sensitive=["sex"], link="cloglog").fit(FRAME, hired)
    summary, probabilities = str(model.summary(details=True)), model.predict_proba(FRAME)
    errors = model.inference(FRAME, hired).standard_errors
    model.set_params(link="probit", positive=False, class_weight="balanced")
    assert str(model.summary(details=True)) == summary
    np.testing.assert_array_equal(model.predict_proba(FRAME), probabilities)
    np.testing.assert_array_equal(model.inference(FRAME, hired).standard_errors, errors)
