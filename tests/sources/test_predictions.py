"""Predictions for rows in files: written in batches, beside columns that are kept."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from tests.zoo import LateModule

from .conftest import (
    COLUMNS,
    SENSITIVE,
    columns_of,
    in_memory,
    write_files,
)

dd = LateModule("dask.dataframe")


def test_predictions_are_written_in_batches(folder, small, tmp_path):
    model = in_memory(small)
    predictions = model.predict(sources.parquet(folder, batch_rows=33))
    path = predictions.write(tmp_path / "out.parquet", keep=["wage", "sex"])
    written = pd.read_parquet(path)
    assert list(written) == ["wage", "sex", "prediction"]
    np.testing.assert_allclose(written["prediction"], model.predict(small[COLUMNS]), rtol=1e-13)
    np.testing.assert_array_equal(written["wage"], small["wage"])
    assert sum(table.num_rows for table in predictions) == len(small)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["files", "out.parquet"]


@pytest.mark.slow
def test_classes_and_probabilities_are_predicted(people, tmp_path):
    folder = write_files(people[columns_of("job")], tmp_path / "files")
    source = sources.parquet(folder, response="job", sensitive=SENSITIVE)
    model = FairRidgeClassifier(1.0).fit(source)
    for method, name in (("predict_proba", "probability"), ("decision_function", "score")):
        written = pd.read_parquet(getattr(model, method)(source).write(tmp_path / "out.parquet"))
        assert list(written) == [f"{name}_{c}" for c in model.classes_]
        expected = getattr(model, method)(people[COLUMNS])
        np.testing.assert_allclose(written.to_numpy(), expected, rtol=1e-12)


def test_offsets_and_separate_attributes_are_found_among_the_columns(people, tmp_path):
    frame = people[columns_of("visits", offset="exposure")].head(500)
    folder = write_files(frame, tmp_path / "files", cuts=(0, 200))
    model = FairRidgeRegressor(0.5, family="poisson").fit(
        frame[["skill", "region", "years"]],
        frame["visits"],
        sensitive_features=frame[SENSITIVE],
        offset=frame["exposure"],
    )
    source = sources.parquet(folder, offset="exposure")
    written = pd.read_parquet(model.predict(source).write(tmp_path / "out.parquet"))
    new = {"sensitive_features": frame[SENSITIVE], "offset": frame["exposure"]}
    expected = model.predict(frame[["skill", "region", "years"]], **new)
    np.testing.assert_allclose(written["prediction"], expected, rtol=1e-13)


def test_predictions_that_cannot_be_made(folder, small, tmp_path):
    model = in_memory(small)
    source = sources.parquet(folder)
    with pytest.raises(ValueError, match="have no column 'id'"):
        model.predict(source).write(tmp_path / "out.parquet", keep=["id"])
    with pytest.raises(ValueError, match="lack column 'skill'"):
        model.predict(sources.parquet(folder, sensitive=SENSITIVE, predictors=["years"]))
    numbers = small[["age", "years"]].to_numpy()
    unnamed = FairRidgeRegressor(sensitive=[0]).fit(numbers, small["wage"])
    with pytest.raises(ValueError, match="without column names"):
        unnamed.predict(source)
    small.head(5).assign(sex="ghost").to_parquet(folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"part-9\.parquet.*level 'ghost'"):
        model.predict(sources.parquet(folder)).write(tmp_path / "out.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["files"]


def test_only_columns_of_the_model_matter_to_predictions(folder, small, tmp_path):
    model = in_memory(small)
    new = small.drop(columns="wage").assign(when=pd.Timestamp("2020-01-01"), note="hello")
    write_files(new, tmp_path / "new", cuts=(0, 150))
    new.head(5).assign(note=1.0).drop(columns="when").to_parquet(
        tmp_path / "new" / "part-2.parquet"
    )
    expected = model.predict(pd.concat([new, new.head(5)])[COLUMNS])
    source = sources.parquet(tmp_path / "new")
    found = np.concatenate([table["prediction"].to_numpy() for table in model.predict(source)])
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    with pytest.raises(ValueError, match=r"part-2\.parquet: has no column 'when'"):
        model.predict(source).write(tmp_path / "out.parquet", keep=["when"])
    for other in (sources.frame(new), sources.dask(dd.from_pandas(new, npartitions=2, sort=False))):
        found = model.predict(other)
        found = found["prediction"] if isinstance(other, sources.FrameRows) else found.compute()
        np.testing.assert_allclose(found, expected[:-5], rtol=1e-13)
    (tmp_path / "new" / "part-2.parquet").unlink()
    kept = model.predict(sources.parquet(tmp_path / "new")).write(
        tmp_path / "o.parquet", keep="when"
    )
    assert (pd.read_parquet(kept)["when"] == pd.Timestamp("2020-01-01")).all()


def test_columns_that_predictions_need_must_be_usable(folder, small, tmp_path):
    model = in_memory(small)
    small.assign(age=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="'age', which the model needs, holds neither numbers"):
        model.predict(sources.parquet(tmp_path / "a.parquet"))
    small.drop(columns="age").to_parquet(folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"part-9\.parquet: has no column 'age'"):
        model.predict(sources.parquet(folder))


def test_columns_to_keep(folder, small, tmp_path):
    model, source = in_memory(small), sources.parquet(folder)
    written = model.predict(source).write(tmp_path / "out.parquet", keep="wage")
    assert list(pd.read_parquet(written)) == ["wage", "prediction"]
    small.assign(prediction=1.0).to_parquet(tmp_path / "again.parquet")
    again = model.predict(sources.parquet(tmp_path / "again.parquet"))
    with pytest.raises(ValueError, match="column 'prediction' cannot be kept"):
        again.write(tmp_path / "out.parquet", keep=["wage", "prediction"])
    small.head(0).to_parquet(tmp_path / "none.parquet")
    none = model.predict(sources.parquet(tmp_path / "none.parquet"))
    table = pq.read_table(none.write(tmp_path / "out.parquet", keep=["wage", "sex"]))
    some = pq.read_table(
        model.predict(source).write(tmp_path / "some.parquet", keep=["wage", "sex"])
    )
    assert table.num_rows == 0
    assert table.schema.names == some.schema.names == ["wage", "sex", "prediction"]
    assert table.schema.field("wage").type == pa.float64()


def test_predictions_are_not_written_onto_their_rows(folder, small, tmp_path):
    """Nor into a folder that is read as a whole; the files are as they were."""
    predictions = in_memory(small).predict(sources.parquet(folder))
    first = min(folder.glob("*.parquet"))
    (tmp_path / "link.parquet").symlink_to(first)
    (tmp_path / "hard.parquet").hardlink_to(first)
    (tmp_path / "elsewhere").symlink_to(folder)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    for place in (first, tmp_path / "link.parquet", tmp_path / "hard.parquet"):
        with pytest.raises(ValueError, match="would be overwritten"):
            predictions.write(place)
    with pytest.raises(ValueError, match="in a folder of inputs"):
        predictions.write(tmp_path / "elsewhere" / "new.parquet")
    assert {file: file.read_bytes() for file in folder.iterdir()} == before
    alone = in_memory(small).predict(sources.parquet([first]))
    alone.write(folder / "new.parquet")  # of one file by name, the others are no inputs
