"""Watching the predictions of a model on new people, at any time.

R² of scores f on S is at most r only if, for every direction a and κ > 0, with
h = sᵀa and Δ the difference of two independent rows,

    E[ ΔhΔf/2 − (√r/4)(κΔh² + Δf²/κ) ] ≤ 0

(Cauchy–Schwarz, then the inequality of means). A gambler who stakes a share of
the wealth on that bracket for each pair of rows, with a, κ and the stake taken
from earlier pairs only, multiplies the wealth by more than 1/α with a
probability of at most α while the statement holds, however often one looks
(Ville's inequality; Chugg, Cortes-Gomez, Wilder and Ramdas 2023 for two groups).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairridge._typing import Floats, TableLike
from fairridge.arguments import check_bound, check_probability
from fairridge.data import as_table, dense_columns
from fairridge.estimators._each import require_one_bound
from fairridge.export import linear_form
from fairridge.fairness import StatisticalParity, is_variance_share
from fairridge.outputs import writing

# Pairs that only teach the direction and the scales, before the first bet.
WARM_UP = 50
# Standard deviations in training beyond which unbounded scores and attributes are cut.
CUT = 4.0
# Largest share of the wealth that one pair may cost.
LARGEST_LOSS = 0.5
# What a monitor has learned, by its name in files.
NUMBERS = ("log_wealth", "largest", "rows", "pairs", "won", "squared", "SS", "Sf", "ff")


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
        Rows seen.
    """

    wealth: float
    alarm: bool
    n_rows: int


