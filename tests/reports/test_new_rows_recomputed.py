"""Numbers of a report on new rows, recomputed from its rows by other code."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score, roc_auc_score

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor

COLUMNS = ["sex", "age", "x", "z"]


def draw(rng, n, shift):
    sex = rng.choice(["f", "m"], n)
    age = rng.normal(40.0, 10.0, n).round()
    x = rng.normal(size=n) + 0.8 * (sex == "m") + shift
    z = rng.choice(["a", "b", "c"], n, p=[0.5 - shift / 2, 0.3, 0.2 + shift / 2])
    eta = x + 0.03 * (age - 40.0) + (z == "b") - 0.5
    noisy = eta + rng.logistic(size=n)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "x": x,
            "z": z,
            "two": np.where(noisy > 0.0, "yes", "no"),
            "three": np.where(noisy > 1.0, "hi", np.where(noisy > -1.0, "mid", "lo")),
            "gaussian": eta + rng.normal(size=n),
            "poisson": rng.poisson(np.exp(0.4 * eta)).astype(float),
            "weight": rng.integers(1, 4, n).astype(float),
            "offset": 0.2 * rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(5)
    return draw(rng, 600, 0.0), draw(rng, 400, 0.3)


def reported(model, halves, response, weighted, offset):
    """Fit to the first rows, report on the others, and return model, measures and drift."""
    old, new = halves
    options = [
        ({"sample_weight": rows["weight"]} if weighted else {})
        | ({"offset": rows["offset"]} if offset else {})
        for rows in halves
    ]
    model.fit(old[COLUMNS], old[response], **options[0])
    found = fairridge.report(
        model, new[COLUMNS], new[response], new_rows=True, bootstrap=0, **options[1]
    ).contents
    measures = {one.key: one.value for one in (*found.measures, *found.accuracy)}
    return model, measures, {one.name: one.psi for one in found.drift}


@pytest.mark.parametrize(("response", "weighted"), [("two", True), ("three", False)])
def test_classes(halves, response, weighted):
    new = halves[1]
    weight = new["weight"].to_numpy() if weighted else np.ones(len(new))
    model, found, _ = reported(
        FairRidgeClassifier(0.03, sensitive=["sex", "age"]), halves, response, weighted, False
    )
    P, classes = model.predict_proba(new[COLUMNS]), model.classes_
    truth = new[response]
    loss = 2.0 * log_loss(truth, P, labels=classes, sample_weight=weight)
    assert found["loss"] == pytest.approx(loss)
    decided = classes[P.argmax(axis=1)]
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, decided, sample_weight=weight))
    modeled = range(len(classes)) if len(classes) > 2 else [1]
    areas = [roc_auc_score(truth == classes[k], P[:, k], sample_weight=weight) for k in modeled]
    assert found["auc"] == pytest.approx(np.mean(areas))


@pytest.mark.parametrize(
    ("family", "weighted", "offset"),
    [("gaussian", True, True), ("poisson", False, False), ("poisson", True, True)],
)
def test_numbers(halves, family, weighted, offset):
    old, new = halves
    weight = new["weight"].to_numpy() if weighted else np.ones(len(new))
    model, found, drift = reported(
        FairRidgeRegressor(0.03, family=family, sensitive=["sex", "age"]),
        halves, family, weighted, offset,
    )  # fmt: skip
    columns = {"sex[m]": new["sex"] == "m", "z[b]": new["z"] == "b", "z[c]": new["z"] == "c"}
    columns |= {"age": new["age"], "x": new["x"]}
    terms = zip(model.coef_names_, model.coef_, strict=True)
    eta = model.intercept_ + sum(
        value * np.asarray(columns[name], dtype=float) for name, value in terms
    )
    shifted = eta + (new["offset"].to_numpy() if offset else 0.0)
    mean = np.exp(shifted) if family == "poisson" else shifted
    y = new[family].to_numpy()
    if family == "poisson":
        terms = 2.0 * (xlogy(y, y / mean) - (y - mean))
        assert found["loss"] == pytest.approx(np.average(terms, weights=weight))
        shift = new["offset"].to_numpy() if offset else 0.0 * weight
        null = np.exp(shift) * (weight @ y) / (weight @ np.exp(shift))
        rest = weight @ (xlogy(y, y / mean) - (y - mean))
        explained = 1.0 - rest / (weight @ (xlogy(y, y / null) - (y - null)))
        assert found["d_squared"] == pytest.approx(explained)
        assert "r_squared" not in found
    else:
        squares = mean_squared_error(y, mean, sample_weight=weight)
        assert found["rmse"] == pytest.approx(np.sqrt(squares))
        # R² is that of the response less its offset.
        less = y - (new["offset"].to_numpy() if offset else 0.0)
        assert found["r_squared"] == pytest.approx(r2_score(less, eta, sample_weight=weight))
    for name in ("sex", "z"):
        sizes = [
            rows.groupby(name)["weight"].sum() if weighted else rows[name].value_counts()
            for rows in (old, new)
        ]
        p, q = (size.sort_index() / size.sum() for size in sizes)
        assert drift[name] == pytest.approx(((q - p) * np.log(q / p)).sum())
