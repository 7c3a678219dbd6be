"""Scorecards: log odds as points that add up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import expit

from fairridge._typing import Floats
from fairridge.arguments import check_flag
from fairridge.data import as_table
from fairridge.data.columns import FilledColumn
from fairridge.export.form import LinearForm, predicting_form, require_link
from fairridge.export.lines import NAN, lines_of, weighted
from fairridge.tables import Table, Tabular


@dataclass(frozen=True)
class ScorecardLine:
    """Points of one level, or of one unit of a number."""

    # The column, and whether it is "sensitive" or a "predictor".
    attribute: str
    role: str
    level: str  # the level; "" for numbers
    # Points of the level relative to the base level; for numbers, per unit above `reference`.
    points: float
    reference: float  # training mean of a number; NaN for levels


@dataclass(frozen=True, repr=False)
class Scorecard(Tabular):
    """A binomial model as points: score = base_points + Σ points of the attributes.

    Attributes
    ----------
    base_points : float
        Points of a row with every number at its training mean and every
        categorical at its base level.
    lines : tuple of ScorecardLine
        Points of levels and numbers, as they are before rounding.
    offset, factor : float
        score = offset + factor·η.
    favorable : object
        The class whose odds raise the score.
    rounded : bool
        Whether every attribute's points, and the base points, are rounded to integers.
    rounding_bound : float
        No score is further than this from its value before rounding; 0 if not rounded.

    See Also
    --------
    scorecard : Makes it.

    References
    ----------
    .. [1] Siddiqi (2017), Intelligent credit scoring, 2nd edition: scaling of points.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge.export import scorecard
    >>> card = scorecard(model, favorable="GOOD")
    >>> print(card.score(X[:3]).astype(int).tolist())
    [532, 478, 525]
    """

    base_points: float
    lines: tuple[ScorecardLine, ...]
    offset: float
    factor: float
    favorable: Any
    rounded: bool
    rounding_bound: float
    _form: LinearForm
    _sign: float

    @property
    def probability_bound(self) -> float:
        """No probability is further than this from its value before rounding."""
        return min(1.0, self.rounding_bound / (4.0 * self.factor))

    def points(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the points of every row and attribute, of shape (n, attributes)."""
        exact = self._exact(X, sensitive_features)
        return np.rint(exact) if self.rounded else exact

    def score(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the score of every row."""
        base = np.rint(self.base_points) if self.rounded else self.base_points
        return base + self.points(X, sensitive_features=sensitive_features).sum(axis=1)

    def rounding_error(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return how far the score of every row is from its value before rounding."""
        exact = self.base_points + self._exact(X, sensitive_features).sum(axis=1)
        return self.score(X, sensitive_features=sensitive_features) - exact

    def probability(self, score: Any) -> Floats:
        """Return the probability of the favorable class for scores."""
        points = np.asarray(score, dtype=np.float64)
        return np.asarray(expit((points - self.offset) / self.factor))

    def _tables(self) -> list[Table]:
        """Return one row per level or number, the base points first."""
        rows = [
            ScorecardLine("(base)", "", f"odds of {self.favorable}", self.base_points, NAN),
            *self.lines,
        ]
        columns: dict[str, Any] = {
            field.name: [getattr(row, field.name) for row in rows]
            for field in fields(ScorecardLine)
        }
        if self.rounded:
            # Points per unit are rounded where they are applied, not here.
            columns["rounded"] = [
                row.points if row.reference == row.reference else float(np.rint(row.points))
                for row in rows
            ]
        note = f"Rounding moves a score by at most {self.rounding_bound:.2f}."
        title = f"Scorecard: odds of {self.favorable}"
        return [Table.of(columns, title, note, backend=self._form.backend)]

    def _exact(self, X: Any, sensitive_features: Any) -> Floats:
        form = self._form
        rows = as_table(X, sparse=True), form.attributes(sensitive_features)
        # Numbers count from their training mean on, levels from the base level on.
        levels = np.repeat(
            [bool(column.levels) for column in form.columns],
            [column.encoding.width for column in form.columns],
        )
        reference = np.where(levels, 0.0, form.center)
        return self._sign * self.factor * form.contributions(*rows, reference)[0]


def scorecard(
    model: Any,
    *,
    points_to_double_odds: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    favorable: Any = None,
    rounded: bool = True,
) -> Scorecard:
    """Turn the log odds of a binomial model into points.

    score = offset + factor·η with factor = PDO/log 2 and
    offset = base_score − factor·log(base_odds): a score of `base_score` means
    odds of `base_odds` to one, and every `points_to_double_odds` points double them.

    Parameters
    ----------
    model : estimator
        A fitted binomial or quasi-binomial model of fairridge.
    points_to_double_odds : float, default=20
        PDO, the points that double the odds.
    base_score : float, default=600
        Score of the base odds.
    base_odds : float, default=50
        Odds, to one, that have the base score.
    favorable : class label, optional
        The class whose odds raise the score; by default the modeled one.
    rounded : bool, default=True
        Whether to round points to integers.

    Returns
    -------
    Scorecard
        Points of levels and numbers.

    See Also
    --------
    Scorecard : What it returns.
    relativities : The same for models with a log link.

    References
    ----------
    .. [1] Siddiqi (2017), Intelligent credit scoring, 2nd edition: scaling of points.
    .. [2] docs/export.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge.export import scorecard
    >>> print(round(scorecard(model, favorable="GOOD").base_points, 4))
    509.4631
    """
    odds = "a scorecard turns the log odds of two outcomes into points"
    others = {"log": "; export.relativities writes its factors"}
    require_link(model, "logit", odds, others)
    form = predicting_form(model, "scorecard")
    for column in form.columns:
        if isinstance(column.encoding, FilledColumn):
            raise ValueError(
                f"a scorecard has no points for a missing number, and {column.name!r} has a "
                "coefficient for it (missing='level'); cut it into intervals before fitting."
            )
    positive = {"points_to_double_odds": points_to_double_odds, "base_odds": base_odds}
    for name, value in positive.items():
        if not value > 0.0 or not np.isfinite(value):
            raise ValueError(f"{name}={value!r} must be a positive number.")
    check_flag("rounded", rounded)
    found = lines_of(form)
    favorable, sign = _favorable(form, favorable)
    factor = float(points_to_double_odds) / float(np.log(2.0))
    offset = float(base_score) - factor * float(np.log(base_odds))
    eta, *points = [float(sign * factor * weighted(line.adds, form.theta)) for line in found]
    lines = tuple(
        ScorecardLine(line.attribute, line.role, line.level, value, line.reference)
        for line, value in zip(found[1:], points, strict=True)
    )
    base = offset + eta
    return Scorecard(
        base,
        lines,
        offset,
        factor,
        favorable,
        bool(rounded),
        _rounding_bound(base, lines) if rounded else 0.0,
        form,
        sign,
    )


def _favorable(form: LinearForm, label: Any) -> tuple[Any, float]:
    """Return the favorable class, and −1 if another one is modeled."""
    labels, modeled = ([0, 1], 1) if form.classes is None else (form.labels, form.positive)
    label = modeled if label is None else label
    if label not in labels:
        raise ValueError(f"favorable={label!r} is not a class of this model: {labels!r}.")
    return label, 1.0 if label == modeled else -1.0


def _rounding_bound(base: float, lines: tuple[ScorecardLine, ...]) -> float:
    """Sum of the largest roundings: one half for a number, the worst level of a categorical."""
    worst = {"(base)": abs(base - float(np.rint(base)))}
    for line in lines:
        number = line.reference == line.reference
        error = 0.5 if number else abs(line.points - float(np.rint(line.points)))
        key = f"{line.role} {line.attribute}"
        worst[key] = max(worst.get(key, 0.0), error)
    return float(sum(worst.values()))
