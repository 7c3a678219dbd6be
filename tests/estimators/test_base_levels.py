"""Which level the coefficients of a categorical column compare with."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.data.columns import CategoricalColumn
from fairridge.export import scorecard, to_onnx, to_sklearn, to_sql

from ..export.test_onnx import run as run_graph
from ..export.test_python_source import compiled, rows_of
from ..export.test_sql import run as run_query

N = 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    brands = np.repeat(["Audi", "BMW", "VW", "Kia", "Fiat"], [90, 80, 200, 20, 10])
    frame = pd.DataFrame(
        {
            "s": rng.normal(size=N),
            "brand": rng.permutation(brands),
            "fuel": rng.choice(["petrol", "diesel"], N, p=[0.6, 0.4]),
            "sex": rng.choice(["f", "m"], N, p=[0.3, 0.7]),
            "x": rng.normal(size=N),
        }
    )
    eta = frame["x"] + frame["s"] + 0.5 * (frame["brand"] == "VW") - (frame["brand"] == "Kia")
    return frame, eta + rng.normal(size=N)


def levels(model, column):
    return [name for name in model.coef_names_ if name.startswith(column)]


def regressor(**options):
    return FairRidgeRegressor(0.1, sensitive=["s", "sex"], **options)


def test_the_first_level_is_the_base_by_default(rows):
    model = regressor().fit(*rows)
    assert levels(model, "brand") == [f"brand[{b}]" for b in ("BMW", "Fiat", "Kia", "VW")]


@pytest.mark.parametrize("least", [None, 30])
@pytest.mark.parametrize("base", ["most-frequent", {"brand": "VW"}])
def test_another_level_may_be_the_base(rows, base, least):
    frame, y = rows
    model = regressor(base=base, min_frequency=least).fit(frame, y)
    rare = ["Fiat", "Kia"] if least is None else []
    kept = sorted(["Audi", "BMW", *rare]) + ([] if least is None else ["(other)"])
    assert levels(model, "brand") == [f"brand[{b}]" for b in kept]
    # Of predictors without a penalty the base does not matter to predictions.
    plain = regressor(min_frequency=least).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), plain.predict(frame), rtol=1e-9)
    fuel = "diesel" if base == "most-frequent" else "petrol"
    assert levels(model, "fuel") == [f"fuel[{fuel}]"]
    # The ridge on α sees how S is coded: its base is another one only if it is named.
    assert levels(model, "sex") == ["sex[m]"]
    assert levels(regressor(base={"sex": "m"}).fit(frame, y), "sex") == ["sex[f]"]


def test_merged_levels_are_never_the_base(rows):
    """Rows of rare levels would make all standard errors those of a rare group."""
    frame, y = rows
    model = regressor(min_frequency=30).fit(frame, y)
    assert levels(model, "brand") == ["brand[BMW]", "brand[VW]", "brand[(other)]"]
    inference = model.inference(frame, y)
    errors = dict(zip(inference.names, inference.standard_errors, strict=True))
    assert errors["brand[VW]"] < 0.8 * errors["brand[(other)]"]
    # Even if it is the most frequent.
    many = regressor(min_frequency=150, base="most-frequent").fit(frame, y)
    assert levels(many, "brand") == ["brand[(other)]"]
    alone = regressor(min_frequency=300).fit(frame, y)
    assert levels(alone, "brand") == []


def test_the_order_of_rows_does_not_matter(rows):
    """Equal weights may differ in their last digits if they are added in another order."""
    rng = np.random.default_rng(1)
    weights = {"b": float(np.sum(np.full(30, 0.1))), "a": sum([0.1] * 30)}
    assert weights["a"] != weights["b"]
    for order in ("ab", "ba"):
        known = {level: weights[other] for level, other in zip("ab", order, strict=True)}
        column = CategoricalColumn.learn("c", known, None, base="most-frequent")
        assert column.levels[column.base] == "a"
    frame, y = rows
    order = rng.permutation(N)
    for base in (None, "most-frequent"):
        names = [
            list(regressor(base=base, min_frequency=0.1).fit(f, z).coef_names_)
            for f, z in ((frame, y), (frame.iloc[order], y.iloc[order]))
        ]
        assert names[0] == names[1]


@pytest.mark.parametrize("base", [None, "most-frequent", {"brand": "BMW", "fuel": "petrol"}])
def test_rows_in_files_and_other_frames_have_the_same_base(rows, base, tmp_path):
    frame, y = rows
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive=["s", "sex"])
    there = FairRidgeRegressor(0.1, base=base, min_frequency=30).fit(source)
    here = regressor(base=base, min_frequency=30).fit(frame, y)
    polars = regressor(base=base, min_frequency=30).fit(pl.from_pandas(frame), y.to_numpy())
    assert list(there.coef_names_) == list(here.coef_names_) == list(polars.coef_names_)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8, atol=1e-10)
    if base is not None:
        moments = sources.moments(source, level_counts=source.count_levels())
        with pytest.raises(ValueError, match="base needs the rows"):
            FairRidgeRegressor(0.1, base=base).fit(moments)


@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
@pytest.mark.parametrize("least", [None, 30, 200])
@pytest.mark.parametrize("base", ["most-frequent", {"fuel": "petrol"}])
def test_every_export_predicts_the_same(rows, base, least, tmp_path):
    frame, y = rows
    options = {"sensitive": ["s"], "base": base, "min_frequency": least, "unknown": "base"}
    model = FairRidgeClassifier(0.1, **options).fit(frame, (y > 0).astype(int))
    new = frame.copy()
    new.loc[:3, "brand"] = "new"
    expected = model.predict_proba(new)[:, 1]
    query = run_query(to_sql(model, "duckdb"), new)
    np.testing.assert_allclose(query["probability_1"], expected, rtol=1e-9)
    graph = run_graph(to_onnx(model), new)
    np.testing.assert_allclose(graph["probabilities"][:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(to_sklearn(model).predict_proba(new)[:, 1], expected, rtol=1e-9)
    python = compiled(model)["predict"]
    for row, p in zip(rows_of(new.head(6)), expected, strict=False):
        assert python(row)["probability_1"] == pytest.approx(p, rel=1e-9)
    card = scorecard(model, rounded=False)
    np.testing.assert_allclose(card.probability(card.score(new)), expected, rtol=1e-9)
    fairridge.save(model, tmp_path / "model.json")
    loaded = fairridge.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(new)[:, 1], expected)
    assert loaded.base == base


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("largest", "base='largest' must be None"),
        (1, "base=1 must be None"),
        ({"brand": "Opel"}, "'Opel' of column 'brand', which has no rows of it.*merged"),
        ({"brand": "Kia"}, "merged into"),
        ({"brand": "[(]other[)]"}, "no rows"),
        ({"x": 1.0}, "'x', which holds numbers"),
        ({"color": "red"}, "'color', which is not there"),
    ],
)
def test_what_cannot_be_the_base_is_refused(rows, base, message):
    with pytest.raises(ValueError, match=message):
        regressor(base=base, min_frequency=30).fit(*rows)


def test_categories_of_numbers_are_found_as_text(rows):
    frame, y = rows
    doors = pd.Categorical(np.where(frame["x"] > 0, 4, 2), [2, 3, 4])
    model = regressor(base={"doors": "4"}).fit(frame.assign(doors=doors), y)
    assert levels(model, "doors") == ["doors[2]", "doors[3]"]
    with pytest.raises(ValueError, match="has no rows"):
        regressor(base={"doors": 3}).fit(frame.assign(doors=doors), y)


def test_a_rare_base_level_is_in_the_summary(rows):
    frame, y = rows
    brand = frame["brand"].where(frame.index > 2, "AC")  # three of 400 rows
    frame = frame.assign(brand=brand)
    text = str(regressor().fit(frame, y).summary())
    assert "brand[AC]" in text
    assert "0.75 % of the rows" in text
    for fixed in ({"base": "most-frequent"}, {"min_frequency": 5}):
        assert "of the rows" not in str(regressor(**fixed).fit(frame, y).summary())
