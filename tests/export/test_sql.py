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

from .formats import assert_same, in_sql, of_table, run_query

duckdb = LateModule("duckdb")
sqlglot = LateModule("sqlglot")


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    name=text.filter(lambda s: s and s.casefold() not in ("x", "prediction", "linear_predictor")),
    levels=st.lists(text, min_size=3, max_size=3, unique=True),
)
def test_any_name_and_any_levels_can_be_written(name, levels):
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
    assert_same(of_table(out, model), model, X.head(5))


@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
@pytest.mark.parametrize("value", [None, np.nan, -np.inf])
def test_rows_that_predict_refuses_are_null(fitted, family, workers, value):
    model = fitted(family)
    rows = workers.X.head(3).assign(row=range(3))
    table = pa.Table.from_pandas(rows.drop(columns="skill"))
    skill = rows["skill"].tolist()
    skill[1] = value
    table = table.append_column("skill", pa.array(skill, pa.float64(), from_pandas=False))
    out = run_query(to_sql(model, keep=["row"]), table).set_index("row")
    assert out.loc[1].isna().all()
    assert out.loc[[0, 2]].notna().all(axis=None)


def test_tables_may_be_qualified_and_oddly_named(fitted, workers):
    model = fitted("gaussian")
    query = to_sql(model, table=("main", 'odd "name"; --'))
    with duckdb.connect() as connection:
        connection.register("source", workers.X)
        connection.execute('CREATE TABLE "odd ""name""; --" AS SELECT * FROM source')
        out = connection.execute(query).df()
    assert_same(of_table(out, model), model, workers.X)


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
        ({"skill": ""}, "'' cannot be the name of a column"),
        ({"f": "nul\0"}, "has a NUL character"),
    ],
)
def test_what_sql_cannot_hold_is_refused(workers, change, message):
    X = workers.X[["skill", "sex"]].rename(columns=change)
    X["sex"] = X["sex"].replace(change)
    model = FairRidgeRegressor(0.1, sensitive=["sex"]).fit(X, workers.y["gaussian"])
    with pytest.raises(ValueError, match=message):
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
@pytest.mark.parametrize("family", ["poisson", "multinomial"])
def test_every_dialect_means_the_same(dialect, family, fitted, workers):
    model = fitted(family)
    query = in_duckdb(to_sql(model, dialect, keep=["hours"]), dialect)
    X = workers.X
    if not DIALECTS[dialect].booleans:
        X = X.assign(manager=X["manager"].astype(int))
    assert_same(in_sql(model, X, query), model, workers.X)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in ("oracle", "spark")])
def test_no_dialect_lets_names_and_levels_break_out(dialect, nasty):
    model = FairRidgeClassifier(0.1, sensitive=nasty.sensitive)
    X = nasty.X
    if DIALECTS[dialect].blanks == "pad":
        X = X.replace({" ": "blank"})
    query = in_duckdb(to_sql(model.fit(X, nasty.y), dialect), dialect)
    assert_same(in_sql(model, X, query), model, X)


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
