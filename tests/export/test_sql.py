"""Queries, run in DuckDB against `predict`."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_onnx, to_sklearn, to_sql
from fairridge.export.dialects import DIALECTS
from tests.zoo import LateModule

duckdb = LateModule("duckdb")
sqlglot = LateModule("sqlglot")


def run(query, frame, name="data"):
    with duckdb.connect() as connection:
        connection.register(name, frame)
        return connection.execute(query).df()


@pytest.fixture(scope="session")
def assert_agrees(expected_of, assert_same_numbers):
    """Return a check of a query's result against the model."""

    def check(out, model, X, **options):
        expected = expected_of(model, X, **options)
        if expected["prediction"].dtype.kind == "f":
            assert_same_numbers(out["prediction"], expected["prediction"])
        else:
            assert out["prediction"].tolist() == expected["prediction"].tolist()
        labels = [f"_{label}" for label in getattr(model, "classes_", [])]
        several = expected["linear_predictor"].ndim == 2
        suffixes = labels if several else [""]
        assert_same_numbers(
            out[[f"linear_predictor{suffix}" for suffix in suffixes]],
            expected["linear_predictor"].reshape(len(X), -1),
        )
        if labels:
            columns = [f"probability{suffix}" for suffix in labels[0 if several else 1 :]]
            assert_same_numbers(out[columns], expected["probabilities"][:, 0 if several else 1 :])

    return check


def test_queries_predict_what_the_model_predicts(model, workers, assert_agrees):
    assert_agrees(run(to_sql(model, "duckdb"), workers.X), model, workers.X)


def test_the_order_of_columns_in_the_table_does_not_matter(fitted, workers, assert_agrees):
    model = fitted("gaussian")
    assert_agrees(run(to_sql(model), workers.X.iloc[:, ::-1]), model, workers.X)


def test_arrays_are_called_by_position(workers, assert_agrees):
    X = workers.X[["age", "skill", "hours"]].to_numpy()
    model = FairRidgeRegressor(0.1, sensitive=[0]).fit(X, workers.y["gaussian"])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert_agrees(run(to_sql(model), frame), model, X)


def test_separate_sensitive_features_are_columns_of_the_same_table(workers, assert_agrees):
    S, X = workers.X[["sex", "age"]], workers.X[["skill", "region"]]
    model = FairRidgeClassifier(0.1).fit(X, workers.y["binomial"], sensitive_features=S)
    out = run(to_sql(model), workers.X)
    assert_agrees(out, model, X, sensitive_features=S)


def test_names_and_levels_cannot_break_out(nasty, assert_agrees):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    out = run(to_sql(model, keep=[nasty.X.columns[0]]), nasty.X)
    assert out[nasty.X.columns[0]].tolist() == nasty.X.iloc[:, 0].tolist()
    assert_agrees(out, model, nasty.X)


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    name=text.filter(lambda s: s and s.casefold() not in ("x", "prediction", "linear_predictor")),
    levels=st.lists(text, min_size=3, max_size=3, unique=True),
)
def test_any_name_and_any_levels_can_be_written(name, levels, assert_agrees):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=60), name: rng.choice(levels, 60)})
    X.loc[:2, name] = levels
    y = X["x"] + X[name].map(dict(zip(levels, (0.0, 1.0, -2.0), strict=True))).astype(float)
    model = FairRidgeRegressor(0.5, sensitive=["x"]).fit(X, y + rng.normal(size=60))
    columns = ", ".join(
        f"{DIALECTS['duckdb'].identifier(c)} {t}" for c, t in (("x", "DOUBLE"), (name, "VARCHAR"))
    )
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE data ({columns})")
        connection.executemany("INSERT INTO data VALUES (?, ?)", X.head(5).values.tolist())
        out = connection.execute(to_sql(model)).df()
    assert_agrees(out, model, X.head(5))


@pytest.mark.parametrize("unknown", ["error", "base"])
def test_unseen_levels_are_null_or_the_base_level(workers, unknown, assert_same_numbers):
    model = FairRidgeRegressor(0.1, sensitive=["sex"], unknown=unknown)
    model.fit(workers.X, workers.y["gaussian"])
    new = workers.X.head(4).astype({"region": object})
    new.loc[1, "region"] = "atlantis"
    new.loc[2, "region"] = None
    out = run(to_sql(model), new)["prediction"]
    known = new.loc[[0, 3]]
    assert_same_numbers(
        out[[0, 3]], model.predict(known.astype({"region": workers.X["region"].dtype}))
    )
    assert pd.isna(out[2])
    if unknown == "error":
        assert pd.isna(out[1])
    else:
        assert_same_numbers(out[[1]], model.predict(new.loc[[1]].assign(region="west")))


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial"])
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf])
def test_rows_that_predict_refuses_are_null(fitted, family, workers, value):
    model = fitted(family)
    rows = workers.X.head(3).assign(row=range(3))
    table = pa.Table.from_pandas(rows.drop(columns="skill"))
    skill = rows["skill"].tolist()
    skill[1] = value
    table = table.append_column("skill", pa.array(skill, pa.float64(), from_pandas=False))
    out = run(to_sql(model, keep=["row"]), table).set_index("row")
    assert out.loc[1].isna().all()
    assert out.loc[[0, 2]].notna().all(axis=None)


