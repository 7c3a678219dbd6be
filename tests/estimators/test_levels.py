"""Categorical columns: empty, unseen, rare and missing levels, their base and their number."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder

from fairridge import (
    FairRidgeClassifier,
    FairRidgeRegressor,
    KomiyamaRegressor,
    compare,
    cross_validate,
    load,
    save,
    sources,
)
from fairridge.data.columns import CategoricalColumn

N = 400


@pytest.fixture
def grades():
    """A numeric S, a categorical with the values b, c and d, and a response."""
    rng = np.random.default_rng(30)
    values = rng.choice(["b", "c", "d"], 60).tolist()
    s = rng.normal(size=60)
    y = s + np.array([{"b": 0.0, "c": 2.0, "d": -1.0}[value] for value in values])
    return {"s": s, "grade": values}, y + rng.normal(size=60)


@pytest.fixture(scope="module")
def rows():
    """Two columns of rare levels, another of two levels, and a response."""
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


def predictions(model, frame_of, column):
    return model.predict(frame_of({"s": np.zeros(len(column)), "grade": column}))


def regressor(**options):
    return FairRidgeRegressor(0.1, sensitive=["s", "sex"], **options)


def levels(model, column):
    return [name for name in model.coef_names_ if name.startswith(column)]


# ---------------------------------------------------------------- levels without rows


@pytest.mark.parametrize(
    ("levels", "names", "empty"),
    [
        (["b", "a", "c", "d"], ["a", "c", "d"], "a"),
        (["z", "a", "d", "c", "b"], ["z", "a", "c", "b"], "z"),
    ],
)
def test_empty_levels_have_coefficient_zero_and_give_no_warning(
    grades, frame_of, categorical_of, levels, names, empty
):
    columns, y = grades
    used = [level for level in levels if level in "bcd"]
    full = FairRidgeRegressor(sensitive="s").fit(
        frame_of(columns | {"grade": categorical_of(columns["grade"], used)}), y
    )
    model = FairRidgeRegressor(sensitive="s").fit(
        frame_of(columns | {"grade": categorical_of(columns["grade"], levels)}), y
    )
    assert model.predictor_names_.tolist() == [f"grade[{name}]" for name in names]
    found = dict(zip(names, model.beta_, strict=True))
    assert all(found.pop(level) == 0.0 for level in levels if level not in "bcd")
    np.testing.assert_allclose(list(found.values()), full.beta_, rtol=1e-10)
    at = predictions(model, frame_of, categorical_of([used[0], empty], levels))
    assert at[0] == pytest.approx(at[1], rel=1e-12)


def test_many_levels_are_solved_as_their_indicators(oracle, assert_solves):
    rng = np.random.default_rng(32)
    values = np.r_[np.arange(40), rng.integers(0, 40, 360)]
    s = rng.normal(size=400) + 0.05 * values
    y = s + 0.1 * values + rng.normal(size=400)
    frame = pd.DataFrame({"s": s, "town": [f"t{value:02d}" for value in values]})
    model = FairRidgeRegressor(0.02, sensitive="s", predictor_penalty=3.0).fit(frame, y)
    X = (values[:, None] == np.arange(1, 40)).astype(float)
    assert_solves(model, oracle(s[:, None], X, y, 0.02, predictor_penalty=3.0))


# --------------------------------------------------------------------- unseen levels


def test_an_unseen_level_is_an_error_that_names_it(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns), y)
    with pytest.raises(
        ValueError, match=r"'grade' has the level 'q'.*'b', 'c', 'd'.*unknown='base'"
    ):
        predictions(model, frame_of, ["b", "q"])
    with pytest.raises(ValueError, match="unknown='x' is not known"):
        predictions(model.set_params(unknown="x"), frame_of, ["b", "q"])


@pytest.mark.parametrize(("sensitive", "unknown"), [("s", "mean"), ("grade", "base")])
def test_an_unseen_level_may_be_the_average_of_the_training_rows(
    grades, frame_of, sensitive, unknown
):
    columns, y = grades
    weight = np.arange(1.0, 61.0)
    model = FairRidgeRegressor(sensitive=sensitive, unknown=unknown)
    model.fit(frame_of(columns), y, sample_weight=weight)
    everyone = predictions(model, frame_of, columns["grade"])
    q, b = predictions(model, frame_of, ["q", "b"])
    np.testing.assert_allclose(q, np.average(everyone, weights=weight), rtol=1e-12)
    assert abs(q - b) > 0.1


def test_an_unseen_level_may_stand_for_the_base_in_use_not_for_the_first_declared(
    grades, frame_of, categorical_of
):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["a", "d", "c", "b"])
    model = FairRidgeRegressor(sensitive="s", unknown="base", predictor_penalty=1.0)
    model.fit(frame_of(columns | {"grade": grade}), y)
    q, d, b = predictions(model, frame_of, ["q", "d", "b"])
    assert q == d != b


def test_levels_are_remembered_by_value_not_by_code(grades, frame_of, categorical_of):
    columns, y = grades
    grade = categorical_of(columns["grade"], ["d", "c", "b"])
    model = FairRidgeRegressor(sensitive="s").fit(frame_of(columns | {"grade": grade}), y)
    in_order = predictions(model, frame_of, categorical_of(["b", "c", "d"], ["d", "c", "b"]))
    # A level that is declared and has no rows is no unseen level.
    recoded = predictions(model, frame_of, categorical_of(["b", "c", "d"], ["q", "b", "c", "d"]))
    as_text = predictions(model, frame_of, ["b", "c", "d"])
    np.testing.assert_array_equal(recoded, in_order)
    np.testing.assert_array_equal(as_text, in_order)


# ------------------------------------------------------------------------------ base


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
    assert levels(regressor(min_frequency=30).fit(*rows), "brand") == [
        "brand[BMW]", "brand[VW]", "brand[(other)]"
    ]  # fmt: skip
    # Even if it is the most frequent.
    many = regressor(min_frequency=150, base="most-frequent").fit(*rows)
    assert levels(many, "brand") == ["brand[(other)]"]
    assert levels(regressor(min_frequency=300).fit(*rows), "brand") == []


def test_the_order_of_rows_does_not_matter(rows):
    """Equal weights may differ in their last digits if they are added in another order."""
    weights = {"b": float(np.sum(np.full(30, 0.1))), "a": sum([0.1] * 30)}
    assert weights["a"] != weights["b"]
    for order in ("ab", "ba"):
        known = {level: weights[other] for level, other in zip("ab", order, strict=True)}
        column = CategoricalColumn.learn("c", known, None, base="most-frequent")
        assert column.levels[column.base] == "a"
    frame, y = rows
    order = np.random.default_rng(1).permutation(N)
    one = regressor(base="most-frequent", min_frequency=0.1).fit(frame, y)
    other = regressor(base="most-frequent", min_frequency=0.1).fit(frame.iloc[order], y.iloc[order])
    assert list(one.coef_names_) == list(other.coef_names_)


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


def test_a_rare_base_level_is_in_the_summary(rows):
    frame, y = rows
    brand = frame["brand"].where(frame.index > 2, "AC")  # three of 400 rows
    frame = frame.assign(brand=brand)
    text = str(regressor().fit(frame, y).summary())
    assert "brand[AC]" in text
    assert "0.75 % of the rows" in text
    for fixed in ({"base": "most-frequent"}, {"min_frequency": 5}):
        assert "of the rows" not in str(regressor(**fixed).fit(frame, y).summary())


# ----------------------------------------------------------------------- rare levels


@pytest.mark.parametrize("least", [20, 21, 0.05])
def test_levels_are_merged_as_scikit_learn_does(rows, least):
    frame, y = rows
    model = regressor(min_frequency=least).fit(frame, y)
    (found,) = OneHotEncoder(min_frequency=least).fit(frame[["brand"]]).infrequent_categories_
    kept = [level for level in ("Audi", "BMW", "Fiat", "Kia", "VW") if level not in found]
    assert levels(model, "brand") == [f"brand[{b}]" for b in [*kept[1:], "(other)"]]
    merged = frame.assign(brand=frame["brand"].where(~frame["brand"].isin(found), "Zuk"))
    np.testing.assert_allclose(
        model.predict(frame), regressor().fit(merged, y).predict(merged), rtol=1e-9
    )


def test_unknown_levels_are_other_whatever_else_they_would_be(rows):
    frame, y = rows
    model = regressor(min_frequency=30).fit(frame, y)
    new = frame.iloc[[0, 0, 0]].assign(brand=["Kia", "new", "(other)"])
    a, b, c = model.predict(new)
    assert a == b == c
    # A column without rare levels has no level "(other)".
    with pytest.raises(ValueError, match="'new', which was not there at fit"):
        model.predict(new.assign(fuel="new"))


def test_levels_of_sensitive_attributes_stay(rows):
    model = FairRidgeRegressor(0.1, sensitive=["brand"], min_frequency=0.2).fit(*rows)
    assert list(model.sensitive_names_) == [f"brand[{b}]" for b in ("BMW", "Fiat", "Kia", "VW")]


def test_weights_count_as_rows(rows):
    frame, y = rows
    weight = np.where(frame["brand"] == "Fiat", 10, 1)
    again = np.repeat(np.arange(N), weight)
    ours = regressor(min_frequency=85).fit(frame, y, sample_weight=weight)
    theirs = regressor(min_frequency=85).fit(frame.iloc[again], y.iloc[again])
    assert levels(ours, "brand") == levels(theirs, "brand")
    assert levels(ours, "brand") == ["brand[Fiat]", "brand[VW]", "brand[(other)]"]


@pytest.mark.parametrize("least", [0, "few", np.nan])
def test_what_is_no_frequency_is_refused(rows, least):
    with pytest.raises((TypeError, ValueError), match="min_frequency"):
        regressor(min_frequency=least).fit(*rows)


@pytest.mark.parametrize("options", [{"base": "most-frequent"}, {"min_frequency": 0.06}])
def test_moments_do_not_say_how_often_levels_are(rows, options):
    frame, y = rows
    source = sources.frame(frame.assign(y=y), response="y", sensitive="s")
    moments = sources.moments(source, level_counts=source.count_levels())
    (name,) = options
    with pytest.raises(ValueError, match=f"{name} needs the rows"):
        FairRidgeRegressor(0.1, **options).fit(moments)


# -------------------------------------------------------------------- missing values


def with_gaps(columns, name, rows):
    values = list(columns[name])
    for row in rows:
        values[row] = None
    return columns | {name: values}


def test_a_missing_level_is_a_level_of_its_own(grades, frame_of):
    columns, y = grades
    gaps = with_gaps(columns, "grade", range(0, 60, 7))
    model = FairRidgeRegressor(sensitive="s", missing="level").fit(frame_of(gaps), y)
    named = gaps | {"grade": ["zz" if grade is None else grade for grade in gaps["grade"]]}
    expected = FairRidgeRegressor(sensitive="s").fit(frame_of(named), y)
    assert model.coef_names_.tolist() == ["s", "grade[c]", "grade[d]", "grade[(missing)]"]
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(frame_of(gaps)), expected.predict(frame_of(named)), rtol=1e-12
    )


def test_a_missing_number_is_the_mean_and_a_column_that_says_so(grades, frame_of):
    columns, y = grades
    gaps = with_gaps(columns, "s", range(3, 60, 5))
    weight = np.arange(1.0, 61.0)
    model = FairRidgeRegressor(sensitive="grade", missing="level")
    model.fit(frame_of(gaps), y, sample_weight=weight)
    gone = np.array([value is None for value in gaps["s"]])
    mean = np.average(columns["s"][~gone], weights=weight[~gone])
    written = {"s": np.where(gone, mean, columns["s"]), "gone": gone * 1.0, "grade": gaps["grade"]}
    expected = FairRidgeRegressor(sensitive="grade")
    expected.fit(frame_of(written), y, sample_weight=weight)
    assert model.coef_names_.tolist() == ["s", "s[(missing)]", "grade[c]", "grade[d]"]
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_allclose(
        model.predict(frame_of(gaps)), expected.predict(frame_of(written)), rtol=1e-10
    )


def test_what_was_never_missing_at_fit_is_unknown_at_predict(grades, frame_of):
    columns, y = grades
    model = FairRidgeRegressor(sensitive="s", missing="level").fit(frame_of(columns), y)
    gap = frame_of(with_gaps(columns, "grade", [0]))
    with pytest.raises(ValueError, match=r"'grade' has the level '\(missing\)', which was not"):
        model.predict(gap)
    with pytest.raises(ValueError, match="'s' has 1 missing value"):
        model.predict(frame_of(with_gaps(columns, "s", [4])))
    model.set_params(unknown="base")
    base = frame_of(columns | {"grade": ["b", *columns["grade"][1:]]})
    np.testing.assert_array_equal(model.predict(gap), model.predict(base))


def test_rare_missing_values_are_merged_with_other_rare_levels(rows):
    frame, y = rows
    gaps = frame.assign(fuel=frame["fuel"].where(frame.index > 3, None))
    gaps.loc[[5, 6], "fuel"] = "rare"
    model = regressor(missing="level", min_frequency=5).fit(gaps, y)
    assert levels(model, "fuel") == ["fuel[petrol]", "fuel[(other)]"]
    a, b = (model.predict(gaps.assign(fuel=fuel)) for fuel in (None, "rare"))
    np.testing.assert_array_equal(a, b)


def test_a_column_without_any_number_is_an_error(rows):
    frame, y = rows
    with pytest.raises(ValueError, match="'x' has no value at all"):
        regressor(missing="level").fit(frame.assign(x=np.nan), y)


# ------------------------------------------------------------------- how many levels


def keys(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "key": [f"k{code:05d}" for code in codes],
            "x": rng.normal(size=n),
        }
    )
    return X, X["x"] + rng.normal(size=n)


@pytest.mark.parametrize(("n", "most"), [(2100, 1000), (100, 50), (12, 10)])
def test_too_many_levels_are_refused_by_name(n, most):
    X, y = keys(n, most + 1)
    message = rf"column 'key' has {most + 1:,} levels in {n:,} rows, such as 'k00000': .*max_levels"
    for frame in (X, X.astype({"key": "category"}), pl.from_pandas(X)):
        with pytest.raises(ValueError, match=message):
            FairRidgeRegressor(sensitive="sex").fit(frame, y)
    if n <= 100:
        model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0).fit(*keys(n, most))
        assert len(model.coef_) == most + 1


def test_users_can_allow_more_and_fewer(tmp_path):
    X, y = keys(60, 40)
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0, max_levels=None).fit(X, y)
    save(model, tmp_path / "m.json")
    assert load(tmp_path / "m.json").max_levels is None
    with pytest.raises(ValueError, match="column 'key' has 20 levels in 60 rows"):
        FairRidgeRegressor(sensitive="sex", max_levels=19).fit(*keys(60, 20))
    with pytest.raises(ValueError, match="max_levels=0 must be a whole number"):
        FairRidgeRegressor(sensitive="sex", max_levels=0).fit(X, y)


def test_every_way_to_a_fit_refuses(tmp_path):
    X, y = keys(100, 80)
    fair = FairRidgeRegressor(sensitive="sex")
    for run in (
        lambda: KomiyamaRegressor(sensitive="sex").fit(X, y),
        lambda: FairRidgeClassifier(sensitive="sex").fit(X, y > 0),
        lambda: fair.path(X, y),
        lambda: FairRidgeRegressor(sensitive="key").fit(X, y),
        lambda: FairRidgeRegressor().fit(X[["x"]], y, sensitive_features=X[["key"]]),
        lambda: cross_validate(fair, X, y, unfairness=[0.1], cv=2),
        lambda: compare(X, y, sensitive="sex", models={}),
    ):
        with pytest.raises(ValueError, match="column 'key' has 80 levels in 100 rows"):
            run()
    X, y = keys(3000, 1500)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    source = sources.parquet(tmp_path / "rows.parquet", response="y", sensitive="sex")
    with pytest.raises(ValueError, match="column 'key' has 1,500 levels, such as 'k00000'"):
        FairRidgeRegressor().fit(source)


def test_declared_levels_without_rows_do_not_count():
    X, y = keys(100, 20)
    declared = [f"k{code:05d}" for code in range(2000)]
    X["key"] = pd.Categorical(X["key"], categories=declared)
    model = FairRidgeRegressor(sensitive="sex", predictor_penalty=1.0).fit(X, y)
    assert len(model.coef_) == 2001
