"""Cross-validation of gaussian models on rows elsewhere, with the folds that rows in memory get."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor, cross_validate, sources
from fairridge.sources.folds import fold_numbers

from .conftest import COLUMNS, SENSITIVE, columns_of

BOUNDS = [0.0, 0.05, 0.5, 1.0]


def same_folds(frame, k, repeats, random_state, parts=None):
    """The folds of a frame whose rows are one part, or several."""
    seeds = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max, size=repeats)
    parts = [np.arange(len(frame))] if parts is None else parts
    repeated = []
    for seed in seeds:
        numbers = np.concatenate(
            [fold_numbers(int(seed), k, p, np.arange(len(part))) for p, part in enumerate(parts)]
        )
        repeated.append(
            [(np.flatnonzero(numbers != f), np.flatnonzero(numbers == f)) for f in range(k)]
        )
    return repeated


def assert_same_scores(ours, theirs, rtol=1e-10):
    # Folds of streamed rows are known by their moments, which decide nothing.
    a, b = ours.to_frame(), theirs.to_frame().drop(columns="decision_gap", errors="ignore")
    assert list(a) == list(b)
    for name in a:
        if a[name].dtype.kind == "f":
            np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=1e-11, err_msg=name)
        else:
            assert list(a[name]) == list(b[name]), name


MODELS = {
    "parity": FairRidgeRegressor(),
    "opportunity": FairRidgeRegressor(definition="equality-of-opportunity"),
    "penalized": FairRidgeRegressor(predictor_penalty=5.0),
}


def named(models):
    return {
        name: model.__class__(**model.get_params() | {"sensitive": SENSITIVE})
        for name, model in models.items()
    }


def test_scores_are_those_of_rows_in_memory(people):
    frame = people[columns_of("wage")]
    source = sources.frame(frame, response="wage", sensitive=SENSITIVE, batch_rows=900)
    ours = cross_validate(MODELS, source, unfairness=BOUNDS, cv=4, repeats=2, random_state=3)
    theirs = cross_validate(
        named(MODELS), frame[COLUMNS], frame["wage"], unfairness=BOUNDS,
        folds=same_folds(frame, 4, 2, 3),
    )  # fmt: skip
    assert_same_scores(ours, theirs)
    assert ours.loss_name == theirs.loss_name


def test_one_pass_for_all_folds_and_models(people, monkeypatch):
    frame = people[["age", "skill", "years", "wage"]]
    source = sources.frame(frame, response="wage", sensitive="age")
    seen = []
    map_batches = source.map_batches
    monkeypatch.setattr(source, "map_batches", lambda w, c: seen.append(c) or map_batches(w, c))
    cross_validate(MODELS, source, unfairness=BOUNDS, cv=5, repeats=2, random_state=0)
    assert len(seen) == 1


def test_a_second_pass_where_moments_lose_digits(people, monkeypatch):
    frame = people[columns_of("wage")].copy()
    frame["near"] = frame["skill"] + 1e-4 * np.sin(np.arange(len(frame)))
    frame["months"], sensitive = 12.0 * frame["age"], [*SENSITIVE, "months"]
    source = sources.frame(frame, response="wage", sensitive=sensitive, batch_rows=900)
    seen = []
    map_batches = source.map_batches
    monkeypatch.setattr(source, "map_batches", lambda w, c: seen.append(c) or map_batches(w, c))
    options = {"unfairness": BOUNDS}
    ours = cross_validate(FairRidgeRegressor(), source, cv=3, random_state=1, **options)
    assert len(seen) == 3  # levels, moments, roots
    theirs = cross_validate(
        FairRidgeRegressor(sensitive=sensitive), frame.drop(columns="wage"), frame["wage"],
        folds=same_folds(frame, 3, 1, 1), **options,
    )  # fmt: skip
    # Coefficients are determined to fewer digits here; what they predict is not.
    assert_same_scores(ours, theirs, rtol=1e-8)


def test_folds_are_random_reproducible_and_about_equal():
    numbers = fold_numbers(7, 5, 0, np.arange(100_000))
    counts = np.bincount(numbers, minlength=5)
    assert abs(counts - 20_000).max() < 5 * np.sqrt(100_000 * 0.2 * 0.8)
    np.testing.assert_array_equal(numbers[500:600], fold_numbers(7, 5, 0, np.arange(500, 600)))
    for other in (
        fold_numbers(8, 5, 0, np.arange(100_000)),
        fold_numbers(7, 5, 1, np.arange(100_000)),
    ):
        assert abs((numbers == other).mean() - 0.2) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv=1"),
        ({"folds": [([0, 1], [2, 3])]}, "use cv=k"),
        ({"y": [1.0]}, "leave y out"),
        ({"cv": 2000}, "leaves a fold without rows"),
    ],
)
def test_what_cannot_be_divided(people, options, message):
    source = sources.frame(people[columns_of("wage")], response="wage", sensitive=SENSITIVE)
    with pytest.raises(ValueError, match=message):
        cross_validate(FairRidgeRegressor(), source, unfairness=BOUNDS, **options)


def test_moments_have_no_folds(people):
    frame = people[["age", "skill", "wage"]]
    total = sources.moments(sources.frame(frame, response="wage", sensitive="age"))
    with pytest.raises(ValueError, match="moments cannot be divided"):
        cross_validate(FairRidgeRegressor(), total)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FairRidgeRegressor(family="poisson"), "only gaussian models"),
        (FairRidgeRegressor(definition="individual"), "definition='individual' looks at every row"),
        (FairRidgeRegressor(confidence=0.9), "confidence looks at every row"),
        (FairRidgeRegressor(sensitive="years"), "leave it out of the model"),
    ],
)
def test_models_that_need_rows(people, model, message):
    source = sources.frame(people[columns_of("wage")], response="wage", sensitive=SENSITIVE)
    with pytest.raises(ValueError, match=message):
        cross_validate(model, source, unfairness=BOUNDS)