class Monitor:
    """Watch whether S explains more of a model's predictions than a bound, on new rows.

    The probability of a false alarm, ever, is at most `false_alarm`, if rows
    arrive in an order that has nothing to do with S and the predictions.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge with one linear predictor.
    unfairness : float, optional
        r, the bound on R² of the predicted means on S; that of the model by default.
    false_alarm : float, default=0.01
        α.

    Notes
    -----
    Predicted means that have no bounds, and numeric attributes, are cut at four standard
    deviations around the training mean: the bound is then watched for the cut values.
    """

    def __init__(
        self, model: Any, unfairness: float | None = None, false_alarm: float = 0.01
    ) -> None:
        form = linear_form(model, "Monitor")
        if len(form.intercept) > 1:
            raise TypeError("Monitor watches one score; this model has several classes.")
        bound = _own_bound(model) if unfairness is None else unfairness
        self.unfairness = float(check_bound(bound)[0])
        self.false_alarm = check_probability("false_alarm", false_alarm)
        self.model = model
        self._design, self._unknown = model._design, model.unknown
        training, q = form.training, len(model.sensitive_names_)
        self._middle, self._reach = training.center[:q], CUT * training.deviation[:q]
        self._low, self._high = _range_of_means(form)
        self._log_wealth, self._largest, self._rows = 0.0, 0.0, 0
        self._pairs, self._won, self._squared = 0, 0.0, 1.0
        self._SS, self._Sf, self._ff = 1e-3 * np.eye(q), np.zeros(q), 1e-3
        self._waiting: list[float] | None = None

    @property
    def state(self) -> MonitorState:
        """What was seen so far."""
        alarm = self._largest >= -np.log(self.false_alarm)
        return MonitorState(float(np.exp(self._log_wealth)), bool(alarm), self._rows)

    def update(self, X: TableLike, sensitive_features: TableLike | None = None) -> MonitorState:
        """Look at more rows, in the order in which they came.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`; a model that predicts without S needs S here.
        """
        values = self._values(X, sensitive_features)
        self._rows += len(values)
        if self._waiting is not None:
            values = np.vstack([self._waiting, values])
        n = len(values) // 2 * 2
        self._waiting = None if n == len(values) else values[n].tolist()
        for step in values[0:n:2] - values[1:n:2]:
            self._bet(step[:-1], float(step[-1]))
        return self.state

    def _values(self, X: Any, sensitive_features: Any) -> Floats:
        """Return S, cut and in units of its reach, and scores in [0, 1]."""
        name = type(self.model).__name__
        mean = self.model.family_.mean(self.model._linear_predictor(X, sensitive_features, None))
        attributes = self._design.attributes(sensitive_features, estimator_name=name)
        pieces, _ = self._design.encode(as_table(X), attributes, self._unknown, estimator_name=name)
        S = dense_columns(pieces, self._design.sensitive.names)
        reach = np.where(self._reach > 0.0, self._reach, 1.0)
        S = np.clip((S - self._middle) / (2.0 * reach), -0.5, 0.5)
        scores = np.clip((mean - self._low) / (self._high - self._low), 0.0, 1.0)
        return np.column_stack([S, scores])

    def _bet(self, s: Floats, f: float) -> None:
        """Bet on one pair, and learn from it; |Δs| and |Δf| are at most 1."""
        if self._pairs >= WARM_UP:
            a = np.linalg.solve(self._SS, self._Sf)
            spread = float(a @ self._SS @ a)
            if spread > 0.0:
                a *= np.sqrt(self._ff / spread)  # h on the scale of f, so that κ = 1
                h, root = float(s @ a), np.sqrt(self.unfairness) / 4.0
                gain = h * f / 2.0 - root * (h * h + f * f)
                far = float(np.abs(a).sum())
                worst = max(far / 2.0 + root * (far * far + 1.0), 1e-9)
                stake = float(np.clip(self._won / self._squared, 0.0, LARGEST_LOSS / worst))
                self._log_wealth += float(np.log1p(stake * gain))
                self._largest = max(self._largest, self._log_wealth)
                self._won, self._squared = self._won + gain, self._squared + gain * gain
        self._pairs += 1
        self._SS += np.outer(s, s)
        self._Sf += s * f
        self._ff += f * f

    # ------------------------------------------------------------------ files

    def save(self, path: Any) -> None:
        """Write the state as JSON; the model is not part of it."""
        state = {
            "library": "fairridge",
            "kind": "monitor",
            "unfairness": self.unfairness,
            "false_alarm": self.false_alarm,
            "fingerprint": self.model.fingerprint_,
            **{name: np.asarray(getattr(self, f"_{name}")).tolist() for name in NUMBERS},
            "waiting": self._waiting,
        }
        with writing(path) as file:
            file.write(json.dumps(state).encode())

    @classmethod
    def load(cls, path: Any, model: Any) -> Monitor:
        """Go on from a saved state with the same model."""
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
            if state["library"] != "fairridge" or state["kind"] != "monitor":
                raise KeyError
            if state["fingerprint"] != model.fingerprint_:
                raise ValueError(f"{str(path)!r} is the state of a monitor of another model.")
            monitor = cls(model, state["unfairness"], state["false_alarm"])
            monitor._restore(state)
        except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError):
            raise ValueError(f"{str(path)!r} is not the state of a fairridge monitor.") from None
        return monitor

    def _restore(self, state: dict[str, Any]) -> None:
        for name in NUMBERS:
            own, saved = np.asarray(getattr(self, f"_{name}")), np.asarray(state[name], np.float64)
            if saved.shape != own.shape or not np.isfinite(saved).all():
                raise KeyError(name)
            value = saved.astype(own.dtype)
            setattr(self, f"_{name}", value if value.ndim else value.item())
        self._waiting = state["waiting"]

    def __repr__(self) -> str:
        seen = ", ".join(f"{name}={value!r}" for name, value in asdict(self.state).items())
        return f"Monitor(unfairness={self.unfairness:g}, {seen})"


def _own_bound(model: Any) -> float:
    """Return the bound of a model, if it is one on R² of its predicted means."""
    require_one_bound(model, "Monitor without unfairness=…")
    definition, family = model._traits.definition, model.family_
    parity = isinstance(definition, StatisticalParity) and is_variance_share(definition, family)
    if not (definition.own_ridge or (parity and family.least_squares)):
        raise ValueError(
            f"{definition.name} of a {family.name} model does not bound R² of predicted means; "
            "give the bound to watch as unfairness=…"
        )
    return float(model.unfairness)


def _range_of_means(form: Any) -> tuple[float, float]:
    """Return bounds of predicted means: 0 and 1 for probabilities, else where they are cut."""
    if form.classes is not None:
        return 0.0, 1.0
    q = len(form.design.sensitive.names)
    S, B = form.training.covariance, form.training.B
    alpha = form.coefficients[0, :q] + B @ form.coefficients[0, q:]
    spread = float(np.sqrt(alpha @ S @ alpha + form.training.predictor_variance))
    ends = form.family.mean(form.level[0] + CUT * max(spread, 1e-12) * np.array([-1.0, 1.0]))
    return float(ends[0]), float(ends[1])
