"""Audits of rows that are not in memory have the numbers of the same rows in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, audit, sources

from .conftest import COLUMNS, HOMES, SENSITIVE, assert_same_audit, make_people

METHODS = {"wage": "predict", "visits": "predict", "hired": "predict_proba", "job": "predict_proba"}
OPTIONS = {
    "crossed": {"intersections": True},
    "controls": {"controls": ["skill", "region"]},
    "reference": {"reference": {"sex": "male"}, "bins": 3, "small": 200},
    "low": {"favorable": "low", "confidence": 0.9, "threshold": 0.4},
}


def model_of(frame, response):
    if METHODS[response] == "predict_proba":
        model = FairRidgeClassifier(0.05, sensitive=SENSITIVE)
    else:
        family = "poisson" if response == "visits" else "gaussian"
        model = FairRidgeRegressor(0.05, sensitive=SENSITIVE, family=family)
    return model.fit(frame[COLUMNS], frame[response])


@pytest.mark.parametrize(
    ("where", "response", "weight", "option"),
    [
        pytest.param("parquet", "visits", "weight", "reference", marks=pytest.mark.slow),
        ("parquet", "hired", "weight", "controls"),
        ("parquet", "hired", None, "low"),
        pytest.param("parquet", "job", "weight", "crossed", marks=pytest.mark.slow),
        pytest.param("dask", "hired", "weight", "crossed", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:predictions rank rows")
def test_every_number_is_that_of_rows_in_memory(tmp_path, people, where, response, weight, option):
    options = OPTIONS[option] | ({"positive": "clerk"} if response == "job" else {})
    model, method = model_of(people, response), METHODS[response]
    columns = [*COLUMNS, response, *([weight] if weight else [])]
    roles = {"response": response, "sensitive": SENSITIVE, "weight": weight}
    source = HOMES[where](people[columns], tmp_path, **roles)
    ours = audit(source, getattr(model, method)(source), **options)
    if "controls" in options:
        options = options | {"controls": people[options["controls"]]}
    theirs = audit(
        people[response],
        getattr(model, method)(people[COLUMNS]),
        sensitive_features=people[SENSITIVE],
        sample_weight=people[weight] if weight else None,
        learned=False,
        **options,
    )
    assert_same_audit(ours, theirs)
    errors = vars(ours.score_bins)
    assert errors.pop("bins") <= len(people)
    assert set(errors.values()) == {0.0}  # every bin has one score


def test_labels_and_times_are_read_as_in_memory(people):
    frame, X = people[[*COLUMNS, "hired"]], people[COLUMNS]
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(X, frame["hired"])
    source = sources.frame(frame, response="hired", sensitive=SENSITIVE, batch_rows=900)
    known = {"sensitive_features": X[SENSITIVE], "learned": False}
    theirs = audit(frame["hired"], model.predict(X), **known)
    assert_same_audit(audit(source, model.predict(source)), theirs)

    rng = np.random.default_rng(0)
    times = pd.DataFrame({"time": -np.sort(-rng.exponential(size=len(X))) + 0.01})
    times["event"] = (rng.random(len(X)) < 0.7).astype(int)
    frame = X.assign(time=times["time"], event=times["event"])
    model = FairRidgeSurvival(0.05, sensitive=SENSITIVE).fit(X, times)
    source = sources.frame(frame, response=["time", "event"], sensitive=SENSITIVE, batch_rows=900)
    theirs = audit(times, model.predict(X), **known)
    assert_same_audit(audit(source, model.predict(source)), theirs)


def test_missing_attributes_are_a_group(people):
    frame = people[["sex", "age", "hired"]].assign(score=0.5 + 0.01 * (people["age"] - 40.0) / 40.0)
    rows = np.arange(len(frame))
    frame.loc[rows % 5 == 0, "sex"] = None
    frame.loc[rows % 7 == 0, "age"] = np.nan
    source = sources.frame(frame, response="hired", sensitive=SENSITIVE, batch_rows=900)
    ours = audit(source, frame["score"])
    theirs = audit(
        frame["hired"], frame["score"], sensitive_features=frame[SENSITIVE], learned=False
    )
    assert_same_audit(ours, theirs)
    assert "(missing)" in [group.group for group in ours["sex"].groups]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_groups_are_in_the_order_of_rows_in_memory(people, library):
    """Batches lack levels, and have them in another order than they are declared in."""
    order = np.lexsort([people["region"].cat.codes, people["sex"] == "female"])[::-1]
    frame = people[["region", "sex", "wage"]].iloc[order].reset_index(drop=True)
    frame["old"] = frame["wage"] > 11.0
    native = frame
    if library != "pandas":
        native = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    sensitive = ["region", "sex", "old"]
    source = sources.frame(
        native, sensitive=sensitive, response="wage", predictors=[], batch_rows=700
    )
    ours = audit(source, native.select(["wage"]) if library != "pandas" else native[["wage"]])
    theirs = audit(frame["wage"], frame["wage"], sensitive_features=frame[sensitive], learned=False)
    if library == "polars":  # whose categories have no order
        assert [group.group for group in ours["region"].groups] == ["a", "b", "c"]
    else:
        assert_same_audit(ours, theirs)


def test_predictions_are_compared_without_responses(people):
    model = model_of(people, "hired")
    source = sources.frame(people[COLUMNS], sensitive=SENSITIVE, batch_rows=900)
    ours = audit(source, model.decision_function(source))
    scores = model.decision_function(people[COLUMNS])
    theirs = audit(None, scores, sensitive_features=people[SENSITIVE], learned=False)
    assert_same_audit(ours, theirs, enough=100)


@pytest.mark.slow
def test_errors_of_bins_are_at_most_those_that_are_stated():
    people = make_people(60_000, seed=3)
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(people[COLUMNS], people["hired"])
    columns, options = [*COLUMNS, "hired"], {"response": "hired", "sensitive": SENSITIVE}
    source = sources.frame(people[columns], **options, batch_rows=9000)
    ours = audit(source, model.predict_proba(source))
    scores = model.predict_proba(people[COLUMNS])
    theirs = audit(people["hired"], scores, sensitive_features=people[SENSITIVE], learned=False)
    errors, found = ours.score_bins, dict[str, list[float]]()
    assert errors.bins == 4096
    for one, other in zip(ours.to_frame().iloc, theirs.to_frame().iloc, strict=True):
        assert one["count"] == other["count"]
        for name in ("auc", "ks_of_classes", "kolmogorov_smirnov", "wasserstein"):
            if name in one and one[name] == one[name]:
                found.setdefault(name, []).append(abs(one[name] - other[name]))
    for name, differences in found.items():
        assert 0.0 < max(differences) <= getattr(errors, name) < 0.002, name
    text = " ".join(str(ours).split())
    assert "come from 4,096 bins; off by at most: " in text
    assert f"KS {errors.kolmogorov_smirnov:.1e}" in text
    assert "no flexible learner" in text
    exact = [name for name in ours.to_frame().columns if name not in (*found, *AUC)]
    pd.testing.assert_frame_equal(
        ours.to_frame()[exact], theirs.to_frame()[exact], rtol=1e-9, check_dtype=False
    )


AUC = ("auc_low", "auc_high", "gini", "gini_low", "gini_high")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sensitive_features": [1]}, "sensitive_features is a column of a source"),
        ({"sample_weight": [1]}, "as weight=…"),
        ({"top": 0.2}, "top needs the rows in memory"),
        ({"controls": pd.DataFrame({"skill": [1]}, index=[0]).to_numpy()}, "names of its columns"),
    ],
)
def test_what_a_source_has_or_cannot_have_is_refused(people, given, message):
    model = model_of(people, "wage")
    source = sources.frame(people[[*COLUMNS, "wage"]], response="wage", sensitive=SENSITIVE)
    with pytest.raises(TypeError, match=message):
        audit(source, model.predict(source), **given)


def test_predictions_are_those_of_the_source(tmp_path, people):
    model = model_of(people, "wage")
    roles = {"response": "wage", "sensitive": SENSITIVE}
    source = HOMES["parquet"](people[[*COLUMNS, "wage"]], tmp_path, **roles)
    for wrong in (
        model.predict(people[COLUMNS]),
        model.predict(sources.parquet(tmp_path / "files", **roles)),
    ):
        with pytest.raises(TypeError, match="what a model returns for it"):
            audit(source, wrong)
    with pytest.raises(ValueError, match="controls names 'height'"):
        audit(source, model.predict(source), controls=["height"])
    none = sources.parquet(tmp_path / "files", response="wage")
    with pytest.raises(ValueError, match="name the sensitive column"):
        audit(none, model.predict(none))
    with pytest.raises(TypeError, match="needs sensitive_features"):
        audit(people["wage"], people["wage"])


def test_attributes_of_very_many_levels_are_refused():
    """No batch need have all of them: they lie in parts of 1,000 rows."""
    rng, n = np.random.default_rng(0), 9000
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "x": rng.normal(size=n)})
    frame["y"] = frame["x"] + rng.normal(size=n)
    model = FairRidgeRegressor(1.0, sensitive=["sex"]).fit(frame[["sex", "x"]], frame["y"])
    for name, levels in (("zip", 1500), ("job", 600), ("town", 600)):
        frame[name] = np.char.add("z", rng.integers(0, levels, n).astype(str))

    def audited(*sensitive, **options):
        source = sources.frame(frame, response="y", sensitive=sensitive, batch_rows=1000)
        return audit(source, model.predict(source), **options)

    with pytest.raises(ValueError, match=r"'zip' has too many levels.*at most 1,000.*arrays"):
        audited("zip", "sex")
    with pytest.raises(ValueError, match=r"at most 1,000 levels and numbers in all"):
        audited("job", "town")
    with pytest.raises(ValueError, match=r"crossed make more than 1,000 groups"):
        audited("job", "sex", intersections=True)


@pytest.mark.slow
def test_pieces_of_batches_have_the_numbers_of_all_rows(monkeypatch, people):
    """Levels are written out for some rows at a time."""
    from fairridge.metrics import batches

    model = model_of(people, "job")
    frame = people[[*COLUMNS, "job"]]
    source = sources.frame(frame, response="job", sensitive=SENSITIVE)
    options = {"positive": "clerk", "intersections": True}
    given = {"sensitive_features": people[SENSITIVE], "learned": False}
    whole = audit(people["job"], model.predict_proba(people[COLUMNS]), **given, **options)
    monkeypatch.setattr(batches, "PIECE_NUMBERS", 1)
    monkeypatch.setattr(batches, "FEWEST_PIECE_ROWS", 37)
    assert_same_audit(audit(source, model.predict_proba(source), **options), whole)
