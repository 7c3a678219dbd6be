"""Parquet files as they come: many, small, empty, damaged, and in disagreement."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.sources import level_counts

from .conftest import (
    COLUMNS,
    ROLES,
    SENSITIVE,
    assert_same_model,
    columns_of,
    in_memory,
    write_files,
)


def fit(path, **options):
    return FairRidgeRegressor(0.05).fit(sources.parquet(path, **ROLES, **options))


# ------------------------------------------------------------------ finding files


def test_no_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        sources.parquet(tmp_path / "*.parquet", **ROLES)
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        sources.parquet(tmp_path, **ROLES)
    with pytest.raises(ValueError, match=r"gone\.parquet: there is no such file"):
        sources.parquet(tmp_path / "gone.parquet", **ROLES)


# ---------------------------------------------------------- row groups and levels


def test_empty_row_groups_and_files(small, tmp_path):
    table = pa.Table.from_pandas(small, preserve_index=False)
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for part in (table.slice(0, 0), table.slice(0, 150), table.slice(0, 0), table.slice(150)):
            writer.write_table(part)
    pq.write_table(table.slice(0, 0), tmp_path / "b.parquet")
    assert_same_model(fit(tmp_path), in_memory(small))


def test_text_without_rows_may_have_no_type(small, tmp_path):
    """As pandas 2 writes it, where other files have strings."""
    table = pa.Table.from_pandas(small, preserve_index=False)
    untyped = pa.schema([(f.name, pa.null() if f.name == "sex" else f.type) for f in table.schema])
    pq.write_table(untyped.empty_table(), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no rows with a positive weight"):
        fit(tmp_path)
    pq.write_table(table, tmp_path / "b.parquet")
    assert_same_model(fit(tmp_path), in_memory(small))


def test_declared_levels_keep_their_order_and_new_ones_follow(tmp_path):
    rng = np.random.default_rng(0)
    declared = [["low", "never", "high"], ["low", "never", "high"], ["low", "never", "high", "top"]]
    tables = []
    for k, levels in enumerate(declared):
        used = [level for level in levels if level != "never"]
        grade = pd.Categorical(rng.choice(used, 60), categories=levels)
        frame = pd.DataFrame({"grade": grade, "s": rng.normal(size=60)})
        frame["y"] = frame["s"] + (frame["grade"] == "high") + rng.normal(size=60)
        tables.append(pa.Table.from_pandas(frame, preserve_index=False))
        pq.write_table(tables[-1], tmp_path / f"{k}.parquet", row_group_size=25)
    model = FairRidgeRegressor().fit(sources.parquet(tmp_path, response="y", sensitive="s"))
    whole = pa.concat_tables(tables).unify_dictionaries()
    memory = FairRidgeRegressor(sensitive="s").fit(whole.select(["grade", "s"]), whole["y"])
    assert list(model.predictor_names_) == ["grade[never]", "grade[high]", "grade[top]"]
    assert model.beta_[0] == 0.0
    assert_same_model(model, memory)


def test_levels_of_rows_without_weight_are_not_there(small, tmp_path):
    frame = small.assign(w=1.0)
    frame.loc[frame.index[:5], ["sex", "w"]] = ["ghost", 0.0]
    folder = write_files(frame, tmp_path / "files", cuts=(0, 100))
    model = FairRidgeRegressor(0.05).fit(sources.parquet(folder, **ROLES, weight="w"))
    assert_same_model(model, in_memory(frame, sample_weight=frame["w"]))
    assert "sex[ghost]" not in model.sensitive_names_


def test_columns_with_dots_in_their_names(small, tmp_path):
    frame = small.rename(columns={"skill": "years.of.skill", "years": "years"})
    frame.to_parquet(tmp_path / "a.parquet")
    model = fit(tmp_path)
    assert "years.of.skill" in model.predictor_names_
    memory = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    assert_same_model(model, memory.fit(frame.drop(columns="wage"), frame["wage"]))


def test_too_many_levels(small, tmp_path, monkeypatch):
    frame = small.head(300).assign(key=[f"id {k}" for k in range(300)])
    frame.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(level_counts, "MAX_COUNTED_LEVELS", 200)
    with pytest.raises(ValueError, match="column 'key' has more than 200 levels"):
        fit(tmp_path)


# ------------------------------------------------------------------ damaged files


def test_truncated_and_foreign_files_are_named_together(folder):
    bad = folder / "part-3.parquet"
    bad.write_bytes(bad.read_bytes()[:-200])
    (folder / "part-9.parquet").write_text("hello")
    message = r"2 of 5 Parquet file\(s\).*part-3\.parquet: truncated.*part-9\.parquet: truncated"
    with pytest.raises(ValueError, match=message):
        sources.parquet(folder, **ROLES)


def test_a_file_damaged_inside_is_named_in_the_pass(small, tmp_path):
    folder = write_files(small, tmp_path / "files", cuts=(0, 200), compression="zstd")
    bad = folder / "part-1.parquet"
    content = bytearray(bad.read_bytes())
    content[40:1000] = bytes(960)
    bad.write_bytes(content)
    source = sources.parquet(folder, **ROLES)
    with pytest.raises(ValueError, match=r"part-1\.parquet cannot be read from row 0 on"):
        FairRidgeRegressor().fit(source)


def test_files_that_disagree_are_named_together(folder, small):
    small.head(10).drop(columns="skill").to_parquet(folder / "part-7.parquet")
    small.head(10).assign(age="old").to_parquet(folder / "part-8.parquet")
    with pytest.raises(ValueError, match="cannot be used") as error:
        sources.parquet(folder, **ROLES)
    message = str(error.value)
    assert "part-7.parquet: has no column 'skill'" in message
    found = r"part-8\.parquet: column 'age' has type (large_)?string, but double in others"
    assert re.search(found, message)


# ------------------------------------------------------------------ values and roles


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("skill", np.inf, "'skill' contains infinity"),
        ("sex", None, "'sex' has 1 missing value"),
        ("wage", np.nan, "'wage' contains NaN or missing"),
    ],
)
def test_missing_values_are_named_with_column_and_file(small, tmp_path, column, value, message):
    frame = small.copy()
    frame.loc[frame.index[333], column] = value
    folder = write_files(frame, tmp_path / "files", cuts=(0, 100, 300))
    with pytest.raises(ValueError, match=message) as error:
        fit(folder)
    assert "part-2.parquet, rows 0 to 99" in str(error.value)


def test_weights_must_be_weights(small, tmp_path):
    small.assign(w=-1.0).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="weight column 'w' has the negative value -1"):
        fit(tmp_path, weight="w")
    small.assign(w=[1.0] + [0.0] * (len(small) - 1)).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="at least two rows with positive weight"):
        fit(tmp_path, weight="w")


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"response": "pay", "sensitive": "age"}, "response names 'pay'; the columns are"),
        ({**ROLES, "weight": "age"}, "'age' is both in sensitive and in weight"),
        ({**ROLES, "sensitive": ["age", "age"]}, "'age' is in sensitive more than once"),
        ({"response": "wage"}, "name the sensitive column"),
        ({"sensitive": "age"}, "name the response column"),
        ({"response": ["wage", "years"], "sensitive": "age"}, "response names 2 columns"),
        ({"response": "sex", "sensitive": "age"}, "'sex'.* must hold numbers"),
    ],
)
def test_roles_that_make_no_sense(folder, roles, message):
    with pytest.raises(ValueError, match=message):
        FairRidgeRegressor().fit(sources.parquet(folder, **roles))


def test_columns_no_model_can_use(small, tmp_path):
    small.assign(born=pd.Timestamp("1990-01-01")).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 'born' has type timestamp.*leave it out"):
        sources.parquet(tmp_path, **ROLES)
    sources.parquet(tmp_path, **ROLES, predictors=["skill"])


def test_what_needs_memory_says_so(folder, people):
    source = sources.parquet(folder, **ROLES)
    model = FairRidgeRegressor().fit(source)
    with pytest.raises(TypeError, match="score needs rows in memory"):
        model.score(source, people["wage"])
    with pytest.raises(ValueError, match="leave y out"):
        model.fit(source, people["wage"])
    with pytest.raises(ValueError, match="leave sample_weight out"):
        model.fit(source, sample_weight=people["weight"])
    with pytest.raises(ValueError, match="not in memory"):
        FairRidgeRegressor(definition=lambda fit: float(fit.S.mean())).fit(source)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda n: ["yes"] * n, "one class only"),
        (lambda n: np.arange(n), "more than 1,000 different values"),
        (lambda n: [None] + ["yes", "no"] * (n // 2) + ["no"] * (n % 2 - 1), "missing values"),
    ],
)
def test_labels_that_are_no_classes(people, tmp_path, labels, message):
    frame = people[COLUMNS].head(1501).assign(label=labels(1501))
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=400)
    source = sources.parquet(tmp_path, response="label", sensitive=SENSITIVE, batch_rows=400)
    with pytest.raises(ValueError, match=message):
        FairRidgeClassifier().fit(source)


def test_labels_may_be_booleans(people, tmp_path):
    frame = people[columns_of("hired")].copy()
    frame["hired"] = frame["hired"] == "yes"
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1000)
    source = sources.parquet(tmp_path, response="hired", sensitive=SENSITIVE)
    model = FairRidgeClassifier(1.0).fit(source)
    memory = FairRidgeClassifier(1.0, sensitive=SENSITIVE).fit(frame[COLUMNS], frame["hired"])
    assert_same_model(model, memory)
    assert list(model.classes_) == list(memory.classes_)


def test_progress_shows_rows_per_second(folder, capsys):
    fit(folder, progress=True)
    shown = capsys.readouterr().err
    assert "pass 2" in shown
    assert "400/400" in shown
    assert "rows/s" in shown