def test_a_declared_level_without_rows_counts_as_known(fitted, workers, assert_agrees):
    model = fitted("gaussian")
    new = workers.X.head(2).assign(region=pd.Categorical(["moon"] * 2, ["west", "moon"]))
    assert_agrees(run(to_sql(model), new), model, new)


def test_extreme_linear_predictors_stay_finite(workers):
    X = pd.DataFrame({"s": workers.X["age"], "x": workers.X["skill"]})
    far = pd.DataFrame({"s": [40.0] * 5, "x": [-5e3, -800.0, 0.0, 800.0, 5e3]})
    for family, y in (
        ("poisson", workers.y["poisson"]),
        ("quasi-binomial", workers.y["quasi-binomial"]),
    ):
        model = FairRidgeRegressor(0.1, sensitive=["s"], family=family).fit(X, y)
        out = run(to_sql(model), far)
        assert np.isfinite(out["prediction"]).all()
        np.testing.assert_allclose(out["prediction"], model.predict(far), rtol=1e-10)


def test_offsets_are_a_column(workers, assert_agrees):
    X, y = workers.X, workers.y["poisson"]
    exposure = np.linspace(-1.0, 1.0, len(X))
    model = FairRidgeRegressor(0.1, sensitive=["sex"], family="poisson").fit(X, y, offset=exposure)
    out = run(to_sql(model, offset="log exposure"), X.assign(**{"log exposure": exposure}))
    assert_agrees(out, model, X, offset=exposure)


def test_integer_and_boolean_levels_and_classes(workers):
    n = len(workers.X)
    rng = np.random.default_rng(2)
    X = workers.X[["skill", "sex"]].assign(grade=pd.Categorical(rng.choice([30, 7, 12], n)))
    for y in (rng.integers(0, 2, n) == 1, rng.integers(3, 5, n), rng.integers(3, 6, n)):
        model = FairRidgeClassifier(0.1, sensitive=["sex"]).fit(X, y)
        frame = X.astype({"grade": int})
        out = run(to_sql(model), frame)
        assert out["prediction"].tolist() == model.predict(X).tolist()


def test_tables_may_be_qualified_and_oddly_named(fitted, workers, assert_agrees):
    model = fitted("gaussian")
    query = to_sql(model, table=("main", 'odd "name"; --'))
    with duckdb.connect() as connection:
        connection.register("source", workers.X)
        connection.execute('CREATE TABLE "odd ""name""; --" AS SELECT * FROM source')
        out = connection.execute(query).df()
    assert_agrees(out, model, workers.X)


def test_names_a_database_would_confuse_are_refused(workers):
    X = workers.X[["skill", "sex"]].assign(Skill=workers.X["age"])
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match='"skill" and "Skill" have the same name in duckdb'):
        to_sql(model, "duckdb")
    assert '"Skill"' in to_sql(model, "postgres")
    apart = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(workers.X, workers.y["gaussian"])
    with pytest.raises(ValueError, match="results `Prediction` and `prediction`"):
        to_sql(apart, "spark", keep=["Prediction"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"skill": ""}}, "'' cannot be the name of a column"),
        ({"columns": {"skill": "a\0b"}}, "cannot be the name of a column"),
        ({"levels": {"f": "nul\0"}}, "has a NUL character"),
    ],
)
def test_what_sql_cannot_hold_is_refused(workers, change, message):
    X = workers.X[["skill", "sex"]].rename(columns=change.get("columns", {}))
    X["sex"] = X["sex"].replace(change.get("levels", {}))
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match=message):
        to_sql(model)


def test_levels_that_are_no_text_or_number_are_refused(workers):
    X = workers.X[["skill", "sex"]].assign(band=pd.cut(workers.X["age"], 3))
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match="is a Interval, which SQL cannot compare"):
        to_sql(model)


def test_unknown_dialects_are_refused(fitted):
    with pytest.raises(ValueError, match="dialect='db2' is not known; use one of 'bigquery'"):
        to_sql(fitted("gaussian"), "db2")


