"""Watching the predictions of a model on new people, at any time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairridge._arrays import LARGEST_EXPONENT
from fairridge._typing import Integers, TableLike, VectorLike
from fairridge.arguments import check_bound, check_probability
from fairridge.outputs import checksum, writing
from fairridge.validation.betting import BET_ROWS, EProcess, add_rows
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.watched import watched_of

# Of state files, those that say in other words what is watched, and earlier ones.
FORMAT = 4
CONTINUED_FORMATS = (2, 3, FORMAT)


@dataclass(frozen=True)
class MonitorState:
    """What a monitor has seen.

    Attributes
    ----------
    wealth : float
        What became of a stake of 1; large values speak against the bound.
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
        r, the bound on what is watched; that of the model by default.
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
    have no limit, and no test of R² could be exact, as a variance may hide in values that
    nobody has seen yet. Then the largest stake is such that the largest loss so far would cost
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
        self._watched = watched_of(model, X, sensitive_features)
        bound = self._watched.bound if unfairness is None else unfairness
        self.unfairness = float(check_bound(bound)[0])
        self.false_alarm = check_probability("false_alarm", false_alarm)
        self.model, self.shuffle = model, shuffle
        self.watches = self._watched.measure.words
        self._columns = self._watched.columns
        self._purse, self._rows = EProcess.new(self._columns.n_columns), 0

    @property
    def state(self) -> MonitorState:
        """What was seen so far."""
        purse = self._purse
        wealth = float(np.exp(min(purse.log_wealth, LARGEST_EXPONENT)))
        alarm = purse.largest >= -np.log(self.false_alarm)
        return MonitorState(wealth, bool(alarm), self._rows, purse.surprises)

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
        self._purse = add_rows(self._purse, self._columns, self.unfairness, values, weight)
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
            **self._purse.to_dict(),
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
        monitor = cls(model, state["unfairness"], state["false_alarm"], **given)
        if state["fingerprint"] != monitor._watched.fingerprint:
            raise ValueError(f"{str(path)!r} is the state of a monitor of another model.")
        known = state["format"] == FORMAT  # earlier states say it in other words
        if known and state["watches"] != monitor.watches:
            raise ValueError(
                f"{str(path)!r} is the state of a monitor of {state['watches']}, and this "
                f"model bounds {monitor.watches}."
            )
        monitor._purse = EProcess.from_dict(state, monitor._columns.n_columns)
        monitor._rows = int(state["rows"])
        return monitor

    def __repr__(self) -> str:
        seen = ", ".join(f"{name}={value!r}" for name, value in asdict(self.state).items())
        return f"Monitor(unfairness={self.unfairness:g}, {seen})"


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
