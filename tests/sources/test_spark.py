"""Spark, where there is Java."""

import doctest
import os
import shutil
import sys

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit, sources
from fairridge.sources import _spark
from tests.zoo import LateModule

from .conftest import COLUMNS, SENSITIVE, assert_same_audit, assert_same_model, write_files

sql = LateModule("pyspark.sql")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    # Spark's own remarks about versions and sockets.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def session():
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
        builder = sql.SparkSession.builder.master("local[2]").appName("fairridge")
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "localhost",
            "spark.driver.memory": "512m",
            # Most of a short life is starting: compile little, collect simply.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        }.items():
            builder = builder.config(key, value)
        started = builder.getOrCreate()
        started.sparkContext.setLogLevel("OFF")
        yield started
        started.stop()


@pytest.fixture
def data(session, people, tmp_path):
    """The rows in three files, which Spark reads in partitions of its own."""
    frame = people.assign(region=people["region"].astype(str)).rename(columns={"years": "yrs.done"})
    return frame, session.read.parquet(str(write_files(frame, tmp_path / "files")))


NAMES = [name if name != "years" else "yrs.done" for name in COLUMNS]


def test_a_gaussian_path(data):
    frame, spark = data
    used = [*NAMES, "wage", "weight", "exposure"]
    source = sources.spark(
        spark.select(*[f"`{name}`" for name in used]),
        response="wage", sensitive=SENSITIVE, weight="weight", offset="exposure",
    )  # fmt: skip
    theirs = FairRidgeRegressor(sensitive=SENSITIVE)
    extras = {"sample_weight": frame["weight"], "offset": frame["exposure"]}
    expected = theirs.path(frame[NAMES], frame["wage"], **extras)
    found = FairRidgeRegressor().path(source)
    np.testing.assert_allclose(found.alpha, expected.alpha, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.deviance, expected.deviance, rtol=1e-10)
    assert_same_model(found.at(0.05), expected.at(0.05))


def test_a_logistic_fit_and_its_predictions(data, monkeypatch):
    # With so few sums allowed on the driver, they are added on the cluster first.
    monkeypatch.setattr(_spark, "DRIVER_SUMS", 1)
    frame, spark = data
    spark = spark.select(*[f"`{name}`" for name in (*NAMES, "hired")])
    source = sources.spark(spark, response="hired", sensitive=SENSITIVE)
    model = FairRidgeClassifier(1.0).fit(source)
    theirs = FairRidgeClassifier(1.0, sensitive=SENSITIVE).fit(frame[NAMES], frame["hired"])
    assert_same_model(model, theirs)
    found = model.predict_proba(source)
    assert found.columns[-2:] == ["probability_no", "probability_yes"]
    collected = found.toArrow()
    new = collected.select(NAMES)
    np.testing.assert_allclose(collected["probability_yes"], theirs.predict_proba(new)[:, 1])
    labels = model.predict(source).toArrow()
    assert labels["prediction"].to_pylist() == list(theirs.predict(labels.select(NAMES)))


def test_an_audit(data):
    frame, spark = data
    spark = spark.select(*[f"`{name}`" for name in (*NAMES, "hired", "weight")])
    roles = {"response": "hired", "sensitive": SENSITIVE, "weight": "weight"}
    source = sources.spark(spark, **roles)
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(frame[NAMES], frame["hired"])
    options = {"learned": False, "intersections": True}
    theirs = audit(
        frame["hired"],
        model.predict_proba(frame[NAMES]),
        sensitive_features=frame[SENSITIVE],
        sample_weight=frame["weight"],
        **options,
    )
    assert_same_audit(audit(source, model.predict_proba(source), **options), theirs)
    with pytest.raises(TypeError, match="what a model returns for it"):
        audit(source, spark)


def test_errors_say_what_is_wrong_with_the_data(data):
    _, spark = data
    spark = spark.select("age", "skill", "wage").withColumn(
        "skill", sql.functions.when(sql.functions.col("skill") < 2.5, sql.functions.col("skill"))
    )
    source = sources.spark(spark, response="wage", sensitive="age")
    with pytest.raises(ValueError, match=r"^partition \d+: Column 'skill' has \d+ missing values"):
        FairRidgeRegressor().fit(source)


def test_what_is_no_spark_frame(people):
    with pytest.raises(TypeError, match="takes a Spark DataFrame"):
        sources.spark(people, response="wage", sensitive=SENSITIVE)


def test_the_examples_run(session):
    """They take the session that is there."""
    found = doctest.testmod(_spark)
    assert found.attempted > 0
    assert found.failed == 0
