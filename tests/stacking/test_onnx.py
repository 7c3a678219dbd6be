"""Stacked models in ONNX predict what they predict."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, SplineTransformer

from fairridge.export import to_onnx
from fairridge.stacking import FairStackingClassifier, FairStackingRegressor
from fairridge.stacking.learners import Categories
from tests.stacking.test_stacking import TREE, N, encoder, people

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

OPTIONS = {"unfairness": 0.01, "cv": 2, "random_state": 0}
SMALL = {"max_iter": 3, "early_stopping": False}


@pytest.fixture(scope="module")
def rows():
    frame, eta, rng = people()
    missing = frame.assign(age=frame["age"].where(np.arange(N) % 9 > 0))
    missing.loc[::7, "skill"] = -9.0
    hired = np.where(rng.random(N) < 1 / (1 + np.exp(-eta)), "yes", "no")
    numbers = np.column_stack([frame["sex"] == "m", frame["skill"], frame["age"]]).astype(float)
    return {"frame": missing, "full": frame, "array": numbers, "eta": eta, "hired": hired}


def run(model, X):
    """Return the outputs of the graph for rows as `predict` takes them."""
    session = runtime.InferenceSession(to_onnx(model, X).SerializeToString())
    fed = {}
    for one in session.get_inputs():
        if one.name == "X":
            fed["X"] = X
        else:
            kind = object if one.type == "tensor(string)" else float
            fed[one.name] = X[one.name].astype(kind).to_numpy()[:, None]
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, fed), strict=True))


def trees(mask):
    return make_pipeline(
        Categories(), HistGradientBoostingClassifier(categorical_features=mask, **SMALL)
    )


def test_trees_with_categories_and_missing_values_are_exact(rows):
    X, y = rows["frame"], rows["hired"]
    model = FairStackingClassifier(trees([False, True, True, False]), sensitive="sex", **OPTIONS)
    model.fit(X, y)
    new = X.assign(
        town=X["town"].cat.add_categories("z") if hasattr(X["town"], "cat") else X["town"]
    )
    new.loc[:40, "town"] = "z"  # not there at fit
    found = run(model, new)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-12)
    assert found["prediction"][:, 0].tolist() == model.predict(new).tolist()


def test_splits_between_missing_and_all_levels_are_exact(rows):
    X, lost = rows["full"].copy(), np.arange(N) % 3 == 0
    X["town"] = X["town"].astype(object).where(~lost, None)
    y = rows["eta"] + 3.0 * lost
    model = FairStackingRegressor(sensitive="sex", missing="level", blind=True, **OPTIONS)
    model.fit(X, y)
    told = X.assign(town=X["town"].fillna("(missing)"))  # what the graph reads
    found = run(model, told)
    np.testing.assert_allclose(next(iter(found.values())).ravel(), model.predict(X), atol=1e-12)


def imputer():
    """Missing numbers, one of them with a code, are filled in; levels become columns."""
    return make_column_transformer(
        (SimpleImputer(), ["age"]),
        (SimpleImputer(missing_values=-9.0, strategy="median"), ["skill"]),
        (OneHotEncoder(), ["sex", "town"]),
    )


CASES = {
    "linear": ("array", {"sensitive": [0], "estimators": LogisticRegression()}),
    "pipeline": (
        "full", {"sensitive": "sex", "estimators": make_pipeline(encoder(), LogisticRegression())}
    ),
    "imputer": (
        "frame",
        {"sensitive": "sex", "estimators": make_pipeline(imputer(), LogisticRegression())},
    ),
    "several": (
        "array",
        {"sensitive": [0], "estimators": [
            LogisticRegression(), HistGradientBoostingClassifier(**SMALL)
        ]},
    ),
    "forest": ("array", {"sensitive": [0], "estimators": RandomForestClassifier(5, max_depth=3)}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_probabilities_are_those_of_the_model(rows, case):
    pytest.importorskip("skl2onnx")
    kind, options = CASES[case]
    X, y = rows[kind], rows["hired"]
    model = FairStackingClassifier(**OPTIONS, **options).fit(X, y)
    # Forests come back from skl2onnx in 32 bits, and so does what is filled in.
    expected = model.predict_proba(X)
    tolerance = 1e-6 if case in ("forest", "imputer") else 1e-12
    np.testing.assert_allclose(run(model, X)["probabilities"], expected, atol=tolerance)


@pytest.mark.slow
def test_what_does_not_convert_is_named(rows):
    X, y = rows["full"], rows["hired"]
    options = OPTIONS | {"estimators": trees([False, True, True, False])}
    mapped = FairStackingClassifier(
        sensitive="age", sensitive_map=SplineTransformer(), **options
    ).fit(X, y)
    with pytest.raises(ValueError, match="takes no sensitive_map"):
        to_onnx(mapped)
    crossed = FairStackingClassifier(sensitive=["sex", "town", ("sex", "town")], **options)
    with pytest.raises(ValueError, match="takes no intersections"):
        to_onnx(crossed.fit(X, y))
    with pytest.raises(ValueError, match="takes no offset"):
        to_onnx(crossed, offset="shift")
    own = make_pipeline(MinMaxScaler(), Own())
    model = FairStackingClassifier(own, sensitive=[0], **OPTIONS).fit(rows["array"], y)
    with pytest.raises(ValueError, match="cannot convert learner MinMaxScaler → Own"):
        to_onnx(model)
    forest = RandomForestClassifier(2, max_depth=2)
    model = FairStackingClassifier(forest, sensitive=[0], blind=True, **OPTIONS)
    with pytest.raises(ValueError, match="RandomForestClassifier and boosted trees cannot be in"):
        to_onnx(model.fit(rows["array"], y))
    common = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    levels = make_column_transformer((common, ["town"]))
    model = FairStackingClassifier(make_pipeline(levels, TREE), sensitive="sex", **OPTIONS)
    with pytest.raises(ValueError, match="→ DecisionTreeClassifier, in its step SimpleImputer: "):
        to_onnx(model.fit(X, y), X)


class Own(ComplementNB):
    """A learner that skl2onnx does not know."""
