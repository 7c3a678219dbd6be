"""Inference asked of models: frames, sources, and rows that are not theirs."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    load,
    save,
    sources,
)
from tests.zoo import LateModule

dd = LateModule("dask.dataframe")
sm = LateModule("statsmodels.api")


def make_people(n=900, seed=4):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], n)
    age = rng.normal(40.0, 10.0, n)
    skill = rng.normal(size=n) + 0.5 * (sex == "male")
    region = rng.choice(["east", "south", "west"], n)
    eta = 0.5 * skill + 0.4 * (sex == "male") + 0.03 * (age - 40) + 0.3 * (region == "west")
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "skill": skill,
            "region": region,
            "wage": 10.0 + eta + rng.normal(size=n),
            "hired": np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
            "job": np.array(["cook", "clerk", "smith"])[
                (eta[:, None] * [0.0, 0.7, -0.5] + rng.gumbel(size=(n, 3))).argmax(axis=1)
            ],
            "visits": rng.poisson(np.exp(0.4 * eta)),
            "weight": rng.integers(0, 4, n).astype(float),
            "exposure": 0.1 * rng.normal(size=n),
        }
    )


COLUMNS = ["sex", "age", "skill", "region"]
SENSITIVE = ["sex", "age"]


@pytest.fixture(scope="module")
def people():
    return make_people()


def in_memory(model, frame, response, weighted=False, **options):
    model = model.set_params(sensitive=SENSITIVE)
    given = {"sample_weight": frame["weight"]} if weighted else {}
    model.fit(frame[COLUMNS], frame[response], **given)
    return model.inference(frame[COLUMNS], frame[response], **given, **options)


def test_names_are_those_of_encoded_columns(people):
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], people["wage"])
    found = model.inference(people[COLUMNS], people["wage"])
    assert found.names == ("(intercept)", *model.coef_names_)
    np.testing.assert_allclose(found.estimate[1:], model.coef_)
    np.testing.assert_allclose(found.estimate[0], model.intercept_)
    assert "FairRidgeRegressor" in str(found)
    classes = in_memory(FairRidgeClassifier(0.02), people, "job")
    assert classes.names[6].endswith(" → cook")


def test_other_rows_are_refused(people):
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], people["wage"])
    for other in (people.iloc[:-1], people.assign(wage=people["wage"][::-1].to_numpy())):
        with pytest.raises(ValueError, match="not the rows that the model was fitted to"):
            model.inference(other[COLUMNS], other["wage"])


def test_offsets_are_part_of_the_rows(people):
    model = FairRidgeRegressor(0.02, family="poisson", sensitive=SENSITIVE)
    data = people[COLUMNS], people["visits"]
    model.fit(*data, offset=people["exposure"])
    found = model.inference(*data, offset=people["exposure"])
    np.testing.assert_allclose(found.estimate[1:], model.coef_)
    with pytest.raises(ValueError, match="was fitted with an offset"):
        model.inference(*data)
    with pytest.raises(ValueError, match="not the rows"):
        model.inference(*data, offset=0.0 * people["exposure"])


MODELS = {
    "job": FairRidgeClassifier(0.005),
    "visits": FairRidgeRegressor(0.005, family="poisson", definition="individual"),
    "means": FairRidgeClassifier(0.005, definition="mean-parity"),
    "blind opportunity": FairRidgeClassifier(0.005, blind=True, definition="mean-opportunity"),
    "controls": FairRidgeClassifier(0.005, controls=["skill"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_rows_in_files_give_what_rows_in_memory_give(people, tmp_path, kind):
    response, weighted = kind if kind in people else "hired", kind == "visits"
    for k in range(3):
        part = people.iloc[300 * k : 300 * k + 300]
        part[[*COLUMNS, response, "weight"]].to_parquet(tmp_path / f"part-{k}.parquet")
    source = sources.parquet(
        tmp_path, response=response, sensitive=SENSITIVE, predictors=["skill", "region"],
        weight="weight" if weighted else None, batch_rows=200,
    )  # fmt: skip
    theirs = in_memory(clone(MODELS[kind]), people, response, weighted)
    ours = clone(MODELS[kind]).fit(source).inference(source)
    assert ours.names == theirs.names
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-5, atol=1e-9)
    assert ours.quantities.keys() == theirs.quantities.keys()
    for name, pair in theirs.quantities.items():
        assert ours.quantities[name] == pytest.approx(pair, rel=1e-5, abs=1e-9)


def make_isolated():
    rng = np.random.default_rng(0)
    s = (rng.random(1500) < 0.4).astype(float)
    frame = pd.DataFrame(
        {"s": s, "x": rng.normal(size=1500) + s, "g": rng.choice(["a", "b"], 1500)}
    )
    y = rng.random(1500) < 1 / (1 + np.exp(-frame["x"].to_numpy() - s))
    return frame, y


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_isolated_levels_have_no_standard_errors(definition):
    frame, y = make_isolated()
    frame.loc[:7, "g"], y[:8] = "z", False
    model = FairRidgeClassifier(0.02, sensitive=["s"], definition=definition)
    clusters = np.arange(1500) // 5
    found = model.fit(frame, y).inference(frame, y, clusters=clusters)
    np.testing.assert_allclose(found.estimate[1:], model.coef_[0], rtol=1e-6)
    assert found.facts.n_rows == 1492
    line = next(line for line in str(found).splitlines() if line.startswith("g[z]"))
    assert line.split() == ["g[z]", f"{model.coef_[0, -1]:.4g}", "isolated"]
    assert np.isnan(found.confidence_interval()[-1]).all()
    rest, kept = clone(model).fit(frame[8:], y[8:]), found.raw.isolated
    alone = rest.inference(frame[8:], y[8:], clusters=clusters[8:])
    # Under a bound on means the other rows make up for the half event that the level expects.
    moved = 0.0 if definition == "statistical-parity" else 0.5 / y.sum()
    covariance = found.covariance[np.ix_(~kept, ~kept)]
    close = np.sqrt(np.outer(*2 * (np.diag(alone.covariance),))) * (1e-7 + 10 * moved)
    assert (np.abs(covariance - alone.covariance) <= close).all()
    assert found.aic == pytest.approx(alone.aic, rel=1e-6 + moved)
    with pytest.raises(ValueError, match="cannot be tested: its level is isolated"):
        found.wald_test(["g[z]"])
    with pytest.raises(ValueError, match=r"isolated levels \('g\[z\]'\) have no intervals"):
        found.linear_predictor([[0.0, 0.0, 0.0, 1.0]])
    assert np.isfinite(found.linear_predictor([[0.0, 0.0, 1.0, 0.0]])).all()


def test_a_base_level_that_is_isolated():
    frame, y = make_isolated()
    frame.loc[:7, "g"], y[:8] = "0", False
    model = FairRidgeClassifier(0.02, sensitive=["s"]).fit(frame, y)
    with pytest.raises(ValueError, match="compare with a base level that is isolated"):
        model.inference(frame, y)


@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_separated_blind_models_are_refused():
    frame, y = make_isolated()
    frame.loc[:7, "g"], y[:8] = "z", False
    model = FairRidgeClassifier(1.0, sensitive=["s"], blind=True, separation="warn")
    model.fit(frame, y)
    with pytest.raises(ValueError, match=r"'g\[z\]' separate the responses"):
        model.inference(frame, y)


def test_frequency_weights_are_rows_alike(people):
    rows = people[people["weight"] > 0]
    many = rows.loc[rows.index.repeat(rows["weight"].astype(int))]
    found = in_memory(FairRidgeRegressor(0.02), rows, "wage", True, weights="frequency")
    written = in_memory(FairRidgeRegressor(0.02), many, "wage")
    np.testing.assert_allclose(found.covariance, written.covariance, rtol=1e-8)
    with pytest.raises(ValueError, match="weights='counts'"):
        in_memory(FairRidgeRegressor(0.02), rows, "wage", True, weights="counts")


def test_moments_of_the_fit_save_a_pass_and_change_nothing(people, tmp_path):
    data = people[COLUMNS], people["wage"]
    weighted = {"sample_weight": people["weight"] + 0.5}
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE).fit(*data, **weighted)
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert model._moments.n_rows == len(people)
    assert loaded._moments is None
    ours, theirs = (one.inference(*data, **weighted) for one in (model, loaded))
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-10)
    shifted = people[COLUMNS].assign(skill=people["skill"] + 0.001 * people["age"])
    for one in (model, loaded):
        with pytest.raises(ValueError, match="not the rows that the model was fitted to"):
            one.inference(*data, sample_weight=people["weight"] + 0.6)
        with pytest.raises(ValueError, match="not the rows"):
            one.inference(shifted, people["wage"], **weighted)


def test_rows_that_depend_on_each_other_must_be_in_memory(people, tmp_path):
    frame = people[COLUMNS].assign(wage=people["wage"], time=people["wage"], event=1.0)
    frame.sort_values("time", ascending=False).to_parquet(tmp_path / "part.parquet")
    roles = {"sensitive": SENSITIVE, "predictors": ["skill", "region"]}
    source = sources.parquet(tmp_path, response="wage", **roles)
    model = FairRidgeRegressor(0.02).fit(source)
    with pytest.raises(ValueError, match="clusters need the rows in memory"):
        model.inference(source, clusters=np.arange(len(people)) // 2)
    source = sources.parquet(tmp_path, response=["time", "event"], **roles)
    survival = FairRidgeSurvival(0.02).fit(source)
    with pytest.raises(ValueError, match="Cox model need the rows in memory"):
        survival.inference(source)


def test_missing_clusters_are_refused_and_their_rows_named(people):
    groups = pa.array([None if k == 3 else str(k // 5) for k in range(len(people))])
    for clusters in (groups.to_pylist(), groups.dictionary_encode()):
        with pytest.raises(ValueError, match=r"clusters contains .* in row 3 \(counted from 0\)"):
            in_memory(FairRidgeRegressor(0.02), people, "wage", False, clusters=clusters)
