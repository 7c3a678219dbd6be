"""Watching the predictions of a model on new people, at any time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairridge._arrays import LARGEST_EXPONENT
from fairridge._typing import Floats, Integers, TableLike, VectorLike
from fairridge.arguments import check_bound, check_probability
from fairridge.data import Encoding, Table, as_table, dense_columns
from fairridge.data.columns import CategoricalColumn, encode_columns
from fairridge.data.pipelines import predicted
from fairridge.estimators._model import bound_text
from fairridge.export import linear_form
from fairridge.metrics.measure import Measure, of_predictions, share_of_means
from fairridge.metrics.share_interval import Judged
from fairridge.outputs import checksum, writing
from fairridge.validation.betting import BET_ROWS, EProcess, StreamColumns, add_rows
from fairridge.validation.scored_model import PassedRows, ScoredModel, read_rows, scored_model

# Of state files, those that say in other words what is watched, and earlier ones.
FORMAT = 5
CONTINUED_FORMATS = (2, 3, 4, FORMAT)
# Standard deviations, and weights, whose fourth powers are still numbers.
MAX_SCALE = 1e60


@dataclass(frozen=True)
class MonitorState:
    """What a monitor has seen.

    Attributes
    ----------
    wealth : float
        What became of a stake of 1; large values speak against the bound. Attributes with bounds
        of their own have equal parts of the stake, and the largest wealth of one counts.
    alarm : bool
        Whether the wealth ever reached 1/false_alarm.
    n_rows : int
        Rows seen, without those of weight zero.
    n_surprises : int
        Bets that lost more than all that was staked, as no bet before had: the guarantee is
        for streams without them. Predicted probabilities and categorical attributes have none.

    See Also
    --------
    fairridge.Monitor : Its `update` returns this.

    References
    ----------
    .. [1] docs/decisions.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import Monitor
    >>> state = Monitor(model, unfairness=0.05).update(X)
    >>> print(state.n_rows, state.alarm)
    1000 False
    """

    wealth: float
    alarm: bool
    n_rows: int
    n_surprises: int = 0


class Monitor:
    """Watch whether S explains more of a model's predictions than a bound, on new rows.

    While the bound holds, the probability of an alarm, at any time, is at most
    `false_alarm`, however often one looks, if the rows of an update are a sample
    of the population that is watched. What rows of one update have in common, and
    those of others have not, is not seen.

    Parameters
    ----------
    model : estimator
        A fitted linear or stacked model of fairridge, also as the last step of a `Pipeline`; or
        any fitted classifier or regressor.
    unfairness : float, optional
        r, the bound on what is watched; that of the model by default, or those of its attributes.
    false_alarm : float, default=0.01
        α, the probability of ever raising a false alarm, between 0 and 1.
    shuffle : bool, default=True
        Whether to look at the rows of an update in a random order, with a seed. Rows that
        follow each other often have something in common, such as their day, and bets are about
        rows that have not; so an update should have the rows of several days, and it must have
        at least eight. False for rows whose order has nothing to do with S and predictions.
    X, sensitive_features : frame or array, optional
        Only for a model that is not of fairridge: earlier rows, such as those of training. Levels
        of S and units of numbers are taken from these.

    Attributes
    ----------
    watches : str
        What is watched, in words. It is what the model bounds: R² on S of the linear predictor
        (statistical parity as a share of variance: gaussian, Cox and blind models), of the
        predicted means (mean parity), or of probabilities among rows of a class, or of each
        class (mean opportunity and mean odds, which need `y`); the partial R² if the model has
        controls. Means of a model with the log link and an offset or exposure are rates, and
        rows are weighted by exposure; under other links an offset is a part of the means, and
        never of η. Other definitions, such as a share of deviance, and models that are not of
        fairridge do not bound R²: then `unfairness` must be given, and R² of the predicted
        means is watched. Scores of several classes are watched together.

    See Also
    --------
    fairridge.audit : One look at some rows.
    fairridge.choose_bound : The bound to watch.

    Notes
    -----
    Each eight rows are a bet that R² ≤ r makes unfavorable: with h = sᵀa on the scale of the
    score f, its expectation is 7[COV(h, f) − √r(VAR(h) + VAR(f))/2] ≤ 0. The direction a, the
    scales and the stakes come from earlier rows. A gambler starts at every bet, and what all of
    them own together is the wealth, which reaches 1/α with a probability of at most α (Ville's
    inequality); see `fairridge.validation.betting` for the derivation.

    The guarantee is exact if scores are probabilities and S is categorical. Otherwise losses
    have no limit, and no test of R² could be exact, as a variance may come from values that
    were not observed yet. Then the largest stake is such that the largest loss so far would cost
    half of it, and bets that cost all of it are counted. Given controls, or among rows of several
    classes, regressions on these are estimated, and the guarantee is for large samples.

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by
        betting, Journal of the Royal Statistical Society B 86, 1–27.
    .. [2] docs/decisions.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import Monitor
    >>> monitor = Monitor(model, unfairness=0.05)
    >>> print(monitor.update(X).alarm)
    False
    """

    def __init__(
        self,
        model: Any,
        unfairness: float | None = None,
        false_alarm: float = 0.01,
        *,
        shuffle: bool = True,
        X: TableLike | None = None,
        sensitive_features: TableLike | None = None,
    ) -> None:
        self._watched = monitored_scores(model, X, sensitive_features)
        self._streams = self._watched.streams(unfairness)
        bounds = {stream.measure.attributes[0]: stream.r for stream in self._streams}
        one = len(self._streams) == 1 and self._streams[0].measure.columns is None
        self.unfairness: Any = self._streams[0].r if one else bounds
        self.false_alarm = check_probability("false_alarm", false_alarm)
        self.model, self.shuffle = model, shuffle
        self.watches = "; ".join(stream.measure.words for stream in self._streams)
        self._processes = [EProcess.new(stream.columns.n_columns) for stream in self._streams]
        self._rows = 0

    @property
    def state(self) -> MonitorState:
        """What was seen so far."""
        each, part = self._processes, np.log(len(self._processes))
        log_wealth, largest = (
            max(getattr(process, name) for process in each) - part
            for name in ("log_wealth", "largest")
        )
        wealth = float(np.exp(min(log_wealth, LARGEST_EXPONENT)))
        alarm = bool(largest >= -np.log(self.false_alarm))
        return MonitorState(wealth, alarm, self._rows, sum(one.surprises for one in each))

    def update(
        self,
        X: TableLike,
        sensitive_features: TableLike | None = None,
        y: VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        offset: VectorLike | None = None,
        exposure: VectorLike | None = None,
    ) -> MonitorState:
        """Look at more rows, shuffled unless the monitor says otherwise.

        Parameters
        ----------
        X, sensitive_features, offset, exposure
            As in `predict`; a model that predicts without S needs S here, and one that was
            fitted with an offset or an exposure needs that. What a model that is not of
            fairridge predicts are rates, beside an exposure.
        y : array-like of shape (n,), optional
            Classes of the rows, for models with "mean-opportunity" and "mean-odds".
        sample_weight : array-like of shape (n,), optional
            Weights, if the bound is on a weighted population; a row of weight zero is absent.
            Predicted rates are weighted by the exposure as well.

        Returns
        -------
        MonitorState
            What the monitor has seen so far.
        """
        given = PassedRows(X, y, sensitive_features, sample_weight, offset, exposure)
        n_rows, values, weight = self._watched.read(given)
        if self.shuffle:
            order = self._order(n_rows, len(values))
            values, weight = values[order], weight[order]
        self._rows += n_rows
        self._processes = [
            add_rows(process, stream.columns, stream.r, values[:, stream.places], weight)
            for process, stream in zip(self._processes, self._streams, strict=True)
        ]
        return self.state

    def _order(self, n_rows: int, n_watched: int) -> Integers:
        """Return a random order of the rows of an update; the same for the same stream."""
        if n_rows < BET_ROWS:
            raise ValueError(
                f"an update of {n_rows} row{'s'[: n_rows > 1]} cannot be shuffled: pass at least "
                f"{BET_ROWS} at once, such as those of several days, or shuffle=False to Monitor "
                "if rows that follow each other have nothing in common."
            )
        return np.random.default_rng(self._rows).permutation(n_watched)

    # ------------------------------------------------------------------ files

    def save(self, path: Any) -> None:
        """Write the state as JSON; the model is not part of it."""
        state = {
            "library": "fairridge",
            "kind": "monitor",
            "format": FORMAT,
            "watches": self.watches,
            "unfairness": self.unfairness,
            "false_alarm": self.false_alarm,
            "fingerprint": self._watched.fingerprint,
            "rows": self._rows,
            "shuffle": self.shuffle,
            "processes": [process.to_dict() for process in self._processes],
        }
        with writing(path) as file:
            file.write(json.dumps(state | {"checksum": checksum(state)}).encode())

    @classmethod
    def load(
        cls,
        path: Any,
        model: Any,
        *,
        X: TableLike | None = None,
        sensitive_features: TableLike | None = None,
    ) -> Monitor:
        """Go on from a saved state with the same model, and the same earlier rows if it has any."""
        state = _read_state(path)
        if state.get("format") not in CONTINUED_FORMATS:
            raise ValueError(
                f"{str(path)!r} is the state of a monitor of another version of fairridge, "
                "whose bets cannot be continued; begin another state."
            )
        if state.get("checksum") != checksum(state):
            raise ValueError(
                f"{str(path)!r} was changed after it was written, or is damaged: its checksum does "
                "not match. Restore it, or begin another state."
            )
        # Earlier states looked at rows in their order.
        given = {
            "X": X,
            "sensitive_features": sensitive_features,
            "shuffle": state.get("shuffle", False),
        }
        r = state["unfairness"]
        of_attributes = isinstance(r, dict)  # which are those of the model
        monitor = cls(model, None if of_attributes else r, state["false_alarm"], **given)
        if state["fingerprint"] != monitor._watched.fingerprint:
            raise ValueError(f"{str(path)!r} is the state of a monitor of another model.")
        known = state["format"] == FORMAT  # earlier states say it in other words
        if known and state["watches"] != monitor.watches:
            raise ValueError(
                f"{str(path)!r} is the state of a monitor of {state['watches']}, and this "
                f"model bounds {monitor.watches}."
            )
        monitor._processes = [
            EProcess.from_dict(own, stream.columns.n_columns)
            for own, stream in zip(state.get("processes", [state]), monitor._streams, strict=True)
        ]
        monitor._rows = int(state["rows"])
        return monitor

    def __repr__(self) -> str:
        seen = ", ".join(f"{name}={value!r}" for name, value in asdict(self.state).items())
        return f"Monitor(unfairness={bound_text(self.unfairness)}, {seen})"


def _read_state(path: Any) -> dict[str, Any]:
    """Read a file, and refuse what is not the state of a monitor."""
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        known = state["library"] == "fairridge" and state["kind"] == "monitor"
        json.dumps(state, allow_nan=False)  # no state has a NaN
    except (KeyError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise ValueError(f"{str(path)!r} is not the state of a fairridge monitor.")
    found: dict[str, Any] = state
    return found


# ------------------------------------------------------------------------ what is watched


@dataclass(frozen=True)
class Stream:
    """A bound that is watched: on all of S, or on one attribute."""

    measure: Measure
    r: float
    columns: StreamColumns
    places: list[int]  # of these among the values that are read


@dataclass(frozen=True)
class MonitoredScores:
    """The scores whose R² on S is watched, and in which rows."""

    model: ScoredModel
    measure: Measure  # what is watched: the share of the variance of means, or of scores
    encoding: Encoding  # how S becomes numbers
    # Of a model that is not of fairridge, names of the columns of S; None for an array.
    names: tuple[str, ...] | None
    fingerprint: str  # that of the model, or of its predictions for earlier rows
    bounded: bool  # whether this is what the model bounds
    n_scores: int = 1
    controls: tuple[int, ...] = ()  # positions of the controls among the encoded predictors
    # Means and deviations of controls, S and scores in training, or in earlier rows, of shape
    # (k,); 0 and 1 for levels and probabilities.
    center: Floats | float = 0.0
    unit: Floats | float = 1.0

    def streams(self, unfairness: float | None) -> tuple[Stream, ...]:
        """Return what is watched for one bound; by default for those of the model."""
        if unfairness is not None:
            return (self._stream(self.measure, float(check_bound(unfairness)[0])),)
        if not self.model.fair:
            raise ValueError(
                f"{self.model.name} bounds nothing; give the bound to watch as unfairness=…"
            )
        if not self.bounded:
            raise ValueError(
                f"{self.model.linear._fitted.traits.definition.name} of a {self.model.family.name} "
                "model does not bound R² of predicted means; give the bound to watch as "
                "unfairness=…"
            )
        return tuple(self._stream(measure, r) for measure, r in self.model.bounds)

    def _stream(self, measure: Measure, r: float) -> Stream:
        """Watch all of S, or one attribute: controls, its columns of S, and scores."""
        columns, first = self.columns, len(self.controls)
        if measure.columns is None:
            return Stream(measure, r, columns, list(range(columns.n_columns)))
        own = [first + k for k in measure.columns]
        scores = range(columns.n_columns - self.n_scores, columns.n_columns)
        places = [*range(first), *own, *scores]
        attribute = (slice(first, first + len(own)),)
        watched = replace(columns, attributes=attribute, reach=columns.reach[places])
        return Stream(measure, r, watched, places)

    @property
    def n_classes(self) -> int:
        """In the rows of how many classes scores count, each by itself; 1 for all rows alike."""
        return max(len({code for _, code in self.measure.among}), 1)

    @property
    def columns(self) -> StreamColumns:
        """What the columns of the stream are, and how far apart two rows can be."""
        reach, first = self._reach, len(self.controls)
        if self.n_classes > 1:  # as `_by_class` has them
            S, scores = np.split(reach, [-self.n_scores])
            reach = np.concatenate([np.ones(self.n_classes - 1), *[S] * self.n_classes, scores])
            return StreamColumns(self.n_classes - 1, (), reach, self.n_scores)
        widths = [column.width for column in self.encoding.columns]
        widths += [len(self.encoding.products)] * bool(self.encoding.products)
        ends = first + np.cumsum([0, *widths])
        attributes = tuple(map(slice, ends[:-1].tolist(), ends[1:].tolist()))
        return StreamColumns(first, attributes, reach, self.n_scores)

    @property
    def _reach(self) -> Floats:
        """How far two rows can be apart in controls, S and scores; infinity if that is unknown."""
        inner = self.encoding
        own = [
            1.0 if isinstance(column, CategoricalColumn) else np.inf
            for column in inner.columns
            for _ in range(column.width)
        ]
        products = [max(own[k] for k in part) for part in inner.products]
        family = self.model.family
        probability = self.measure.whole == "means" and (
            family.proportion or family.reads == "classes"
        )
        scores = [1.0 if probability else np.inf] * self.n_scores
        return np.array([np.inf] * len(self.controls) + own + products + scores)

    def read(self, given: PassedRows) -> tuple[int, Floats, Floats]:
        """Return how many rows there are, and the values and weights of those looked at."""
        # Values are controls, S and the score, in units of their spread.
        given = given if self.measure.among else replace(given, y=None)
        if self.measure.among and given.y is None:
            raise ValueError(
                f"This model bounds what S explains among {self.measure.whom}. Pass y, once it is "
                "known, to say which rows these are."
            )
        if not self.model.fair and given.sensitive_features is None:
            raise ValueError("the monitor of this model needs sensitive_features=…")
        given = self.model.inner_rows(given)
        with np.errstate(over="ignore"):
            inputs, rows = read_rows(self.model, given, compared=False)
            judged = self.measure.judged(rows)
        weight = rows.mean_weight if self.measure.whole == "means" else rows.weight
        assert rows.attributes is not None
        S = rows.sensitive if self.model.fair else self._encoded(rows.attributes)
        scores = [score for score, _ in judged]
        values = (np.hstack([rows.controls, S, *scores]) - self.center) / self.unit
        usual = (np.abs(values) <= MAX_SCALE).all(axis=1)
        if not usual.all():
            place = np.arange(inputs.n_given)[inputs.keep][np.argmin(usual)]
            raise ValueError(
                f"the prediction or an attribute of row {place} is more than {MAX_SCALE:g} "
                "standard deviations from the training mean; leave the row out."
            )
        if weight.max(initial=1.0) > MAX_SCALE or weight.min(initial=1.0) < 1 / MAX_SCALE:
            raise ValueError(
                "sample_weight, times the exposure if there is one, leaves the range of usual "
                "numbers; divide the weights by their mean, and by the same number in every batch."
            )
        there = np.any([among > 0.0 for _, among in judged], axis=0)
        if self.n_classes > 1:
            values = self._by_class(values, judged)
        return len(values), values[there], weight[there]

    def _by_class(self, values: Floats, judged: list[Judged]) -> Floats:
        """Return classes as controls, S once for each of them, and scores where they count."""
        # What S explains among the rows of each class is then what it explains given these
        # controls.
        S, scores = np.split(values, [-self.n_scores], axis=1)
        inside = np.column_stack([weight > 0.0 for _, weight in judged])
        own = np.repeat(np.arange(len(judged)), [score.shape[1] for score, _ in judged])
        of_classes = [S * rows[:, None] for rows in inside.T]
        return np.hstack([inside[:, 1:], *of_classes, scores * inside[:, own]])

    def _encoded(self, S: Table) -> Floats:
        """Return S as numbers, as in earlier rows; columns are found by their names."""
        places = list(range(len(self.encoding.columns)))
        if self.names is not None and S.names is not None:
            missing = [name for name in self.names if name not in S.names]
            if missing:
                raise ValueError(f"sensitive_features lacks the column {missing[0]!r}.")
            places = [S.names.index(name) for name in self.names]
        elif S.shape[1] != len(places):
            raise ValueError(
                f"sensitive_features has {S.shape[1]} columns, and had {len(places)} before."
            )
        return dense_columns(self.encoding.pieces(S, places, "error"), self.encoding.names)

    def in_units(self, center: Floats, unit: Floats) -> MonitoredScores:
        """Return the same in these units, but for levels and probabilities, which stay."""
        unit = np.where(np.isfinite(unit) & (unit > 0.0), unit, 1.0)
        whole = np.isfinite(self._reach)
        return replace(self, center=np.where(whole, 0.0, center), unit=np.where(whole, 1.0, unit))


def monitored_scores(model: Any, X: Any = None, sensitive_features: Any = None) -> MonitoredScores:
    """Say what a monitor of a model watches; raise if it cannot be watched."""
    # - Statistical parity as a share of variance, in gaussian, Cox and blind models:
    #   R² of the linear predictor on S.
    # - Mean parity: R² of the predicted means. - Mean opportunity and mean odds: the same among
    # rows of a class, or of each class. - Either given controls: the partial R². - Other
    # definitions, and models that are not of fairridge, do not bound R² of anything: R² of
    #   the predicted means, for a bound that the user gives. Of the latter, levels of S and units
    #   of numbers are those of earlier rows, X and `sensitive_features`.
    known = scored_model(model)
    if known.fair:
        return _bounded_by(known)
    check_is_fitted(model)
    if X is None or sensitive_features is None:
        raise ValueError(
            f"the monitor of a {type(model).__name__} takes levels of S and units of numbers from "
            "earlier rows; pass some as X and sensitive_features."
        )
    S = as_table(sensitive_features, argument="sensitive_features")
    encoding = encode_columns(S, range(S.shape[1]), missing="level")
    attributes = S.labels
    measure = of_predictions(known.family, attributes)
    scores = predicted(model, X, sensitive_features)
    scores = scores[:, 1:] if scores.ndim == 2 and scores.shape[1] == 2 else scores
    n_scores = 1 if scores.ndim == 1 else scores.shape[1]
    plain = MonitoredScores(known, measure, encoding, S.names, "", bounded=False, n_scores=n_scores)
    found = np.column_stack([plain._encoded(S), scores])
    digest = sha256(np.ascontiguousarray(found, dtype="<f8").tobytes()).hexdigest()
    return replace(plain, fingerprint=digest).in_units(found.mean(axis=0), found.std(axis=0))


def _bounded_by(model: ScoredModel) -> MonitoredScores:
    """Return what a fair model bounds, or the share of its means."""
    form, measure = linear_form(model.linear, "Monitor"), model.measure
    assert measure is not None
    facts = model.linear._fitted
    controls = form.design.control_columns(facts.settings.controls) if measure.given else ()
    bounded = measure.of_variance
    if not bounded:
        measure = share_of_means(measure, form.family, rates=bool(facts.offsets))
    q, n_scores = len(form.design.sensitive.names), len(measure.among) or len(form.intercept)
    training = form.training
    # The standard deviation of linear predictors in training, the same for all classes.
    alpha = form.coefficients[:, :q] + form.coefficients[:, q:] @ training.B.T
    explained = float(np.sum(alpha @ training.covariance * alpha))
    spread = np.sqrt((explained + training.predictor_variance) / len(alpha))
    ends = form.level[0] + spread * np.array([-1.0, 0.0, 1.0])
    ends = form.family.mean(ends) if measure.whole == "means" and n_scores == 1 else ends
    own = np.concatenate([q + np.array(controls, dtype=np.intp), np.arange(q)])
    fingerprint, encoding = str(model.linear.fingerprint_), form.design.sensitive.inner
    plain = MonitoredScores(
        model, measure, encoding, None, fingerprint, bounded, n_scores=n_scores, controls=controls
    )
    return plain.in_units(
        np.append(training.center[own], np.full(n_scores, ends[1])),
        np.append(training.deviation[own], np.full(n_scores, (ends[2] - ends[0]) / 2.0)),
    )
