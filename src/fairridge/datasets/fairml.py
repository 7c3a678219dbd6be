"""The data sets of the R package fairml, with the roles the paper gives them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairridge.datasets.cache import SHA256, find_file, require
from fairridge.datasets.dataset import Column, Dataset, build_dataset, choose_backend

FAIRML_NAMES = tuple(SHA256)

Columns = dict[str, Column]


@dataclass(frozen=True)
class Task:
    """What a data set is used for, and what has to be done to it first."""

    family: str  # the family of models
    # Names of columns.
    response: tuple[str, ...]
    sensitive: tuple[str, ...]
    drop: tuple[str, ...] = ()  # columns that are not part of the task, such as other responses
    prepare: Callable[[Columns], Columns] = dict  # changes to the columns
    changes: str = "none"  # the same in words


def fetch_fairml(
    name: str,
    *,
    family: str | None = None,
    response: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    progress: bool = True,
) -> Dataset:
    """Return a data set exactly as the R package fairml 0.8 has it.

    These are the frames behind the published results [1]_, faults included;
    the guide to the data sets lists them. The file is taken from a folder or,
    once, from fairml's source package on CRAN, and its checksum is verified.

    Parameters
    ----------
    name : str
        One of `FAIRML_NAMES`; underscores may stand for dots.
    family, response : str, optional
        Which of several tasks: ``compas`` and ``german.credit`` are
        ``"gaussian"`` (0 and 1) or ``"binomial"``, ``vu.test`` has one response
        per family, ``german.credit`` and ``drug.consumption`` have two
        responses. By default the first task in the order of the paper.
    data_home : path, optional
        Folder that holds the ``.rda`` files; what it lacks is downloaded into
        it. By default the environment variable ``FAIRRIDGE_DATA``, or else the
        user's cache folder.
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.
    progress : bool
        Whether a download shows a progress bar.

    Returns
    -------
    Dataset
        The frame with its roles.

    Raises
    ------
    DataUnavailableError
        The file is in no folder and cannot be downloaded, or its checksum is wrong.
    ImportError
        The extra ``data`` is not installed.

    See Also
    --------
    load : Data sets that ship.
    FAIRML_NAMES : The names.

    References
    ----------
    .. [1] Scutari, M., Panero, F. and Proissl, M. (2022). Achieving fairness
       with a simple ridge penalty. Statistics and Computing, 32, 77.

    Examples
    --------
    >>> from fairridge.datasets import fetch_fairml
    >>> data = fetch_fairml("compas")  # doctest: +SKIP
    """
    name = name.replace("_", ".")
    if name not in TASKS:
        raise ValueError(f"fairml has no data set {name!r}; it has {', '.join(FAIRML_NAMES)}.")
    task = _choose(name, family, response)
    backend = choose_backend(backend)
    reader = require("rdata")  # before the download, which would be in vain without it
    columns = _read(reader.read_rda(find_file(name, data_home, progress)))
    columns = task.prepare({key: columns[key] for key in columns if key not in task.drop})
    return build_dataset(
        columns,
        name=name,
        response=task.response,
        sensitive=task.sensitive,
        family=task.family,
        description=_describe(name, task),
        backend=backend,
    )


def _choose(name: str, family: str | None, response: str | None) -> Task:
    for task in TASKS[name]:
        if family in (None, task.family) and response in (None, *task.response):
            return task
    known = "; ".join(f"{task.family}: {', '.join(task.response)}" for task in TASKS[name])
    raise ValueError(
        f"{name} is not used with family={family!r} and response={response!r}, but as {known}."
    )


def _read(objects: Mapping[str, Any]) -> Columns:
    """Take the columns from the one object of a file: a data frame, or a list of its parts."""
    (content,) = objects.values()
    if not isinstance(content, dict):
        return {str(key): _as_column(content[key].array) for key in content.columns}
    columns: Columns = {}
    for key, part in content.items():
        if part.ndim == 1:
            columns[str(key)] = _as_column(part)
        else:
            names = part.coords["dim_1"].values
            columns |= {str(n): Column(np.asarray(part)[:, j]) for j, n in enumerate(names)}
    return columns


def _as_column(values: Any) -> Column:
    if hasattr(values, "categories"):
        levels = tuple(str(level) for level in values.categories)
        return Column(np.asarray(values.codes), levels, bool(values.ordered))
    return Column(np.asarray(values))


def _complete_rows(columns: Columns) -> Columns:
    """Keep the rows without a missing number."""
    keep = np.logical_and.reduce([~np.isnan(column.values) for column in columns.values()])
    return {name: Column(column.values[keep]) for name, column in columns.items()}


def _zero_one(name: str, sensitive: tuple[str, ...]) -> Task:
    """Return the task of a factor with two levels as the numbers 0 and 1."""

    def prepare(columns: Columns) -> Columns:
        return columns | {name: Column(columns[name].values.astype(np.float64))}

    return Task("gaussian", (name,), sensitive, (), prepare, "the response as 0 and 1")


def _merge_levels(column: Column, names: tuple[str, ...]) -> Column:
    """Rename the levels one by one; levels of the same new name become one."""
    levels = tuple(dict.fromkeys(names))
    codes = np.array([levels.index(name) for name in names])
    return Column(codes[column.values], levels)


def _drug_levels(columns: Columns) -> Columns:
    """Merge rare levels, as the examples of fairml do."""
    merged = {"Education": _merge_levels(columns["Education"], _EDUCATION)}
    if "Heroin" in columns:
        merged["Heroin"] = _merge_levels(columns["Heroin"], _HEROIN)
    return columns | merged


def _describe(name: str, task: Task) -> str:
    return "\n\n".join(
        (
            f"{name}, as in the R package fairml 0.8 ({task.family} task).",
            f"Source: the file data/{name}.rda of fairml's source package on CRAN, "
            f"SHA-256 {SHA256[name]}.",
            "License: that of the owners of the data; see fairml's documentation.",
            "Citation: Scutari, M. (2023). fairml: a statistician's take on fair machine learning "
            "modelling. arXiv:2305.02009.",
            f"Changes: {task.changes}.",
        )
    )


_EDUCATION = (*["at.most.18y"] * 4, "university", "diploma", "bachelor", "master", "phd")
_HEROIN = ("Never Used", *["Used"] * 3, *["Used Recently"] * 3)
_DRUGS = (
    *("Alcohol", "Amphet", "Amyl", "Benzos", "Caff", "Cannabis", "Choc", "Coke", "Crack"),
    *("Ecstasy", "Heroin", "Ketamine", "Legalh", "LSD", "Meth", "Mushrooms", "Nicotine"),
    *("Semer", "VSA"),
)
_SCHOOL = "the levels of Education up to 18 years merged; Country and the other drugs left out"
_DRUG_S = ("Age", "Gender", "Race")
_GERMAN_S = ("Age", "Gender", "Foreign_worker")
_VU_S = ("S1", "S2", "S3")
_VU = ("gaussian", "binomial", "poisson", "multinomial", "time", "status")


def _without(names: tuple[str, ...], *kept: str) -> tuple[str, ...]:
    return tuple(name for name in names if name not in kept)


def _drug(response: str, changes: str) -> Task:
    drop = ("Country", *_without(_DRUGS, response))
    return Task("multinomial", (response,), _DRUG_S, drop, _drug_levels, changes)


def _vu(family: str, *response: str) -> Task:
    changes = "the other responses left out"
    return Task(family, response, _VU_S, _without(_VU, *response), changes=changes)


# The first task of a data set is the default.
TASKS: dict[str, tuple[Task, ...]] = {
    "adult": (Task("binomial", ("income",), ("sex", "age")),),
    "bank": (Task("binomial", ("subscribed",), ("age",)),),
    "communities.and.crime": (
        Task(
            "gaussian",
            ("ViolentCrimesPerPop",),
            ("racepctblack", "PctForeignBorn"),
            prepare=_complete_rows,
            changes="incomplete rows left out, which leaves 810 of 1969",
        ),
    ),
    "compas": (
        _zero_one("two_year_recid", ("sex", "race")),
        Task("binomial", ("two_year_recid",), ("sex", "race")),
    ),
    "drug.consumption": (
        _drug("Meth", _SCHOOL),
        _drug("Heroin", f"{_SCHOOL}; Heroin with three levels"),
    ),
    "german.credit": (
        _zero_one("Credit_risk", _GERMAN_S),
        Task("binomial", ("Credit_risk",), _GERMAN_S),
        Task(
            "gaussian",
            ("Installment_rate",),
            _GERMAN_S,
            drop=("Credit_risk",),
            changes="Credit_risk left out",
        ),
    ),
    "law.school.admissions": (Task("gaussian", ("ugpa",), ("age", "race1")),),
    "national.longitudinal.survey": (
        Task(
            "gaussian",
            ("income90",),
            ("gender", "age"),
            drop=("income96", "income06"),
            changes="the incomes of 1996 and 2006 left out",
        ),
    ),
    "obesity.levels": (Task("multinomial", ("NObeyesdad",), ("Gender", "Age")),),
    "vu.test": (
        _vu("gaussian", "gaussian"),
        _vu("binomial", "binomial"),
        _vu("poisson", "poisson"),
        _vu("multinomial", "multinomial"),
        _vu("cox", "time", "status"),
    ),
}
