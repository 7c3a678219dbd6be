"""A bound has one result, whatever other bounds are asked for beside it."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, compare
from tests import zoo

# Levels that decide the response are warned of, and are what is difficult here.
pytestmark = pytest.mark.filterwarnings("ignore::fairridge.exceptions.DataWarning")
LISTS = ([0.02], [0.0, 1.0], [1.0, 0.3, 0.02])
DEFINITIONS = ("statistical-parity", "equality-of-opportunity", "individual", "mean-parity")
FAMILIES = ["gaussian", "binomial"]
FAMILIES += [pytest.param(name, marks=pytest.mark.slow) for name in ("poisson", "multinomial")]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(21)
    n = 160
    sex, age = rng.choice(["f", "m"], n), rng.normal(40, 9, n)
    skill = rng.normal(size=n) + 0.8 * (sex == "m") + 0.02 * age
    # Rare levels: one of them decides the response, and its coefficient has no maximum.
    job = rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05])
    eta = skill + 0.5 * (sex == "m") + rng.normal(size=n) - 1.0
    eta[job == "c"] = 5.0
    frame = pd.DataFrame({"sex": sex, "age": age, "skill": skill, "job": job})
    return frame, {
        "gaussian": eta,
        "poisson": rng.poisson(np.exp(np.clip(0.4 * eta, -2, 2))),
        "binomial": np.where(eta > 0, "yes", "no"),
        "multinomial": np.digitize(eta, [-0.5, 1.0]).astype(str),
    }


def model_of(family, definition):
    return zoo.model_of(family, sensitive=["sex", "age"], definition=definition)


def same(rows, **tolerance):
    """Assert that all records of a bound are the same."""
    for r in {row["unfairness"] for row in rows}:
        first, *others = [row for row in rows if row["unfairness"] == r]
        for other in others:
            for name in set(first) - {"seconds"}:
                where = (r, name)
                if isinstance(first[name], str | int):
                    assert other[name] == first[name], where
                elif name != "lambda_":  # infinite where the bound is 0
                    np.testing.assert_allclose(other[name], first[name], err_msg=str(where),
                                               **tolerance)  # fmt: skip


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_of_a_path(people, family, definition):
    X, responses = people
    rows = []
    for bounds in LISTS:
        path = model_of(family, definition).path(X, responses[family], unfairness=bounds)
        rows += [
            {"unfairness": r, "achieved": float(a), "deviance": float(d), "status": s}
            for r, a, d, s in zip(bounds, path.achieved, path.deviance, path.status, strict=True)
        ]
    same(rows, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_of_a_comparison(people, family):
    X, responses = people
    names = ["FRRM", "NCLM", "ZLM"] if family == "gaussian" else ["FGRRM", "ZLRM"]
    rows = []
    for bounds in LISTS:
        found = compare(
            X, responses[family], sensitive=["sex", "age"], unfairness=bounds, models=names, cv=2
        )
        assert not found.skipped
        rows += found.records
    for model in {row["model"] for row in rows}:
        same([row for row in rows if row["model"] == model], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_on_adult(reference):
    """Levels without events have no maximum, where the list of bounds once decided."""
    task, table = reference.task("adult")
    y, X = table[task["response"]], table[[*task["sensitive"], *task["predictors"]]]
    half = np.random.default_rng(0).permutation(len(X))
    folds = [(half[: len(X) // 2], half[len(X) // 2 :])]
    options = {"sensitive": task["sensitive"]}
    rows, compared = [], []
    for bounds in ([1.0], [0.0, 1.0], [0.05, 0.5, 1.0]):
        path = FairRidgeClassifier(**options).path(X, y, unfairness=bounds)
        rows.append({"unfairness": 1.0, "achieved": path.achieved[-1], "loss": path.deviance[-1]})
        found = compare(X, y, unfairness=bounds, models=["FGRRM"], folds=folds, **options)
        compared.append(found.records[-1])
    same(rows, rtol=1e-8)
    same(compared, rtol=1e-5, atol=1e-6)
