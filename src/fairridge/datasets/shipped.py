"""The data sets inside the package.

Each is one ``.npz`` file of small integers next to ``manifest.json``, which
describes them. ``tools/build_datasets.py`` writes both.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from fairridge.datasets.dataset import Column, Dataset, build_dataset

_FOLDER = files("fairridge.datasets") / "data"


class DatasetInfo(NamedTuple):
    """One line of `available`.

    Attributes
    ----------
    name : str
        What `load` takes.
    title : str
        What it is about.
    family : str
        The family of models for the response.
    rows, columns : int
        Size of the frame, the response included.
    response, sensitive : tuple of str
        Names of columns.
    license, citation : str
        On what terms it ships, and whom to cite.

    See Also
    --------
    available : All of them.

    References
    ----------
    .. [1] docs/datasets.md.

    Examples
    --------
    >>> from fairridge.datasets import available
    >>> info = available()[1]
    >>> print(info.name, info.rows, info.sensitive)
    german_credit 1000 ('Age', 'Foreign_worker', 'Gender')
    """

    name: str
    title: str
    family: str
    rows: int
    columns: int
    response: tuple[str, ...]
    sensitive: tuple[str, ...]
    license: str
    citation: str


def available() -> tuple[DatasetInfo, ...]:
    """Return a table of the data sets that ship, one row each.

    Returns
    -------
    tuple of DatasetInfo
        One for every data set.

    See Also
    --------
    load : Loads one of them.
    fetch_fairml : The data of the paper.

    References
    ----------
    .. [1] docs/datasets.md.

    Examples
    --------
    >>> from fairridge.datasets import available
    >>> [info.name for info in available() if info.family == "cox"]
    ['rossi']
    """
    return tuple(
        DatasetInfo(
            **{key: entry[key] for key in ("title", "family", "rows", "license", "citation")},
            name=name,
            columns=len(entry["columns"]),
            response=tuple(entry["response"]),
            sensitive=tuple(entry["sensitive"]),
        )
        for name, entry in _manifest().items()
    )


def load(name: str, *, backend: str | None = None) -> Dataset:
    """Load a data set that ships, by name.

    Parameters
    ----------
    name : str
        One of the names in `available`.
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    available : The names.

    References
    ----------
    .. [1] docs/datasets.md.

    Examples
    --------
    >>> from fairridge.datasets import load
    >>> rossi = load("rossi")
    >>> print(rossi.family, rossi.X.shape)
    cox (432, 7)
    """
    manifest = _manifest()
    if name not in manifest:
        raise ValueError(
            f"{name!r} is not a data set of this package; use one of {', '.join(manifest)}."
        )
    entry = manifest[name]
    with (_FOLDER / entry["file"]).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        columns = {name: _decode(stored[name], kind) for name, kind in entry["columns"].items()}
    return build_dataset(
        columns,
        name=name,
        response=tuple(entry["response"]),
        sensitive=tuple(entry["sensitive"]),
        family=entry["family"],
        description=_describe(entry),
        backend=backend,
    )


def load_communities_crime(*, backend: str | None = None) -> Dataset:
    """Violent crime in 1993 US communities; gaussian, two continuous sensitive attributes.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Redmond and Baveja (2002), A data-driven software tool for enabling cooperative
        information sharing among police departments, European Journal of Operational
        Research 141, 660–678.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeRegressor
    >>> from fairridge.datasets import load_communities_crime
    >>> data = load_communities_crime()
    >>> print(data.X.shape, data.sensitive)
    (1993, 100) ['racepctblack', 'PctForeignBorn']
    >>> model = FairRidgeRegressor(0.05, sensitive=data.sensitive).fit(data.X, data.y)
    >>> print(f"R² {model.score(data.X, data.y):.3f}, unfairness {model.unfairness_:.3f}")
    R² 0.367, unfairness 0.050
    """
    return load("communities_crime", backend=backend)


def load_german_credit(*, backend: str | None = None) -> Dataset:
    """Good and bad credit risks among 1000 borrowers; binomial.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Hofmann (1994), Statlog (German credit data), UCI Machine Learning Repository.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> data = load_german_credit()
    >>> print(data.X.shape, data.sensitive)
    (1000, 20) ['Age', 'Foreign_worker', 'Gender']
    >>> model = FairRidgeClassifier(sensitive=data.sensitive, definition="mean-parity")
    >>> path = model.path(data.X, data.y, unfairness=[0, 0.05, 1])
    >>> print("deviance explained:", path.score.round(3))
    deviance explained: [0.24  0.262 0.262]
    """
    return load("german_credit", backend=backend)


def load_adult(*, backend: str | None = None) -> Dataset:
    """Income above 50,000 dollars in the 1994 US census; binomial.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Becker and Kohavi (1996), Adult, UCI Machine Learning Repository.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_adult
    >>> data = load_adult()
    >>> print(data.X.shape, data.sensitive)
    (30162, 13) ['sex', 'age', 'race']
    >>> model = FairRidgeClassifier(0.05, sensitive=data.sensitive, definition="mean-parity")
    >>> print(model.fit(data.X, data.y).isolated_)
    {'workclass[Without-pay]': 14}
    """
    return load("adult", backend=backend)


def load_bank(*, backend: str | None = None) -> Dataset:
    """Subscriptions to a term deposit sold by telephone; binomial.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Moro, Cortez and Rita (2014), A data-driven approach to predict the success of
        bank telemarketing, Decision Support Systems 62, 22–31.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_bank
    >>> data = load_bank()
    >>> print(data.X.shape, data.sensitive)
    (40195, 18) ['age']
    >>> model = FairRidgeClassifier(0.05, sensitive=data.sensitive, definition="mean-parity")
    >>> print(model.fit(data.X, data.y).status_)
    inactive
    """
    return load("bank", backend=backend)


def load_health_insurance(*, backend: str | None = None) -> Dataset:
    """Visits to a doctor in the first year of RAND's insurance experiment; poisson.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Newhouse and the Insurance Experiment Group (1993), Free for all? Lessons from
        the RAND health insurance experiment.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeRegressor
    >>> from fairridge.datasets import load_health_insurance
    >>> data = load_health_insurance()
    >>> print(data.X.shape, data.sensitive)
    (5638, 18) ['black', 'female', 'xage']
    >>> options = {"family": "poisson", "definition": "mean-parity"}
    >>> model = FairRidgeRegressor(0.05, sensitive=data.sensitive, **options)
    >>> print(model.fit(data.X, data.y).predict(data.X[:3]).round(2))
    [2.48 3.55 2.72]
    """
    return load("health_insurance", backend=backend)


def load_contraceptive_choice(*, backend: str | None = None) -> Dataset:
    """Contraceptive method of 1473 women in Indonesia, 1987; multinomial.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Lim, Loh and Shih (2000), A comparison of prediction accuracy, complexity, and
        training time of thirty-three old and new classification algorithms, Machine
        Learning 40, 203–228.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_contraceptive_choice
    >>> data = load_contraceptive_choice()
    >>> print(data.X.shape, data.sensitive)
    (1473, 9) ['wife_age', 'wife_religion']
    >>> model = FairRidgeClassifier(0.05, sensitive=data.sensitive, definition="mean-parity")
    >>> print(model.fit(data.X, data.y).alpha_.shape)
    (3, 2)
    """
    return load("contraceptive_choice", backend=backend)


def load_rossi(*, backend: str | None = None) -> Dataset:
    """Weeks until the first arrest of 432 released prisoners; Cox.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the frame; None takes the first that is installed.

    Returns
    -------
    Dataset
        Frame, response, sensitive attributes and family.

    See Also
    --------
    load : Any of them, by name.

    References
    ----------
    .. [1] Rossi, Berk and Lenihan (1980), Money, work, and crime: some experimental results.
    .. [2] docs/datasets.md.

    Examples
    --------
    >>> from fairridge import FairRidgeSurvival
    >>> from fairridge.datasets import load_rossi
    >>> data = load_rossi()
    >>> print(data.X.shape, data.sensitive)
    (432, 7) ['race', 'age']
    >>> model = FairRidgeSurvival(0.05, sensitive=data.sensitive).fit(data.X, data.y)
    >>> print(model.predict_survival_function(data.X[:2], times=[26, 52]).round(2))
    [[0.84 0.66]
     [0.76 0.53]]
    """
    return load("rossi", backend=backend)


@cache
def _manifest() -> dict[str, dict[str, Any]]:
    text = (_FOLDER / "manifest.json").read_text(encoding="utf-8")
    manifest: dict[str, dict[str, Any]] = json.loads(text)
    return manifest


def _decode(stored: Any, kind: int | list[str]) -> Column:
    """Turn stored integers into numbers, or keep them as codes into levels."""
    if isinstance(kind, list):
        return Column(stored, levels=tuple(kind))
    if kind == 0:
        return Column(stored.astype(np.int64))
    # Both operands are exact, so the quotient is the double nearest to the decimal
    # number in the source, the same that reading its text gives.
    return Column(stored / 10.0**kind)


def _describe(entry: dict[str, Any]) -> str:
    source = entry["source"]
    sections = [
        f"{entry['title']}: {entry['rows']} rows, {len(entry['columns'])} columns.",
        f"Source: {source['origin']} Taken from {source['package']}: {', '.join(source['files'])}.",
        f"License: {entry['license']}.",
        f"Citation: {entry['citation']}",
        "Changes:\n" + "\n".join(f"- {change}" for change in entry["changes"]),
    ]
    if entry["notes"]:
        sections.append("Notes:\n" + "\n".join(f"- {note}" for note in entry["notes"]))
    return "\n\n".join(sections)
