"""The data sets of the experiments, and whether they can be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairridge.datasets import (
    Dataset,
    DataUnavailableError,
    fetch_fairml,
    load_adult,
    load_bank,
    load_communities_crime,
)
from reproduction.settings import Floats, Settings

MISSING = ".rda is missing"


@dataclass(frozen=True, eq=False)
class Data:
    """A data set in its roles: `frame` holds predictors and sensitive attributes."""

    frame: pd.DataFrame
    labels: pd.Series
    sensitive: list[str]

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def S(self) -> Floats:
        """The sensitive attributes, encoded as the models encode them."""
        return encode(self.frame[self.sensitive])

    @cached_property
    def X(self) -> Floats:
        """The predictors, encoded as the models encode them."""
        return encode(self.frame.drop(columns=self.sensitive))

    @cached_property
    def y(self) -> Floats:
        """The response; of two classes the second, in alphabetical order, is 1."""
        if pd.api.types.is_numeric_dtype(self.labels):
            return self.labels.to_numpy(dtype=np.float64)
        codes = np.unique(self.labels.astype(str), return_inverse=True)[1]
        return codes.astype(np.float64)

    @cached_property
    def columns(self) -> Floats:
        """[S, X, y]."""
        return np.column_stack([self.S, self.X, self.y])


def encode(frame: pd.DataFrame, drop_first: bool = True) -> Floats:
    """Return numbers as they are, and an indicator for every level (but the first)."""
    columns = [
        pd.get_dummies(frame[[name]], drop_first=drop_first, dtype=np.float64) for name in frame
    ]
    return np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])


@dataclass(frozen=True)
class Source:
    """Where a data set comes from.

    `fetched` is the name of fairml's file, with the `options` of its task;
    `loader` loads what ships with the library instead. `sensitive` attributes
    and `response` replace the data set's own. Without `decided`, rows of levels
    that decide the response are left out. `paper` is what the paper says of it:
    rows × predictors.
    """

    fetched: str = ""
    options: tuple[tuple[str, str], ...] = ()
    loader: Callable[[], Dataset] | None = None
    sensitive: tuple[str, ...] | None = None
    response: str | None = None
    drop: tuple[str, ...] = ()
    decided: bool = True
    paper: str = ""


_RATE = (("response", "Installment_rate"),)

SOURCES = {
    "C&C": Source("communities.and.crime", paper="810 × 101"),
    "COMPAS": Source("compas", (("family", "gaussian"),), paper="5855 × 13"),
    "NLSY": Source("national.longitudinal.survey", paper="4908 × 13"),
    "LSAC": Source("law.school.admissions"),
    # The paper takes "the rate" as the response and counts 42 predictors, as this task has.
    "GCR": Source("german.credit", _RATE, paper="1000 × 42"),
    "ADULT": Source(loader=load_adult, sensitive=("sex", "age"), paper="30162 × 14"),
    # In three levels, with 166 people, at most one earns more than 50,000.
    "ADULT, isolated": Source(loader=load_adult, sensitive=("sex", "age"), decided=False),
    "BANK": Source(loader=load_bank, paper="41188 × 19"),
    "COMPAS, classes": Source("compas", (("family", "binomial"),)),
    # The same without the faults of fairml's files.
    "C&C, all rows": Source(loader=load_communities_crime),
    # What else "the rate" may mean: whether a loan was good.
    "GCR, credit risk": Source(
        "german.credit", (("family", "gaussian"), ("response", "Credit_risk"))
    ),
    "LSAC, race only": Source("law.school.admissions", sensitive=("race1",), drop=("age",)),
    # For the models that take categorical sensitive attributes only.
    "NLSY, gender": Source("national.longitudinal.survey", sensitive=("gender",)),
    "LSAC, race": Source("law.school.admissions", sensitive=("race1",)),
    "ADULT, sex": Source(loader=load_adult, sensitive=("sex",)),
    # fairml's own sample of the paper's examples.
    "vu.test": Source("vu.test", (("family", "gaussian"),)),
    "vu.test, classes": Source("vu.test", (("family", "binomial"),)),
}


def load(case: str, settings: Settings) -> Data:
    """Load a data set of an experiment; each process reads it once."""
    return _load(case, settings.data_home, settings.rows, settings.seed)


@lru_cache(maxsize=2)
def _load(case: str, data_home: str | None, rows: int | None, seed: int) -> Data:
    source = SOURCES[case]
    if source.loader is not None:
        data = source.loader()
    else:
        options = dict(source.options)
        data = fetch_fairml(source.fetched, data_home=data_home, progress=False, **options)
    frame, labels = data.X, data.y
    if source.response is not None:
        labels, frame = frame[source.response], frame.drop(columns=source.response)
    frame = frame.drop(columns=list(source.drop))
    if not source.decided:
        kept = ~decided_rows(frame, labels)
        frame, labels = frame[kept], labels[kept]
    if rows is not None and rows < len(frame):
        kept = np.sort(np.random.default_rng(seed).choice(len(frame), rows, replace=False))
        frame, labels = frame.iloc[kept], labels.iloc[kept]
    return Data(frame, labels, list(source.sensitive or data.sensitive))


def decided_rows(frame: pd.DataFrame, labels: pd.Series) -> pd.Series:
    """Return which rows have a level that decides the response but for at most one row.

    A single row is not enough to keep a coefficient from growing until the rows
    of its level, few as they are, take up what a bound on covariances or
    deviances allows.
    """
    decided = pd.Series(False, index=frame.index)
    second = labels.astype(str) == labels.astype(str).max()
    for name in frame.select_dtypes(exclude="number"):
        groups = second.groupby(frame[name].astype(str))
        events, size = groups.transform("sum"), groups.transform("size")
        decided |= np.minimum(events, size - events) <= 1
    return decided


def missing(cases: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return the data sets that cannot be had, each with its own reason.

    One download brings all of fairml's files, so it is tried once.
    """
    reasons: dict[str, str] = {}
    failed = False
    for case in cases:
        name = SOURCES[case].fetched if case in SOURCES else ""
        if not name:
            continue
        there = _in_folder(name, settings)
        if failed and not there:
            reasons[case] = name + MISSING
            continue
        try:
            load(case, settings)
        except ImportError as reason:
            reasons[case] = str(reason)
        except DataUnavailableError as reason:
            failed = failed or not there
            reasons[case] = str(reason) if there else name + MISSING
    return reasons


def advice(reasons: Iterable[str]) -> str:
    """Say how to get missing files, if any are."""
    if not any(reason.endswith(MISSING) for reason in reasons):
        return ""
    return (
        "fairml's files could not be downloaded. With a network, try again. Without, copy the "
        "missing ones from the data folder of fairml's source package into a folder, and name it "
        "by --data."
    )


def _in_folder(name: str, settings: Settings) -> bool:
    folder = settings.data_home or os.environ.get("FAIRRIDGE_DATA")
    return bool(folder) and Path(str(folder), f"{name}.rda").is_file()
