"""Reason codes: what a score is made of, relative to the training mean.

η = c + S(α − Bβ) + Xβ is a sum over columns, so its distance from η at the
training means splits exactly: column j adds coefficient × (x_j − mean_j). The
predictors enter with β, as X and not as U = X − SB: the part −SBβ, by which
the model takes back what the predictors carry of S, depends on S alone and
belongs to S. A reason that names a predictor is therefore the same for two
people who differ only in S.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.arguments import check_flag, check_option
from fairridge.data import Levels, as_table
from fairridge.export.form import LinearForm, predicting_form
from fairridge.tables import Table, Tabular

Direction = Literal["both", "down", "up"]
SENTENCE = "{attribute} is {value}, which {effect} the score."


@dataclass(frozen=True, repr=False)
class Reasons(Tabular):
    """What every row's linear predictor is made of.

    ``level + contributions.sum(axis=1) + rest`` is the linear predictor.

    Attributes
    ----------
    attributes : tuple of str
        Columns that may be given as reasons.
    contributions : ndarray of shape (n, k)
        What each adds to η, relative to the training mean.
    rest : ndarray of shape (n,)
        What the other columns add together: the sensitive attributes, unless
        they may be given as reasons.
    level : ndarray of shape (n,)
        η at the training means.
    ranking : tuple of tuple of int
        For every row, the attributes to name, the strongest first.
    values : tuple of tuple of str
        What every row has in these columns, as text.

    See Also
    --------
    reasons : Makes it.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge.export import reasons
    >>> found = reasons(model, X[:2])
    >>> total = found.level + found.contributions.sum(axis=1) + found.rest
    >>> print(bool((abs(total - model.decision_function(X[:2])) < 1e-12).all()))
    True
    """

    attributes: tuple[str, ...]
    contributions: Floats
    rest: Floats
    level: Floats
    ranking: tuple[tuple[int, ...], ...]
    values: tuple[tuple[str, ...], ...]
    _backend: Any = None

    @property
    def linear_predictor(self) -> Floats:
        """η, of shape (n,)."""
        return self.level + self.contributions.sum(axis=1) + self.rest

    def __len__(self) -> int:
        return len(self.ranking)

    def __getitem__(self, row: int) -> list[tuple[str, str, float]]:
        """Return attribute, value and contribution of one row, the strongest first."""
        return [
            (self.attributes[k], self.values[row][k], float(self.contributions[row, k]))
            for k in self.ranking[row]
        ]

    def _tables(self) -> list[Table]:
        """Return one row per reason, ranked from 1 within each row of the input."""
        lines = [
            (row, rank, *reason)
            for row in range(len(self))
            for rank, reason in enumerate(self[row], start=1)
        ]
        names = ("row", "rank", "attribute", "value", "contribution")
        columns = {name: [line[k] for line in lines] for k, name in enumerate(names)}
        note = "Contributions to the linear predictor, relative to the training mean."
        title = f"Reasons of {len(self):,} row{'s'[: len(self) != 1]}"
        return [Table.of(columns, title, note, backend=self._backend, brief=True)]

    def sentences(
        self, template: str = SENTENCE, *, names: Mapping[str, str] | None = None
    ) -> list[list[str]]:
        """Write the reasons of every row as sentences, for letters about decisions.

        Parameters
        ----------
        template : str
            A sentence, which may use ``{attribute}``, ``{value}``, ``{effect}``
            ("lowers" or "raises"), ``{contribution}`` (to the linear
            predictor, with its sign) and ``{rank}`` (from 1), with Python's
            formats such as ``{contribution:.2f}``.
        names : mapping of str to str, optional
            What attributes are called in sentences.
            ``{"emp_length": "length of employment"}`` is an example.

        Returns
        -------
        list of list of str
            The sentences of every row, the strongest reason first.
        """
        names = {} if names is None else names
        unknown = sorted(set(names) - set(self.attributes))
        if unknown:
            known = ", ".join(map(repr, self.attributes))
            raise ValueError(f"names has {unknown[0]!r}, which is not a reason; reasons: {known}.")
        return [
            [
                _sentence(template, names.get(name, name), value, size, rank)
                for rank, (name, value, size) in enumerate(self[row], start=1)
            ]
            for row in range(len(self))
        ]


def _sentence(template: str, attribute: str, value: str, contribution: float, rank: int) -> str:
    fields = {
        "attribute": attribute,
        "value": value,
        "effect": "lowers" if contribution < 0.0 else "raises",
        "contribution": contribution,
        "rank": rank,
    }
    try:
        return template.format(**fields)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in fields)
        raise ValueError(
            f"the template {template!r} cannot be filled in ({error}); it may use {known}."
        ) from None


def reasons(
    model: Any,
    X: Any,
    *,
    sensitive_features: Any = None,
    top: int | None = 4,
    direction: Direction = "both",
    sensitive: bool = False,
    label: Any = None,
) -> Reasons:
    """Split every row's linear predictor over its columns, relative to the training mean.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    X, sensitive_features
        Rows to explain, as in `predict`.
    top : int, optional
        Maximum number of reasons per row. None names all.
    direction : {"both", "down", "up"}
        Which reasons to name: all, by size; or only what lowers, or raises, η.
    sensitive : bool
        Whether a sensitive attribute may be given as a reason.
    label : class label, optional
        The class whose η is explained: by default the modeled one of two, or the
        predicted one of more.

    Returns
    -------
    Reasons
        Contributions of columns, and the strongest for every row.

    See Also
    --------
    Reasons : What it returns.
    scorecard : Points that add up.

    References
    ----------
    .. [1] 12 CFR 1002.9 (Regulation B): statements of specific reasons.
    .. [2] docs/export.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge.export import reasons
    >>> print(reasons(model, X[:2], top=1).to_frame()["attribute"].tolist())
    ['Duration', 'Duration']
    """
    check_option("direction", direction, get_args(Direction))
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise ValueError(f"top={top!r} must be a positive integer, or None for all reasons.")
    check_flag("sensitive", sensitive)
    form = predicting_form(model, "reasons")
    table, attributes = as_table(X, sparse=True), form.attributes(sensitive_features)
    by_class = form.contributions(table, attributes)
    chosen, sign = _chosen(form, by_class, label)
    parts = sign * by_class[chosen, np.arange(by_class.shape[1])]
    listed = np.array([sensitive or not column.sensitive for column in form.columns])
    contributions = parts[:, listed]
    columns = [column for column in form.columns if sensitive or not column.sensitive]
    texts = [_texts(form.values(column, table, attributes)) for column in columns]
    return Reasons(
        tuple(column.name for column in columns),
        contributions,
        parts[:, ~listed].sum(axis=1),
        sign * form.level[chosen],
        _ranked(contributions, direction, top),
        tuple(zip(*texts, strict=True)) if texts else ((),) * table.shape[0],
        table.backend,
    )


def _chosen(form: LinearForm, by_class: Floats, label: Any) -> tuple[Integers, float]:
    """For every row, which linear predictor to explain; −1 for the class that is not modeled."""
    n = by_class.shape[1]
    if label is None:
        eta = form.level[:, None] + by_class.sum(axis=2)
        return eta.argmax(axis=0), 1.0
    if label not in form.labels:
        known = repr(form.labels) if form.labels else "none"
        raise ValueError(f"label={label!r} is not a class of this model; its classes: {known}.")
    if len(form.labels) == 2:  # one linear predictor, of the modeled class
        return np.zeros(n, dtype=np.intp), 1.0 if label == form.positive else -1.0
    return np.full(n, form.labels.index(label), dtype=np.intp), 1.0


def _ranked(
    contributions: Floats, direction: Direction, top: int | None
) -> tuple[tuple[int, ...], ...]:
    size = {"both": np.abs(contributions), "down": -contributions, "up": contributions}[direction]
    order = np.argsort(-size, axis=1, kind="stable")[:, :top]
    return tuple(
        tuple(int(k) for k in ranks if sizes[k] > 0.0)
        for ranks, sizes in zip(order, size, strict=True)
    )


def _texts(column: Floats | Levels) -> list[str]:
    if isinstance(column, Levels):
        texts = [str(level) for level in column.levels]
        return ["missing" if code < 0 else texts[code] for code in column.codes]
    return [
        "missing" if value != value else f"{value:g}" if isinstance(value, float) else str(value)
        for value in column.tolist()
    ]
