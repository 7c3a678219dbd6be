"""Wherever the rows are, the model is the one that rows in memory give."""

import numpy as np
import pytest
from sklearn.base import clone

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    ZafarClassifier,
    sources,
)
from fairridge.fairness import StatisticalParity

from .conftest import COLUMNS, SENSITIVE, assert_same_model, columns_of

CASES = {
    "gaussian, weights and offset": (FairRidgeRegressor(0.1), "wage", "weight", "exposure"),
    "binomial, Tjur": (
        FairRidgeClassifier(0.2, definition=StatisticalParity(measure="tjur")),
        "hired", None, "exposure",
    ),
    "multinomial, offset": (FairRidgeClassifier(0.1), "job", None, "exposure"),
    "gamma": (FairRidgeRegressor(0.05, family="gamma"), "cost", "weight", "exposure"),
    "mean parity": (
        FairRidgeClassifier(0.02, definition="mean-parity"), "hired", "weight", "exposure",
    ),
    "tweedie": (FairRidgeRegressor(0.2, family="tweedie"), "cost", None, "exposure"),
}  # fmt: skip


def in_memory(model, people, response, weight, offset):
    return clone(model).set_params(sensitive=SENSITIVE).fit(
        people[COLUMNS],
        people[response],
        sample_weight=None if weight is None else people[weight],
        offset=None if offset is None else people[offset],
    )  # fmt: skip


# These show that everything travels; the contract over pairs fits them to files.
ON_DASK = ("gaussian, weights and offset", "multinomial, offset", "mean parity")


@pytest.mark.parametrize(
    ("case", "home"),
    [(case, "dask" if case in ON_DASK else "parquet") for case in CASES],
    indirect=["home"],
)
@pytest.mark.slow
def test_fits_are_those_of_rows_in_memory(case, home, people):
    model, response, weight, offset = CASES[case]
    frame = people[columns_of(response, weight, offset)]
    elsewhere = home(frame, response=response, sensitive=SENSITIVE, weight=weight, offset=offset)
    ours = clone(model).fit(elsewhere)
    theirs = in_memory(model, people, response, weight, offset)
    assert_same_model(ours, theirs)
    new = people[COLUMNS].head(50)
    if hasattr(theirs, "classes_"):
        assert list(ours.classes_) == list(theirs.classes_)
        assert list(ours.predict(new)) == list(theirs.predict(new))
    else:
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-10)


def test_a_path_is_that_of_rows_in_memory(home, people):
    frame = people[columns_of("wage")]
    path = FairRidgeRegressor().path(home(frame, response="wage", sensitive=SENSITIVE))
    other = FairRidgeRegressor(sensitive=SENSITIVE).path(people[COLUMNS], people["wage"])
    for name in ("alpha", "beta", "intercept", "achieved", "deviance", "score"):
        np.testing.assert_allclose(
            getattr(path, name), getattr(other, name), atol=1e-11, rtol=1e-10
        )
    np.testing.assert_allclose(path.lambda_, other.lambda_, rtol=1e-10)
    assert_same_model(path.at(0.07), other.at(0.07))


def counted(source, monkeypatch):
    """Return the columns of every pass over a source."""
    seen, map_batches = [], source.map_batches
    monkeypatch.setattr(source, "map_batches", lambda w, c: seen.append(c) or map_batches(w, c))
    return seen


def test_gaussian_models_read_the_rows_once(people, monkeypatch):
    source = sources.frame(people[columns_of("wage")], response="wage", sensitive=SENSITIVE)
    seen = counted(source, monkeypatch)
    model = FairRidgeRegressor().fit(source)
    # The levels of two columns, then everything.
    assert seen == [("sex", "region"), ("sex", "skill", "age", "region", "years", "wage")]
    assert model.n_iter_ == 1


def test_each_step_of_a_glm_is_one_pass(people, monkeypatch):
    source = sources.frame(people[columns_of("hired")], response="hired", sensitive=SENSITIVE)
    seen = counted(source, monkeypatch)
    model = FairRidgeClassifier(0.05).fit(source)
    assert model.status_ == "converged"
    assert len(seen) == 1 + model.n_iter_
    # Moments tell all about the null model, and λ and the coefficients are found together.
    # Means and decisions by group are summed in one pass more.
    assert model.n_iter_ <= 8
    # Groups by age need S alone; the levels of columns come first.
    assert seen.count(("sex", "age", "hired")) == 1
    whole = ("sex", "skill", "age", "region", "years", "hired")
    assert seen.count(whole) == model.n_iter_ - 1
    X = people[columns_of("hired")].drop(columns="hired")
    here = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(X, people["hired"])
    assert model.dependence_ == pytest.approx(here.dependence_, rel=1e-8)
    assert model.group_differences_ == pytest.approx(here.group_differences_, rel=1e-8)


@pytest.mark.filterwarnings("ignore:.*almost linear combinations")
def test_ill_conditioned_columns_go_back_to_the_rows(home, people):
    frame = people[columns_of("wage")].assign(
        near=lambda d: d["skill"] + 1e-4 * np.sin(np.arange(len(d)))
    )
    ours = FairRidgeRegressor(0.05).fit(home(frame, response="wage", sensitive=SENSITIVE))
    X = frame.drop(columns="wage")
    theirs = FairRidgeRegressor(0.05, sensitive=SENSITIVE).fit(X, frame["wage"])
    assert ours.n_iter_ == theirs.n_iter_ == 3
    # Coefficients of columns that hardly differ have fewer digits; predictions do not.
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)
    np.testing.assert_allclose(ours.alpha_, theirs.alpha_, rtol=1e-10)
    np.testing.assert_allclose(ours.lambda_, theirs.lambda_, rtol=1e-10)


def test_collinear_and_constant_columns_are_warned_of(home, people):
    frame = people[columns_of("wage")].assign(same=3.7, twice=lambda d: 2.0 * d["skill"])
    source = home(frame, response="wage", sensitive=SENSITIVE)
    with pytest.warns(UserWarning, match="'same'") as ours_said:
        ours = FairRidgeRegressor(0.05).fit(source)
    with pytest.warns(UserWarning, match="'same'") as theirs_said:
        theirs = FairRidgeRegressor(0.05, sensitive=SENSITIVE).fit(
            frame.drop(columns="wage"), frame["wage"]
        )
    assert str(ours_said[0].message) == str(theirs_said[0].message)
    np.testing.assert_allclose(ours.beta_, theirs.beta_, atol=1e-10)


@pytest.mark.parametrize(
    ("model", "response"),
    [
        (KomiyamaRegressor(0.05), "wage"),
        (ZafarClassifier(0.05), "hired"),
    ],
)
def test_other_models_that_need_sums_only(people, model, response):
    source = sources.frame(people[columns_of(response)], response=response, sensitive=SENSITIVE)
    ours = clone(model).fit(source)
    theirs = clone(model).set_params(sensitive=SENSITIVE).fit(people[COLUMNS], people[response])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)
    assert ours.unfairness_ == pytest.approx(theirs.unfairness_, rel=1e-9)


def test_a_model_may_name_the_same_sensitive_columns(people):
    source = sources.frame(people[columns_of("wage")], response="wage", sensitive=SENSITIVE)
    named = FairRidgeRegressor(sensitive=SENSITIVE).fit(source)
    assert_same_model(named, FairRidgeRegressor().fit(source))
    with pytest.raises(ValueError, match="leave it out of the model"):
        FairRidgeRegressor(sensitive=["sex"]).fit(source)
