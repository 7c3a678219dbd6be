"""Rules on decisions, for `choose_bound`.

A rule says how unfair decisions are between groups, and tests on rows that no
model was fitted to whether they break it. All groups must pass, so that no
level is divided between them (intersection–union; Berger 1982).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from fairridge._typing import Booleans, Floats
from fairridge.arguments import is_number
from fairridge.metrics.contrasts import (
    as_columns,
    as_share,
    judged_estimates,
    mean_limits,
    newcombe_limits,
    rate_difference_limits,
    rate_ratio_limits,
    ratio_variance,
    ratios,
    welch,
)
from fairridge.metrics.favorable import check_top, select
from fairridge.metrics.group_table import SMALL_GROUP_ROWS, GroupTable
from fairridge.metrics.groups import Grouping
from fairridge.metrics.intervals import Estimate

# The threshold of rules that say none.
DEFAULT_THRESHOLD = 0.5
# Skewness of the mean of a group beyond which it is not normal enough for a test: more than 25 g²
# rows are needed, g being the skewness of the rows (Cochran 1977, Sampling Techniques, 2.15).
MOST_SKEWNESS = 0.2
# Times as many rows as there are, beyond which a rule is not within reach.
MAX_ROWS_FACTOR = 1e6


@dataclass(frozen=True)
class Group:
    """A group of an attribute, and what a rule compares: the mean of its rows.

    Attributes
    ----------
    attribute, name : str
        The attribute, and the group.
    n_rows : int
        Its rows that are looked at.
    share : float
        Of the weight of all rows, whether or not they are looked at.
    mean : Estimate
        The mean of what is compared, with its error.

    See Also
    --------
    Rule : Its `measure`, `test` and `limits` are given two of these.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> from fairridge.metrics import Estimate
    >>> from fairridge.rules import Group, MeanGap
    >>> women, men = (Group("sex", n, 50, 0.5, Estimate(v)) for n, v in (("f", 0.2), ("m", 0.3)))
    >>> print(round(MeanGap(0.2).measure(women, men), 2))
    0.1
    """

    attribute: str
    name: str
    n_rows: int
    share: float
    mean: Estimate

    def times(self, factor: float) -> Group:
        """Return the same values in so many times as many rows."""
        n = self.mean.size
        mean = replace(
            self.mean,
            size=n * factor,
            error=self.mean.error * float(np.sqrt((n - 1.0) / (factor * n - 1.0))),
            skewness=self.mean.skewness / float(np.sqrt(factor)),
        )
        return replace(self, n_rows=int(np.ceil(self.n_rows * factor)), mean=mean)


@dataclass(frozen=True)
class JudgedRows:
    """Predictions for rows, and the groups these belong to.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Probability of the favorable class, or the prediction of a number.
    favorable : ndarray of bool or None
        Whether the response was favorable; None for numbers.
    groups : tuple of Grouping
        One partition of the rows per sensitive attribute.
    weight : ndarray of shape (n,)
        Weights; rows of weight zero are absent.

    See Also
    --------
    Rule : Compares the groups.
    Compared : What comes of two of them.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge.rules import JudgedRows
    >>> rows = JudgedRows(score=np.array([0.2, 0.7]), favorable=None, groups=(), weight=np.ones(2))
    >>> print(rows.score.mean().round(2))
    0.45
    """

    score: Floats
    favorable: Booleans | None
    groups: tuple[Grouping, ...]
    weight: Floats

    def judged(self, values: Floats, chosen: Booleans | None = None) -> Iterator[list[Group]]:
        """Yield the groups of every attribute with the means of values among some rows.

        Groups without such rows are left out.
        """
        everyone = GroupTable.of(self.groups, self.weight)
        weight = self.weight if chosen is None else self.weight * chosen
        table, estimates = judged_estimates(self.groups, weight, values)
        for attribute, labels, own in zip(
            table.attributes, table.labels, table.places, strict=True
        ):
            weights = everyone.weights[own]
            shares = (weights / weights.sum()).tolist()
            counts, means = table.counts[own].tolist(), estimates[own]
            yield [
                Group(attribute, label, count, share, mean)
                for label, count, share, mean in zip(labels, counts, shares, means, strict=True)
                if count
            ]

    def selected(self, threshold: float, top: float | int | None) -> Floats:
        """Return 1 for rows that are selected: the top ones, or those above a threshold."""
        found = select(self.score, self.weight, threshold, top)
        assert found is not None
        return found.astype(np.float64)


@dataclass(frozen=True)
class Compared:
    """Two groups under a rule.

    Attributes
    ----------
    attribute, group, other : str
        The attribute, the group that fares worse, and the group that it is compared with.
    n_rows, n_other : int
        Rows of both.
    value : float
        The measure: a ratio or a difference.
    low, high : float
        Ends of its interval, each with the confidence of the test.
    p_value : float
        Of the hypothesis that the rule is broken.
    rows_needed : int or None
        Rows of the group for which the same value would pass, if all groups grow alike; None if
        the value itself breaks the rule.
    skewed : bool
        Whether scores are so skewed that means of so few rows cannot be tested.

    See Also
    --------
    fairridge.validation.ChosenBound : Has the nearest comparison, and the failed one.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> from fairridge.rules import Compared
    >>> found = Compared("sex", "f", "m", 400, 600, 0.85, 0.81, 0.9, 0.04, 400)
    >>> print(found.group, found.value, found.low)
    f 0.85 0.81
    """

    attribute: str
    group: str
    other: str
    n_rows: int
    n_other: int
    value: float
    low: float
    high: float
    p_value: float
    rows_needed: int | None
    skewed: bool = False

    def __str__(self) -> str:
        tested = f"p = {self.p_value:.3g}"
        if self.skewed:
            tested = "not tested, as scores are too skewed for means of so few rows"
        text = (
            f"{self.attribute} = {self.group} ({self.n_rows:,} rows) against {self.other} "
            f"({self.n_other:,}): {self.value:.3f} ({self.low:.3f} to {self.high:.3f}), {tested}"
        )
        if self.rows_needed is not None and self.rows_needed <= self.n_rows:
            return text
        if self.rows_needed is None:
            return f"{text}; more rows would not help at this value"
        return f"{text}; at this value {self.rows_needed:,} rows of the group would do"


@dataclass(frozen=True)
class Rule(ABC):
    """What decisions must satisfy.

    Parameters
    ----------
    favorable : class label, "low" or "high", optional
        The outcome that people want; by default names tell, as in audits.
    minimum_share : float, default=0.0
        Share of all rows below which a group is not looked at.

    See Also
    --------
    AdverseImpact : The four-fifths rule.
    MeanGap : The shortest rule to read before you write your own.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> from fairridge.rules import MeanGap, Rule
    >>> print(isinstance(MeanGap(1.0), Rule), MeanGap(1.0, minimum_share=0.02).minimum_share)
    True 0.02
    """

    # The outcome that people want: a class, "low" or "high"; names tell by default, as in audits.
    favorable: Any = field(default=None, kw_only=True)
    # The share of all rows below which a group is not looked at, such as the 2 % of the Uniform
    # Guidelines (29 CFR 1607.4(A)).
    minimum_share: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        share = self.minimum_share
        if not is_number(share) or not 0.0 <= share < 1.0:
            raise ValueError(f"minimum_share={share!r} must be a share from 0 to below 1.")

    @abstractmethod
    def values(self, rows: JudgedRows) -> tuple[Floats, Booleans | None]:
        """Return what groups are compared by, and in which rows; None for all."""

    @abstractmethod
    def measure(self, first: Group, second: Group) -> float:
        """Return how the first of two groups fares beside the second."""

    @abstractmethod
    def breach(self, measure: float) -> float:
        """Return by how much a measure breaks the rule; negative if it does not."""

    @abstractmethod
    def test(self, first: Group, second: Group) -> float:
        """Return the p-value of "these two groups break the rule"."""

    @abstractmethod
    def limits(self, first: Group, second: Group, level: float) -> tuple[float, float]:
        """Return the ends of an interval of the measure, each wrong with probability `level`."""

    def too_skewed(self, first: Group, second: Group) -> bool:
        """Return whether a rule on means cannot test these two."""
        return False

    def all_parts(self, rows: JudgedRows) -> list[list[Group]]:
        """Return all groups of every attribute."""
        return list(rows.judged(*self.values(rows)))

    def parts(self, rows: JudgedRows) -> list[list[Group]]:
        """Return the groups of every attribute that the rule looks at."""
        return [
            [part for part in parts if part.share >= self.minimum_share]
            for parts in self.all_parts(rows)
        ]

    def passed_over(self, rows: JudgedRows) -> list[Group]:
        """Return the groups that are too small a share of all rows to be looked at."""
        everyone = self.all_parts(rows)
        return [part for parts in everyone for part in parts if part.share < self.minimum_share]

    def untested(self, rows: JudgedRows) -> list[Group]:
        """Return the groups that have too few rows to be tested."""
        return [
            part
            for parts in self.parts(rows)
            for part in parts
            if part.mean.size < SMALL_GROUP_ROWS
        ]

    def pairs(self, rows: JudgedRows) -> list[tuple[Group, Group]]:
        """Return all pairs of groups that can be tested, in both orders."""
        found = self.testable(rows)
        if not found:
            everyone = self.parts(rows)
            sizes = ", ".join(
                f"{part.attribute} = {part.name}: {part.n_rows}"
                for parts in everyone
                for part in parts
            )
            raise ValueError(
                f"no attribute has two groups with at least {SMALL_GROUP_ROWS} rows each "
                f"({sizes}); the rule cannot be tested."
            )
        return found

    def testable(self, rows: JudgedRows) -> list[tuple[Group, Group]]:
        """Return pairs of groups with enough rows, in both orders, if there are any."""
        return [
            pair
            for parts in self.parts(rows)
            for pair in permutations([one for one in parts if one.mean.size >= SMALL_GROUP_ROWS], 2)
        ]

    def value(self, rows: JudgedRows) -> float:
        """Return the measure of the two groups that come nearest to breaking the rule."""
        return max((self.measure(a, b) for a, b in self.pairs(rows)), key=self.breach)

    def excess(self, rows: JudgedRows) -> float:
        """Return by how much rows break the rule; the fairest model has the least."""
        return self.breach(self.value(rows))

    def p_value(self, rows: JudgedRows) -> float:
        """Return the largest p-value of "this pair of groups breaks the rule"."""
        return max(self.test(a, b) for a, b in self.pairs(rows))

    def compared(self, rows: JudgedRows, level: float) -> Compared:
        """Return the two groups with the largest p-value, in a test at some level."""
        first, second = max(
            self.pairs(rows), key=lambda pair: (self.test(*pair), self.breach(self.measure(*pair)))
        )
        times = self._times_needed(first, second, level)
        return Compared(
            first.attribute,
            first.name,
            second.name,
            first.n_rows,
            second.n_rows,
            self.measure(first, second),
            *self.limits(first, second, level),
            self.test(first, second),
            None if times is None else int(np.ceil(first.n_rows * times)),
            self.too_skewed(first, second),
        )

    def _times_needed(self, first: Group, second: Group, level: float) -> float | None:
        """Return how many times as many rows would pass with the same measure."""

        def passes(times: float) -> bool:
            return self.test(first.times(times), second.times(times)) <= level

        low = high = 1.0
        while not passes(high):
            low, high = high, 2.0 * high
            if high > MAX_ROWS_FACTOR:
                return None
        while high > 1.005 * low:
            middle = (low + high) / 2.0
            low, high = (low, middle) if passes(middle) else (middle, high)
        return high


@dataclass(frozen=True)
class AdverseImpact(Rule):
    """The ratio of selection rates of any two groups is at least `ratio`.

    The four-fifths rule (29 CFR 1607.4(D)) has 0.8. A row is selected if the
    score of the favorable outcome exceeds `threshold`, or if it is among the
    `top` ones (a share, or a count: the capacity). Groups with less than
    `minimum_share` of all rows are not looked at. Every ordered pair of groups
    has the score test of a ratio.

    Parameters
    ----------
    ratio : float, default=0.8
        The least ratio.
    threshold : float, default=0.5
        Score above which a row is selected.
    top : float or int, optional
        Share or number of rows that are selected, in place of `threshold`.
    favorable, minimum_share
        As in `Rule`.

    See Also
    --------
    OpportunityGap : True-positive rates instead.
    fairridge.choose_bound : The largest bound that meets a rule.

    References
    ----------
    .. [1] 29 CFR 1607.4(D).
    .. [2] Koopman (1984), Confidence intervals for the ratio of two binomial proportions,
        Biometrics 40, 513–517.

    Examples
    --------
    >>> from fairridge.rules import AdverseImpact
    >>> rule = AdverseImpact(0.8, top=0.2)
    >>> print(rule.breach(0.7) > 0, rule.breach(0.9) > 0)
    True False
    """

    ratio: float = 0.8
    threshold: float = 0.5
    top: float | int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_top(self.top, None if self.threshold == DEFAULT_THRESHOLD else self.threshold)

    def values(self, rows: JudgedRows) -> tuple[Floats, Booleans | None]:
        """Return who is selected."""
        return rows.selected(self.threshold, self.top), None

    def measure(self, first: Group, second: Group) -> float:
        """Return the ratio of two selection rates; 1 if nobody is selected."""
        return first.mean.value / second.mean.value if second.mean.value > 0.0 else 1.0

    def breach(self, measure: float) -> float:
        """Return how far a ratio lies below `ratio`."""
        return self.ratio - measure

    def test(self, first: Group, second: Group) -> float:
        """Test a ratio by its score test, in the proportions that are likeliest if it is broken."""
        (p1, n1, _), (p2, n2, _) = _shares(first, second)
        variance = float(ratio_variance(p1, n1, p2, n2, np.asarray(self.ratio))[0])
        gap = first.mean.value - self.ratio * second.mean.value
        return float(norm.sf(gap / np.sqrt(variance))) if variance > 0.0 else float(gap <= 0.0)

    def limits(self, first: Group, second: Group, level: float) -> tuple[float, float]:
        """Return the score interval of a ratio."""
        one, other = as_share(first.mean), as_share(second.mean)
        (ends,) = ratios(rate_ratio_limits, [one], other, 1.0 - 2.0 * level)
        return ends.low, ends.high


@dataclass(frozen=True)
class _Gap(Rule):
    """The difference of any two groups is at most `maximum`."""

    maximum: float = 0.05

    def measure(self, first: Group, second: Group) -> float:
        """Return by how much the first mean is the smaller one."""
        return second.mean.value - first.mean.value

    def breach(self, measure: float) -> float:
        """Return how far the difference lies above `maximum`."""
        return measure - self.maximum


@dataclass(frozen=True)
class OpportunityGap(_Gap):
    """True-positive rates of any two groups differ by at most `maximum`, by Newcombe's interval.

    Who is selected is decided by `threshold` or `top`, and who is looked at by
    `minimum_share`, as in `AdverseImpact`.

    Parameters
    ----------
    maximum : float, default=0.05
        The largest difference.
    threshold, top, favorable, minimum_share
        As in `AdverseImpact`.

    See Also
    --------
    OddsGap : False-positive rates as well.
    fairridge.fairness.MeanOpportunity :
        The counterpart for probabilities, as a definition.

    References
    ----------
    .. [1] Newcombe (1998), Interval estimation for the difference between independent
        proportions, Statistics in Medicine 17, 873–890.
    .. [2] Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning.

    Examples
    --------
    >>> from fairridge.rules import OpportunityGap
    >>> print(OpportunityGap(0.05).breach(0.07) > 0)
    True
    """

    threshold: float = 0.5
    top: float | int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_top(self.top, None if self.threshold == DEFAULT_THRESHOLD else self.threshold)

    def values(self, rows: JudgedRows) -> tuple[Floats, Booleans | None]:
        """Return who is selected, among those who qualified."""
        if rows.favorable is None:
            raise TypeError(
                f"{type(self).__name__} is for classifiers: it needs to know who qualified."
            )
        return rows.selected(self.threshold, self.top), rows.favorable

    def test(self, first: Group, second: Group) -> float:
        """Test a difference by the smallest level at which Newcombe's interval lies within it."""
        (p1, n1, _), (p2, n2, _) = _shares(first, second)
        beyond = abs(first.mean.value - second.mean.value) >= self.maximum

        def inside(z: float) -> float:
            """Whether the end of |p₁ − p₂| on the other side of the maximum is there; 0 at it."""
            low, high = (float(end[0]) for end in newcombe_limits(p1, n1, p2, n2, z))
            return max(low, -high) - self.maximum if beyond else self.maximum - max(high, -low)

        largest = 12.0
        z = largest if inside(largest) > 0.0 else brentq(inside, 0.0, largest)
        return float(norm.cdf(z) if beyond else norm.sf(z))

    def limits(self, first: Group, second: Group, level: float) -> tuple[float, float]:
        """Return Newcombe's interval of a difference."""
        return _ends(rate_difference_limits(*_shares(second, first), 2.0 * level))


