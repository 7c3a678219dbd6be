"""What every fitted linear model can become: a query, a graph, a scorecard, reasons, a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fairridge.data import Design, as_table
from fairridge.export import (
    Direction,
    LinearForm,
    Reasons,
    Scorecard,
    TrainingColumns,
    fingerprint,
    read_model,
    reasons,
    scorecard,
    to_onnx,
    to_sklearn,
    to_sql,
    write_model,
)
from fairridge.metrics import Attribution, Proxies, lmg, proxies
from fairridge.solvers import FairBasis, Fit

__all__ = ["Exports", "load", "save"]

Floats = NDArray[np.float64]


class Exports:
    """Exports and explanations of a model that is linear in the encoded columns."""

    unknown: Any
    family_: Any
    alpha_: Floats
    beta_: Floats
    raw_coef_: Floats
    raw_intercept_: Any
    n_rows_: int
    _design: Design
    _backend: Any
    _training: TrainingColumns
    _attributes: Any  # reads `sensitive_features`

    def _remember_columns(self, basis: FairBasis, fit: Fit) -> None:
        """Keep what explanations and files need of the training data."""
        self._training = TrainingColumns.of(basis, fit)

    @property
    def fingerprint_(self) -> str:
        """SHA-256 digest of the training data: names, rows, weights and moments."""
        check_is_fitted(self)
        return fingerprint(self._training, self._design, self.n_rows_)

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        table: str | Sequence[str] = "data",
        keep: Sequence[str] = (),
        offset: str | None = None,
    ) -> str:
        """Return a query that predicts where the data are.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "spark"}
            Whose SQL to write.
        table : str or sequence of str
            Where the data are; ("schema", "table") for a qualified name.
        keep : sequence of str
            Columns of the table to return with the predictions, such as a key.
        offset : str, optional
            Column that is added to the linear predictor.
        """
        return to_sql(self._used("to_sql"), dialect, table=table, keep=keep, offset=offset)

    def to_sklearn(self) -> Any:
        """Return a plain scikit-learn estimator or pipeline that predicts the same."""
        return to_sklearn(self._used("to_sklearn"))

    def to_onnx(self) -> Any:
        """Return an ONNX model (extra ``onnx``) that predicts the same in 64-bit floats."""
        return to_onnx(self._used("to_onnx"))

    def scorecard(
        self,
        *,
        points_to_double_odds: float = 20.0,
        base_score: float = 600.0,
        base_odds: float = 50.0,
        favorable: Any = None,
        rounded: bool = True,
    ) -> Scorecard:
        """Return the log odds of a binomial model as points that add up.

        Parameters
        ----------
        points_to_double_odds : float, default=20
            So many points more double the odds.
        base_score, base_odds : float, default=600 and 50
            A score of `base_score` means odds of `base_odds` to one.
        favorable : class label, optional
            The class whose odds raise the score; by default the second.
        rounded : bool, default=True
            Whether to round points to integers.
        """
        return scorecard(
            self._used("scorecard"),
            points_to_double_odds=points_to_double_odds,
            base_score=base_score,
            base_odds=base_odds,
            favorable=favorable,
            rounded=rounded,
        )

    def reasons(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        top: int | None = 4,
        direction: Direction = "both",
        sensitive: bool = False,
        label: Any = None,
    ) -> Reasons:
        """Say what every row's score is made of, relative to the training mean.

        Parameters
        ----------
        X, sensitive_features
            As in `predict`.
        top : int, optional
            Reasons per row at most; None for all.
        direction : {"both", "down", "up"}
            Which reasons to name: all, by size; or only what lowers, or raises, the score.
        sensitive : bool, default=False
            Whether a sensitive attribute may be given as a reason.
        label : class label, optional
            The class to explain: by default the second of two, or the
            predicted one of more.
        """
        form = self._used("reasons")
        table, attributes = as_table(X), self._attributes(sensitive_features)
        return reasons(
            form, table, attributes, top=top, direction=direction, sensitive=sensitive, label=label
        )

    def attribution(self) -> Attribution:
        """Split VAR(Sα)/(VAR(Sα) + VAR(Uβ)) in training over sensitive attributes (LMG)."""
        form, training = self._form("attribution"), self._training
        alpha = np.atleast_2d(self.alpha_)
        cross = training.covariance @ alpha.T
        explained = float(np.einsum("mq,qm->", alpha, cross))
        own = [column for column in form.columns if column.sensitive]
        return lmg(
            training.covariance,
            cross,
            explained + training.predictor_variance,
            _owners(own),
            [column.name for column in own],
            self._backend,
        )

    def proxies(self) -> Proxies:
        """Say how much S explains of every predictor, and through which of them S enters η."""
        form, training = self._form("proxies"), self._training
        own = [column for column in form.columns if not column.sensitive]
        several = form.classes is not None and self.raw_coef_.ndim == 2
        return proxies(
            training.covariance,
            training.B,
            np.atleast_2d(self.alpha_),
            np.atleast_2d(self.beta_),
            training.deviation[len(training.B) : len(training.with_response)],
            _owners(own),
            [column.name for column in own],
            self._design.sensitive.names,
            [str(label) for label in form.classes]
            if several and form.classes is not None
            else [""],
            self._backend,
        )

    def save(self, path: Any) -> None:
        """Write the fitted model to a file; `fairridge.load` reads it.

        Parameters
        ----------
        path : str or path-like
            A JSON file, replaced if it is there.
        """
        check_is_fitted(self)
        if type(self) is not _models().get(type(self).__name__):
            raise TypeError(f"{type(self).__name__} is no model of fairridge: it cannot be saved.")
        self._require_linear("saved in a model file")
        write_model(self, path)

    def _form(self, purpose: str) -> LinearForm:
        check_is_fitted(self)
        self._require_linear(f"used in {purpose}")
        return LinearForm(
            type(self).__name__,
            self._design,
            np.atleast_2d(self.raw_coef_),
            np.atleast_1d(np.asarray(self.raw_intercept_, dtype=np.float64)),
            self._training.center[: len(self._training.with_response)],
            self.family_,
            self.unknown,
            getattr(self, "classes_", None),
            self._backend,
        )

    def _used(self, purpose: str) -> LinearForm:
        """Return the columns that predictions depend on."""
        return self._form(purpose).without_sensitive()

    def _require_linear(self, purpose: str) -> None:
        if not hasattr(self, "_training"):
            raise ValueError(
                f"{type(self).__name__} is not linear in the columns of the input, and it cannot "
                f"be {purpose}."
            )
        for name in ("predictor_map", "sensitive_map"):
            if getattr(self, name, None) is not None:
                raise ValueError(
                    f"this {type(self).__name__} has a {name}; its features are not columns of "
                    f"the input, and it cannot be {purpose}."
                )


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file that people can read.

    Parameters
    ----------
    model : estimator
        A fitted model of fairridge.
    path : str or path-like
        A JSON file, replaced if it is there.
    """
    if not isinstance(model, Exports):
        raise TypeError(f"{type(model).__name__} is no model of fairridge: it cannot be saved.")
    model.save(path)


def load(path: Any) -> Any:
    """Read a model from a file; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        What `save` wrote. Anything else is a ValueError that names the file.
    """
    return read_model(path, _models())


def _models() -> dict[str, type[Any]]:
    """Estimators of this library that are linear models, by name."""
    found, waiting = {}, list(Exports.__subclasses__())
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        concrete = hasattr(model, "fit") and hasattr(model, "predict")
        if concrete and model.__module__.startswith("fairridge."):
            found[model.__name__] = model
    return found


def _owners(columns: Sequence[Any]) -> list[int]:
    """For every encoded column, the number of the input column it belongs to."""
    return [k for k, c in enumerate(columns) for _ in range(c.encoded.stop - c.encoded.start)]
