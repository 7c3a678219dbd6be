"""Inference asked of models: frames, sources, and rows that are not theirs."""

import pickle

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, sources
from fairridge.fairness import IndividualFairness
from fairridge.families import Poisson
from fairridge.inference.passes import row_terms
from fairridge.penalties import Ridge

from .problems import analyzed, draw


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
CASES = {
    "wage": FairRidgeRegressor(0.02),
    "hired": FairRidgeClassifier(0.02),
    "job": FairRidgeClassifier(0.02),
    "visits": FairRidgeRegressor(0.02, family="poisson", definition="individual"),
}


@pytest.fixture(scope="module")
def people():
    return make_people()


def in_memory(model, frame, response, weighted=False, **options):
    model = model.set_params(sensitive=SENSITIVE)
    given = {"sample_weight": frame["weight"]} if weighted else {}
    model.fit(frame[COLUMNS], frame[response], **given)
    return model.inference(frame[COLUMNS], frame[response], **given, **options)


@pytest.mark.parametrize("response", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_files_give_what_rows_in_memory_give(people, tmp_path, response, weighted):
    extra = ["weight"] if weighted else []
    for k in range(3):
        part = people.iloc[300 * k : 300 * k + 300]
        part[[*COLUMNS, response, *extra]].to_parquet(tmp_path / f"part-{k}.parquet")
    source = sources.parquet(
        tmp_path,
        response=response,
        sensitive=SENSITIVE,
        weight="weight" if weighted else None,
        batch_rows=200,
    )
    model = clone(CASES[response]).set_params(sensitive=None).fit(source)
    ours = model.inference(source)
    theirs = in_memory(clone(CASES[response]), people, response, weighted)
    assert ours.names == theirs.names
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-5, atol=1e-12)
    assert ours.quantities.keys() == theirs.quantities.keys()
    for name, pair in theirs.quantities.items():
        assert ours.quantities[name] == pytest.approx(pair, rel=1e-5, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("response", ["wage", "visits"])
def test_rows_on_dask(people, response):
    source = sources.dask(
        dd.from_pandas(people[[*COLUMNS, response]], npartitions=3, sort=False),
        response=response,
        sensitive=SENSITIVE,
    )
    model = clone(CASES[response]).set_params(sensitive=None).fit(source)
    theirs = in_memory(clone(CASES[response]), people, response)
    np.testing.assert_allclose(
        model.inference(source).covariance, theirs.covariance, rtol=1e-5, atol=1e-12
    )


def test_what_travels_to_rows_elsewhere_can_be_pickled():
    settings = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
    analysis = analyzed(Poisson(), draw(Poisson()), IndividualFairness(), 0.2, **settings)
    what = analysis.rows_of(analysis.branch, tuple(analysis.quantities().values()))
    moved = pickle.loads(pickle.dumps(what))
    engine = analysis.fit.engine
    np.testing.assert_array_equal(
        row_terms(engine, Poisson(), moved), row_terms(engine, Poisson(), what)
    )


def test_names_are_those_of_encoded_columns(people):
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], people["wage"])
    found = model.inference(people[COLUMNS], people["wage"])
    assert found.names == ("(intercept)", *model.coef_names_)
    np.testing.assert_allclose(found.estimate[1:], model.coef_)
    np.testing.assert_allclose(found.estimate[0], model.intercept_)
    assert "FairRidgeRegressor" in str(found)
    classes = in_memory(FairRidgeClassifier(0.02), people, "job")
    assert classes.names[6].startswith("cook: ")


def test_rows_of_zero_weight_are_absent(people):
    kept = people[people["weight"] > 0]
    groups = np.arange(len(people)) // 3
    whole = in_memory(FairRidgeRegressor(0.02), people, "wage", True, clusters=groups)
    part = in_memory(
        FairRidgeRegressor(0.02), kept, "wage", True, clusters=groups[people["weight"] > 0]
    )
    np.testing.assert_allclose(whole.covariance, part.covariance, rtol=1e-9)


def test_other_rows_are_refused(people):
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], people["wage"])
    for other in (people.iloc[:-1], people.assign(wage=people["wage"][::-1].to_numpy())):
        with pytest.raises(ValueError, match="not the rows that the model was fitted to"):
            model.inference(other[COLUMNS], other["wage"])


def test_moments_do_not_suffice(people, tmp_path):
    people[[*COLUMNS, "wage"]].to_parquet(tmp_path / "part.parquet")
    source = sources.parquet(tmp_path, response="wage", sensitive=SENSITIVE)
    moments = sources.moments(source)
    model = FairRidgeRegressor(0.02).fit(moments)
    with pytest.raises(ValueError, match="standard errors need the rows"):
        model.inference(moments)
    assert model.inference(source).estimate.shape == (6,)


def test_survival_models(people):
    times = np.random.default_rng(0).exponential(np.exp(-0.3 * people["skill"]))
    events = np.random.default_rng(1).random(len(people)) < 0.6
    y = np.column_stack([times, events])
    model = FairRidgeSurvival(0.02, sensitive=SENSITIVE).fit(people[COLUMNS], y)
    found = model.inference(people[COLUMNS], y)
    assert "(intercept)" not in found.names
    np.testing.assert_allclose(found.estimate, model.coef_)


def test_offsets_are_part_of_the_rows(people):
    model = FairRidgeRegressor(0.02, family="poisson", sensitive=SENSITIVE)
    data = people[COLUMNS], people["visits"]
    model.fit(*data, offset=people["exposure"])
    found = model.inference(*data, offset=people["exposure"])
    np.testing.assert_allclose(found.estimate[1:], model.coef_)
    with pytest.raises(ValueError, match="not the rows"):
        model.inference(*data)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"models with isolated levels \('g\[z\]'\); leave their rows out"),
        ({"definition": "mean-parity", "separation": "warn"}, "definition='mean-parity'"),
        ({"blind": True}, "blind models"),
        ({"controls": ["x"]}, "models with controls"),
    ],
    ids=["isolated", "means", "blind", "controls"],
)
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
def test_models_without_standard_errors_say_why(options, reason):
    rng = np.random.default_rng(0)
    s = (rng.random(1500) < 0.4).astype(float)
    frame = pd.DataFrame(
        {"s": s, "x": rng.normal(size=1500) + s, "g": rng.choice(["a", "b"], 1500)}
    )
    y = rng.random(1500) < 1 / (1 + np.exp(-frame["x"] - s))
    frame.loc[:7, "g"], y[:8] = "z", False
    model = FairRidgeClassifier(0.05, sensitive=["s"], **options).fit(frame, y)
    with pytest.raises(ValueError, match=f"no standard errors for {reason}"):
        model.inference(frame, y)