@dataclass(frozen=True)
class OddsGap(OpportunityGap):
    """True- and false-positive rates of any two groups differ by at most `maximum`.

    Equalized odds: as `OpportunityGap`, also among rows whose response was not favorable.

    Parameters
    ----------
    maximum : float, default=0.05
        The largest difference.
    threshold, top, favorable, minimum_share
        As in `AdverseImpact`.

    See Also
    --------
    OpportunityGap : True-positive rates alone.
    fairridge.fairness.MeanOdds : The counterpart for probabilities, as a definition.

    References
    ----------
    .. [1] Hardt, Price and Srebro (2016), Equality of opportunity in supervised learning.

    Examples
    --------
    >>> from fairridge.rules import OddsGap
    >>> print(OddsGap(0.1).maximum)
    0.1
    """

    def all_parts(self, rows: JudgedRows) -> list[list[Group]]:
        """Return the groups of every attribute among the qualified, and among the others."""
        selected, qualified = self.values(rows)
        assert qualified is not None
        return [
            [replace(part, name=f"{part.name}, {words}") for part in parts]
            for words, among in (("qualified", qualified), ("not qualified", ~qualified))
            for parts in rows.judged(selected, among)
        ]


@dataclass(frozen=True)
class MeanGap(_Gap):
    """Mean scores of any two groups differ by at most `maximum`, in units of the score.

    Every pair has Welch's test, which needs 25 g² rows of a group whose scores have the
    skewness g: fewer do not pass.

    Parameters
    ----------
    maximum : float, default=0.05
        The largest difference.
    favorable, minimum_share
        As in `Rule`.

    See Also
    --------
    AdverseImpact : Decisions instead of scores.
    fairridge.choose_bound : The largest bound that meets a rule.

    References
    ----------
    .. [1] Welch (1947), The generalization of Student's problem, Biometrika 34, 28–35.
    .. [2] Cochran (1977), Sampling Techniques, section 2.15.

    Examples
    --------
    >>> from fairridge.rules import MeanGap
    >>> print(MeanGap(2.0).breach(1.5) > 0)
    False
    """

    def values(self, rows: JudgedRows) -> tuple[Floats, Booleans | None]:
        """Return the scores."""
        return rows.score, None

    def test(self, first: Group, second: Group) -> float:
        """Test a difference by Welch's test; 1 where the scores are too skewed for it."""
        if self.too_skewed(first, second):
            return 1.0
        gap = abs(first.mean.value - second.mean.value)
        error, df = _ends(welch(as_columns([first.mean]), as_columns([second.mean])))
        inside = self.maximum - gap
        return float(t.sf(inside / error, df)) if error > 0.0 else float(inside <= 0.0)

    def too_skewed(self, first: Group, second: Group) -> bool:
        """Return whether one has fewer than 25 g² rows."""
        return any(abs(one.mean.skewness) > MOST_SKEWNESS for one in (first, second))

    def limits(self, first: Group, second: Group, level: float) -> tuple[float, float]:
        """Return Welch's interval of a difference."""
        one, other = as_columns([second.mean]), as_columns([first.mean])
        return _ends(mean_limits(one, other, 2.0 * level))


def _shares(first: Group, second: Group) -> tuple[Floats, Floats]:
    """Return both shares as columns, with how many rows they are of, in effect."""
    return as_columns([as_share(first.mean)]), as_columns([as_share(second.mean)])


def _ends(columns: tuple[Floats, Floats]) -> tuple[float, float]:
    """Return the two numbers of one pair of groups."""
    first, second = columns
    return float(first[0]), float(second[0])
