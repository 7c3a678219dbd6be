"""Cox models on files that are sorted by time."""

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeSurvival, sources
from fairridge.estimators._training import read_training
from tests.zoo import LateModule

from .conftest import NUMBERS, write_files

dd = LateModule("dask.dataframe")

ROLES = {"response": ["time", "event"], "sensitive": ["s", "sex"]}
COLUMNS = ["s", "sex", "x1", "x2"]


def patients(n=2000, tied=False, seed=0):
    rng = np.random.default_rng(seed)
    s, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    x = rng.normal(size=(n, 2)) + 0.5 * s[:, None]
    time = rng.exponential(np.exp(-(0.4 * s + x @ [0.3, -0.2] + 0.3 * (sex == "m"))))
    censored = rng.exponential(1.5, n)
    frame = pd.DataFrame({"s": s, "sex": sex, "x1": x[:, 0], "x2": x[:, 1]})
    frame["time"], frame["event"] = np.minimum(time, censored), (time <= censored).astype(int)
    if tied:
        frame["time"] = np.ceil(5 * frame["time"]) / 5
    frame["w"] = rng.integers(0, 3, n).astype(float)
    frame["shift"] = 0.3 * rng.normal(size=n)
    return frame.sort_values("time", ascending=False, ignore_index=True)


@pytest.mark.parametrize(
    ("ties", "tied", "extras"),
    [("breslow", False, {}), ("efron", True, {"weight": "w", "offset": "shift"})],
)
@pytest.mark.slow
def test_one_sweep_is_as_good_as_all_rows(tmp_path, ties, tied, extras):
    frame = patients(tied=tied)
    used = frame[[*COLUMNS, "time", "event", *extras.values()]]
    folder = write_files(used, tmp_path / "files", cuts=(0, 1, 300, 300, 1100))
    ours = FairRidgeSurvival(0.05, ties=ties).fit(
        sources.parquet(folder, **ROLES, **extras, batch_rows=190)
    )
    theirs = FairRidgeSurvival(0.05, ties=ties, sensitive=["s", "sex"]).fit(
        frame[COLUMNS],
        frame[["time", "event"]],
        sample_weight=frame["w"] if extras else None,
        offset=frame["shift"] if extras else None,
    )
    for name in (*NUMBERS, "event_times_", "cumulative_hazard_"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-11, err_msg=name
        )


@pytest.mark.parametrize(("ties", "ends"), [("breslow", (855.0, 900.0)), ("efron", (900.0, 855.0))])
def test_large_linear_predictors_do_not_overflow(ends, ties):
    """Sums of e^η are rescaled whenever a larger η turns up."""
    frame = patients(400, tied=True)[[*COLUMNS, "time", "event"]]
    frame["shift"] = np.linspace(*ends, 400)
    streamed = read_training(
        FairRidgeSurvival(ties=ties),
        sources.frame(frame, **ROLES, offset="shift", batch_rows=37),
        None,
        None,
        None,
        None,
    )
    whole = read_training(
        FairRidgeSurvival(ties=ties, sensitive=["s", "sex"]),
        frame[COLUMNS],
        frame[["time", "event"]],
        None,
        None,
        frame["shift"],
    )
    center, raw = np.array([0.1, 0.5, 0.0, 0.2]), np.array([[0.3, -0.2, 5.0, 0.1]])
    ours, theirs = (
        training.engine.derivatives(training.response.family, center, np.zeros(1), raw, 2)
        for training in (streamed, whole)
    )
    np.testing.assert_allclose(ours.deviance, theirs.deviance, rtol=1e-12)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.hessian, theirs.hessian, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_rows_in_another_order_are_refused(tmp_path):
    frame = patients(300)[[*COLUMNS, "time", "event"]]
    increasing = frame.sort_values("time")
    folder = write_files(increasing, tmp_path / "files", cuts=(0, 100))
    with pytest.raises(ValueError, match=r"part-0\.parquet.*sort the files by time, descending"):
        FairRidgeSurvival().fit(sources.parquet(folder, **ROLES))
    between = pd.concat([frame.iloc[100:], frame.iloc[:100]])
    folder = write_files(between, tmp_path / "others", cuts=(0, 200))
    with pytest.raises(ValueError, match=r"part-1\.parquet.*sort the files by time, descending"):
        FairRidgeSurvival().fit(sources.parquet(folder, **ROLES))
    with pytest.raises(
        ValueError, match=r"needs rows in order of decreasing time.*sources\.parquet"
    ):
        FairRidgeSurvival().fit(sources.dask(dd.from_pandas(frame, npartitions=2), **ROLES))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("event", 0, "no events"),
        ("event", 2, "events must be 0 .* column 'event' has 2"),
        ("time", -1.0, "times must be positive; column 'time' has -1"),
        ("time", np.nan, "'time' contains NaN"),
    ],
)
def test_bad_times_and_events(column, value, message):
    frame = patients(300)[[*COLUMNS, "time", "event"]].assign(**{column: value})
    with pytest.raises(ValueError, match=message):
        FairRidgeSurvival().fit(sources.frame(frame, **ROLES))


def test_definitions_that_need_all_rows():
    from fairridge.fairness import StatisticalParity

    source = sources.frame(patients(300)[[*COLUMNS, "time", "event"]], **ROLES)
    with pytest.raises(ValueError, match="needs a binomial model"):
        FairRidgeSurvival(definition=StatisticalParity(measure="tjur")).fit(source)
    with pytest.raises(ValueError, match="CoxDistance looks at pairs"):
        FairRidgeSurvival(definition="individual").fit(source)
    with pytest.raises(ValueError, match=r"takes response=\[time, event\]"):
        FairRidgeSurvival().fit(sources.frame(patients(300), response="time", sensitive="s"))