@pytest.mark.parametrize(
    ("dialect", "name", "level", "number"),
    [
        ("bigquery", '`a"b\\`c`', "'it\\'s \\\\ ${x}'", "-0.1e0"),
        ("duckdb", '"a""b`c"', "'it''s \\ ${x}'", "-0.1e0"),
        ("mysql", '`a"b``c`', "'it\\'s \\\\ ${x}'", "-0.1e0"),
        ("postgres", '"a""b`c"', "E'it''s \\\\ ${x}'", "-0.1e0::float8"),
        ("snowflake", '"a""b`c"', "'it\\'s \\\\ ${x}'", "'-0.1e0'::DOUBLE"),
        ("sqlserver", '"a""b`c"', "N'it''s \\ ${x}'", "-0.1e0"),
        ("spark", '`a"b``c`', "'it\\'s \\\\ \\u0024{x}'", "-0.1e0D"),
    ],
)
def test_dialects_quote_in_their_own_way(dialect, name, level, number):
    d = DIALECTS[dialect]
    assert d.identifier('a"b`c') == name
    assert d.literal("it's \\ ${x}") == level
    assert d.number(-0.1) == number
    assert d.literal(True) == ("1" if dialect == "sqlserver" else "TRUE")
    assert d.literal(np.int64(7)) == "7"


# What sqlglot calls them.
PARSERS = {name: {"sqlserver": "tsql"}.get(name, name) for name in DIALECTS}


def in_duckdb(query, dialect):
    """Translate a query into DuckDB's SQL."""
    if dialect == "oracle":  # sqlglot does not know literals of 64-bit floats
        query = re.sub(r"(?<=e0)d\b|(?<=e[+-]\d\d)d\b|(?<=e[+-]\d\d\d)d\b", "", query)
    (tree,) = sqlglot.parse(query, read=PARSERS[dialect])
    # DuckDB compares texts exactly, and knows neither collations nor N'text'.
    for node in list(tree.find_all(sqlglot.exp.Collate)):
        node.replace(node.this)
    for node in list(tree.find_all(sqlglot.exp.National)):
        node.replace(sqlglot.exp.Literal.string(node.name))
    for node in list(tree.find_all(sqlglot.exp.DataType)):
        if node.this == sqlglot.exp.DataType.Type.CHARACTER_SET:
            node.replace(sqlglot.exp.DataType.build("text"))
    return tree.sql("duckdb")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "multinomial"])
def test_every_dialect_means_the_same(dialect, family, fitted, workers, assert_agrees):
    model = fitted(family)
    query = in_duckdb(to_sql(model, dialect, keep=["hours"]), dialect)
    X = workers.X
    if not DIALECTS[dialect].booleans:
        X = X.assign(manager=X["manager"].astype(int))
    assert_agrees(run(query, X), model, workers.X)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("oracle", "spark")])
def test_no_dialect_lets_names_and_levels_break_out(dialect, nasty, assert_agrees):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive)
    X = nasty.X
    if DIALECTS[dialect].blanks == "pad":
        X = X.replace({" ": "blank"})
    query = in_duckdb(to_sql(model.fit(X, nasty.y), dialect), dialect)
    assert_agrees(run(query, X), model, X)


def test_levels_a_database_would_confuse_are_refused(workers):
    for dialect, level, message in (
        ("oracle", "", "column 'sex' has an empty text as a level, which is NULL in oracle"),
        ("sqlserver", "m  ", "levels of column 'sex' differ only in blanks at their end"),
    ):
        X = workers.X[["skill", "sex"]].copy()
        X.loc[:60, "sex"] = level
        model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
        with pytest.raises(ValueError, match=message):
            to_sql(model, dialect)
        assert to_sql(model, "duckdb")


def test_oracle_names_hold_no_quotes(nasty):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive).fit(nasty.X, nasty.y)
    with pytest.raises(ValueError, match="cannot be the name of a column in oracle"):
        to_sql(model, "oracle")


def test_spark_names_must_not_be_variables(workers):
    X = workers.X[["skill", "sex"]].rename(columns={"skill": "${secret}"})
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match="spark would replace the variable"):
        to_sql(model, "spark")


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_exactly(value):
    literal = DIALECTS["duckdb"].number(value)
    assert float(literal) == value
    assert re.fullmatch(r"-?[0-9.]+e[+-]?[0-9]+", literal)


def test_duckdb_reads_numbers_exactly():
    values = np.random.default_rng(1).normal(size=50) * 10.0 ** np.arange(-25, 25)
    literals = ", ".join(map(DIALECTS["duckdb"].number, values))
    out = duckdb.sql(f"SELECT unnest([{literals}]) AS v").df()["v"]
    np.testing.assert_array_equal(out, values)


def test_feature_maps_cannot_be_written(workers):
    from sklearn.preprocessing import SplineTransformer

    model = FairRidgeRegressor(0.1, sensitive=["sex"], predictor_map=SplineTransformer())
    model.fit(workers.X[["sex", "skill"]], workers.y["gaussian"])
    for export in (to_sql, to_sklearn, to_onnx, fairridge.attribution):
        message = rf"{export.__name__} needs a model without .* has a predictor_map"
        with pytest.raises(ValueError, match=message):
            export(model)
    with pytest.raises(ValueError, match=r"save needs a model without .* has a predictor_map"):
        fairridge.save(model, "model.json")
