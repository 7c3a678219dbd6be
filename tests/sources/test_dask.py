"""Dask on a real cluster of processes, one of which may die."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from tests.zoo import LateModule

from .conftest import COLUMNS, SENSITIVE, assert_same_model, columns_of

config = LateModule("dask.config")
dd = LateModule("dask.dataframe")
distributed = LateModule("distributed")

# Dask calls pandas in a way that newer versions deprecate.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
PARTITIONS = 4


@pytest.fixture(scope="module")
def cluster():
    # Imported first: settings of a package that is not there yet would take all of its own along.
    assert distributed.LocalCluster
    settings = {"distributed.worker.daemon": True, "logging.distributed": "critical"}
    with (
        config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


def load(number, folder, pause):
    """Read one partition, and write a line to the log each time."""
    import pandas as pd

    with open(f"{folder}/log", "a", encoding="utf-8") as log:
        log.write(f"{number}\n")
    time.sleep(pause)
    return pd.read_parquet(f"{folder}/{number}.parquet")


def partitions(people, folder, pause=0.0):
    frame = people[columns_of("hired")]
    for number in range(PARTITIONS):
        frame.iloc[number::PARTITIONS].to_parquet(folder / f"{number}.parquet", index=False)
    meta = frame.head(0)
    return dd.from_map(load, range(PARTITIONS), folder=str(folder), pause=pause, meta=meta)


def reads(folder):
    log = folder / "log"
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


@pytest.fixture(scope="module")
def unconstrained(people):
    return FairRidgeClassifier(1.0, sensitive=SENSITIVE).fit(people[COLUMNS], people["hired"])


@pytest.mark.slow
def test_a_cluster_gives_the_same_model(cluster, people, tmp_path):
    chosen = {"response": "years", "sensitive": SENSITIVE, "predictors": ["skill", "region"]}
    model = FairRidgeRegressor().fit(sources.dask(partitions(people, tmp_path), **chosen))
    memory = FairRidgeRegressor(sensitive=SENSITIVE)
    memory.fit(people[["sex", "skill", "age", "region"]], people["years"])
    assert_same_model(model, memory)
    assert reads(tmp_path) == PARTITIONS * 2  # levels, then moments


@pytest.mark.slow
def test_rows_that_are_kept_on_the_cluster_are_read_once(cluster, people, unconstrained, tmp_path):
    kept = partitions(people, tmp_path).persist()
    model = FairRidgeClassifier(1.0).fit(sources.dask(kept, response="hired", sensitive=SENSITIVE))
    assert_same_model(model, unconstrained)
    assert model.n_iter_ > 2
    assert reads(tmp_path) == PARTITIONS


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(
    cluster, people, unconstrained, tmp_path
):
    done, killed = threading.Event(), []
    pids = list(cluster.run(os.getpid).values())

    def kill():
        # In the middle of the third pass: some partitions of it are read, others are not.
        while reads(tmp_path) < 2 * PARTITIONS + 2 and not done.is_set():
            time.sleep(0.005)
        if not done.is_set():
            os.kill(pids[0], signal.SIGKILL)
            killed.append(reads(tmp_path))

    collection = partitions(people, tmp_path, pause=0.02)
    source = sources.dask(collection, response="hired", sensitive=SENSITIVE)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        model = FairRidgeClassifier(1.0).fit(source)
    finally:
        done.set()
        killer.join()
    assert killed
    assert reads(tmp_path) > killed[0]  # the fit went on without the worker
    assert pids[0] not in cluster.run(os.getpid).values()
    assert_same_model(model, unconstrained)


@pytest.mark.slow
def test_data_errors_of_workers_arrive_as_they_are(cluster, people, tmp_path):
    collection = partitions(people, tmp_path)
    broken = collection.assign(skill=collection["skill"].where(collection["skill"] < 3.0))
    source = sources.dask(broken, response="hired", sensitive=SENSITIVE)
    with pytest.raises(ValueError, match=r"partition \d: Column 'skill' has \d+ missing value"):
        FairRidgeClassifier().fit(source)


@pytest.mark.slow
def test_predictions_are_lazy(people, tmp_path):
    frame = people[columns_of("job")].set_index(np.arange(len(people)) + 7)
    collection = dd.from_pandas(frame, npartitions=4, sort=False)
    source = sources.dask(collection, response="job", sensitive=SENSITIVE)
    model = FairRidgeClassifier(1.0).fit(source)
    labels = model.predict(source)
    assert isinstance(labels, dd.Series)
    pd.testing.assert_index_equal(labels.compute().index, frame.index)
    assert list(labels.compute()) == list(model.predict(frame[COLUMNS]))
    probabilities = model.predict_proba(source)
    assert list(probabilities.columns) == [f"probability_{c}" for c in model.classes_]
    np.testing.assert_allclose(probabilities.compute(), model.predict_proba(frame[COLUMNS]))
    scores = model.decision_function(sources.dask(collection[COLUMNS]))
    scores.to_parquet(tmp_path / "scores")
    np.testing.assert_allclose(
        pd.read_parquet(tmp_path / "scores"), model.decision_function(frame[COLUMNS])
    )


@pytest.mark.slow
def test_empty_partitions(people):
    frame = people[columns_of("wage")]
    collection = dd.from_pandas(frame, npartitions=4, sort=False)
    rich = collection[collection["wage"] > frame["wage"].quantile(0.2)]
    halves = dd.concat([rich, collection[collection["wage"] < -1e9]])
    model = FairRidgeRegressor().fit(sources.dask(halves, response="wage", sensitive=SENSITIVE))
    kept = frame[frame["wage"] > frame["wage"].quantile(0.2)]
    memory = FairRidgeRegressor(sensitive=SENSITIVE).fit(kept[COLUMNS], kept["wage"])
    assert_same_model(model, memory)
    predicted = model.predict(sources.dask(halves)).compute()
    np.testing.assert_allclose(predicted, memory.predict(kept[COLUMNS]), rtol=1e-10)


def test_categories_that_partitions_do_not_share(people):
    frame = people[columns_of("wage")].astype({"region": str}).sort_values("region")
    parts = [frame.iloc[:1500], frame.iloc[1500:]]
    collection = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    collection["region"] = collection["region"].astype("category")
    model = FairRidgeRegressor().fit(sources.dask(collection, response="wage", sensitive=SENSITIVE))
    frame = frame.astype({"region": "category"})
    memory = FairRidgeRegressor(sensitive=SENSITIVE).fit(frame[COLUMNS], frame["wage"])
    assert_same_model(model, memory)


def test_what_is_no_dask_collection(people):
    with pytest.raises(TypeError, match=r"takes a dask\.dataframe.*sources\.frame"):
        sources.dask(people, response="wage", sensitive=SENSITIVE)
