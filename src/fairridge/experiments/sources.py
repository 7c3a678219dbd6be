"""The data sets of the experiments, and whether they can be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from fairridge.datasets import (
    Dataset,
    DataUnavailableError,
    fetch_fairml,
    load_adult,
    load_bank,
    load_communities_crime,
    load_german_credit,
)
from fairridge.experiments.settings import Settings

__all__ = ["SOURCES", "Data", "Source", "advice", "load", "missing"]

_MISSING = ".rda is missing"


@dataclass(frozen=True)
class Data:
    """A data set in its roles.

    Attributes
    ----------
    X : frame
        Predictors and sensitive attributes.
    y : series
        Response.
    sensitive : list of str
        Sensitive columns of X.
    """

    X: Any
    y: Any
    sensitive: list[str]


@dataclass(frozen=True)
class Source:
    """Where a data set comes from.

    Attributes
    ----------
    fetched : str or None
        Name of fairml's file; None for data that ship with the library.
    options : dict
        Which of its tasks.
    loader : callable or None
        Loads what ships.
    sensitive : tuple of str or None
        Sensitive attributes, where they are not all of the data set's own.
    response : str or None
        Response, where it is not the data set's own; that one is then left out.
    drop : tuple of str
        Columns left out.
    paper : str
        What the paper says of it: rows × predictors.
    """

    fetched: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    loader: Callable[[], Dataset] | None = None
    sensitive: tuple[str, ...] | None = None
    response: str | None = None
    drop: tuple[str, ...] = ()
    paper: str = ""


_RATE = (("response", "Installment_rate"),)
_GENDER = ("Age", "Gender", "Foreign_worker")

SOURCES = {
    "C&C": Source("communities.and.crime", paper="810 × 101"),
    "COMPAS": Source("compas", (("family", "gaussian"),), paper="5855 × 13"),
    "NLSY": Source("national.longitudinal.survey", paper="4908 × 13"),
    "LSAC": Source("law.school.admissions", paper=""),
    # The paper takes "the rate" as the response and counts 42 predictors, as this task has.
    "GCR": Source("german.credit", _RATE, paper="1000 × 42"),
    "ADULT": Source(loader=load_adult, sensitive=("sex", "age"), paper="30162 × 14"),
    "BANK": Source(loader=load_bank, paper="41188 × 19"),
    "COMPAS, classes": Source("compas", (("family", "binomial"),)),
    # The same without the faults of fairml's files.
    "C&C, all rows": Source(loader=load_communities_crime),
    "GCR, gender corrected": Source(
        loader=load_german_credit, sensitive=_GENDER, response="Installment_rate"
    ),
    # What else "the rate" may mean: whether a loan was good.
    "GCR, credit risk": Source(
        "german.credit", (("family", "gaussian"), ("response", "Credit_risk"))
    ),
    "LSAC, race only": Source("law.school.admissions", sensitive=("race1",), drop=("age",)),
    # For the models that take categorical sensitive attributes only.
    "NLSY, gender": Source("national.longitudinal.survey", sensitive=("gender",)),
    "LSAC, race": Source("law.school.admissions", sensitive=("race1",)),
    "ADULT, sex": Source(loader=load_adult, sensitive=("sex",)),
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
        assert source.fetched is not None
        options = dict(source.options)
        data = fetch_fairml(source.fetched, data_home=data_home, progress=False, **options)
    frame = nw.from_native(data.X, eager_only=True)
    y = nw.from_native(data.y, series_only=True)
    if source.response is not None:
        y, frame = frame.get_column(source.response), frame.drop(source.response)
    frame = frame.drop(*source.drop)
    if rows is not None and rows < len(frame):
        kept = np.sort(np.random.default_rng(seed).choice(len(frame), rows, replace=False))
        frame, y = frame[kept], y[kept]
    return Data(frame.to_native(), y.to_native(), list(source.sensitive or data.sensitive))


def missing(cases: list[str], settings: Settings) -> dict[str, str]:
    """Return the data sets that cannot be had, each with its own reason.

    One download brings all of fairml's files, so it is tried once.
    """
    reasons: dict[str, str] = {}
    failed = False
    for case in cases:
        name = SOURCES[case].fetched if case in SOURCES else None
        if name is None:
            continue
        there = _in_folder(name, settings)
        if failed and not there:
            reasons[case] = name + _MISSING
            continue
        try:
            load(case, settings)
        except ImportError as reason:
            reasons[case] = str(reason)
        except DataUnavailableError as reason:
            failed = failed or not there
            reasons[case] = str(reason) if there else name + _MISSING
    return reasons


def advice(reasons: Iterable[str]) -> str:
    """Say how to get missing files, if any are."""
    if not any(reason.endswith(_MISSING) for reason in reasons):
        return ""
    return (
        "fairml's files could not be downloaded. With a network, try again. Without, copy the "
        "missing ones from the data folder of fairml's source package into a folder, and name it "
        "by --data."
    )


def _in_folder(name: str, settings: Settings) -> bool:
    folder = settings.data_home or os.environ.get("FAIRRIDGE_DATA")
    return bool(folder) and Path(str(folder), f"{name}.rda").is_file()
