"""Group metrics for the predictions of any model, of rows in memory or of a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.arguments import check_flag, is_number
from fairridge.data import Table, as_table, name_of, warn_of_order, weights
from fairridge.metrics.audit_tables import Audit
from fairridge.metrics.batches import Batches, InMemory, Streamed
from fairridge.metrics.comparison import Asked, AuditedColumns, ComparedRows, compare
from fairridge.metrics.groups import Attribute, attribute_values, attributes_of, written_out
from fairridge.metrics.learned_share import learned_share
from fairridge.metrics.outcomes import (
    AuditedInput,
    GivenKind,
    OutcomeSettings,
    Representatives,
    decide,
    of_times,
    read_predictions,
)
from fairridge.sources import RowSource
from fairridge.sources.batch import Batch, Sums
from fairridge.sources.encoder import kept_rows
from fairridge.sources.roles import Roles


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    threshold: float | None = None,
    positive: Any = None,
    favorable: Any = None,
    confidence: float = 0.95,
    bins: int = 4,
    small: int = 30,
    intersections: bool = False,
    reference: Mapping[str, Any] | None = None,
    kind: GivenKind | None = None,
    linear_predictor: Any = None,
    top: float | int | None = None,
    minimum_share: float = 0.0,
    learned: bool = True,
    survival: Any = None,
    controls: Any = None,
) -> Audit:
    """Compare the predictions of any model between groups of people.

    Parameters
    ----------
    y_true : array-like of shape (n,), a source of rows, or None
        Responses: numbers, or classes of any type. Without them only the
        predictions are compared. Of survival models two columns, time and event (1 or 0), with
        log hazard ratios as `y_pred`. A source (`fairridge.sources`) names its response,
        sensitive attributes, weights and exposures itself, and is read in three passes.
    y_pred : array-like of shape (n,) or (n, K)
        Predicted numbers; for classes, probabilities of the positive class,
        all columns of `predict_proba`, or predicted labels. For a source, what a model predicts
        for it, such as ``model.predict_proba(source)``.
    sensitive_features : frame or array of shape (n, k) or (n,)
        Sensitive attributes of any type. Numbers with more than `bins` values
        are cut at their (weighted) quantiles. People whose attribute is missing
        are a group of their own, "(missing)".
    sample_weight : array-like of shape (n,), optional
        Weights; a row of weight zero is absent.
    exposure : array-like of shape (n,), optional
        What responses and predictions are of, such as policy years: positive
        numbers e, with counts or amounts of the rows in both `y_true` and
        `y_pred`, as ``predict(X, exposure=e)`` gives them. People are then
        compared by rates, y/e and μ/e, and rows have the weight w·e.
    threshold : float, optional
        A row is selected when its prediction is above this, or not above it if
        low predictions are favorable: 0.5 by default for probabilities.
        Numbers of a regression have a selection rate only with a threshold.
    positive : label, optional
        The class whose probability is predicted; by default 1, True, or the
        second of the two sorted labels, the class that classifiers model.
    favorable : label, "low" or "high", optional
        The outcome that people want: a class, or low or high predictions.
        Selection rates, impact ratios, true and false positive rates and
        precision are about it. By default the positive class and high
        predictions, unless a name such as default, bad, fraud, churn or arrest
        suggests an unwanted outcome; the first line of the audit states the
        choice and the reason.
    confidence : float, default=0.95
        Level of the intervals. They are Wilson's for rates, Student's for means,
        DeLong's for the AUC, Newcombe's for differences of rates, Welch's for
        differences of means, the score interval for impact ratios (Koopman,
        Miettinen and Nurminen), and a noncentral χ² for R². Weighted rows count
        with Kish's effective number. Differences and ratios of an attribute
        with more than two groups hold for the extremes over all pairs.
    bins : int, default=4
        Groups of a numeric attribute.
    small : int, default=30
        Groups with fewer rows are listed and marked, but do not enter ratios
        and differences between groups, because they are too noisy.
    intersections : bool, default=False
        Whether to add the groups of all attributes crossed.
    reference : dict of str to level, optional
        For an attribute, the group that the others are compared with. By
        default distances compare a group with all rows outside it, and the
        adverse impact ratio with the group of the highest selection rate.
    kind : {"regression", "classification", "amounts"}, optional
        What responses are, "regression", "classification" or "amounts"; by default
        classification if `y_true` is not numeric or has at most two values. Amounts, such as
        costs and rates, are numbers of a regression that are positive by their nature: means
        of groups then have ratios. Whole numbers that are nowhere negative are taken for
        counts, which have them as well, unless `kind` is "regression"; the logarithm of an
        amount has none.
    linear_predictor : array-like of shape (n,) or (n, K), optional
        η of the model, without any offset, such as `decision_function`: then
        the audit has the share of η that S explains, too.
    top : float or int, optional
        Capacity, in place of a threshold: the share of the rows (0.2) or the number of them (500)
        that is selected, from the most favorable prediction on. Rows with the same prediction
        are selected together, or not at all. Weighted rows count with their weights, and rates
        with their exposure.
    minimum_share : float, default=0.0
        Groups with a smaller share of all rows are marked and left out as small ones are; the
        Uniform Guidelines have 0.02 (29 CFR 1607.4(A)).
    learned : bool, default=True
        Whether to learn how much of the predictions S explains in any way, linear or not:
        the cross-fitted R² of group means, or of boosted trees if attributes are numbers. An
        audit of a source leaves this out.
    survival : tuple of arrays of shape (m,) and (n, m), optional
        Of survival models, times and the predicted probabilities to outlive them, as
        ``predict_survival_function(X, times=times)`` gives them: then groups have the Brier
        score, the mean squared distance between these and what happened, averaged over the
        times and weighted for censoring (Graf et al. 1999).
    controls : frame or array of shape (n, c) or (n,), or columns of a source, optional
        What may differ between groups, such as the level of a job: then the audit has what S
        explains of the predictions among people with equal controls (`partial_r_squared`), and
        every group its `adjusted_difference`.

    Returns
    -------
    Audit

    See Also
    --------
    fairridge.metrics.Audit : What it returns.
    fairridge.report : A page for people who do not read tables.
    fairridge.Monitor : The same question, again and again.

    References
    ----------
    .. [1] docs/audit.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import audit
    >>> found = audit(y, model.predict_proba(X), sensitive_features=X[["Gender"]], favorable="GOOD")
    >>> print(f"{found.demographic_parity_difference:.3f}")
    0.016
    """
    check_options(confidence, bins, small, minimum_share)
    check_flag("intersections", intersections)
    check_flag("learned", learned)
    beside: dict[str, Any] = {
        "sensitive_features": sensitive_features, "sample_weight": sample_weight,
        "exposure": exposure, "linear_predictor": linear_predictor, "survival": survival,
    }  # fmt: skip
    if isinstance(y_true, RowSource):
        _refuse(**beside, top=top)
        batches, names, facts = _of_source(y_true, y_pred, controls)
    else:
        batches, names, facts = _of_rows(y_true, y_pred, controls, **beside)
    decision = partial(
        decide, **facts, threshold=threshold, top=top, favorable=favorable, positive=positive,
        kind=kind,
    )  # fmt: skip
    asked = partial(
        Asked,
        confidence=float(confidence),
        small=int(small),
        minimum_share=float(minimum_share),
        reference=reference or {},
        controls=names,
    )
    found = _audited(batches, decision, asked, bins, intersections=intersections, learned=learned)
    _warn_of_ranking(found)
    return found


def _audited(
    batches: Batches,
    decision: Callable[..., OutcomeSettings],
    asked: Callable[..., Asked],
    bins: int,
    *,
    intersections: bool,
    learned: bool,
) -> Audit:
    """Look at all rows, decide how they are read, and compare their groups."""
    seen = batches.sum(_first_look)
    attributes, controls = (attributes_of(seen[name], bins) for name in ("attributes", "controls"))
    backend = batches.rows.attributes.backend if isinstance(batches, InMemory) else None
    columns = AuditedColumns(attributes, intersections, backend)
    response = None if seen["response"] is None else seen["response"].values
    decided = decision(response, [column.values for column in seen["predicted"].parts.values()])
    if isinstance(batches, Streamed):
        batches = batches.in_pieces(columns.width + sum(len(one.column_names) for one in controls))
    batches = batches.map(partial(_compared, columns, controls, decided))
    question = asked(columns, decided)
    found = compare(batches, question)
    if not (learned and isinstance(batches, InMemory)):
        return found
    outcomes, S = batches.rows.outcomes, batches.rows.known.columns
    share = learned_share(outcomes.score, S, outcomes.weight, question.confidence)
    return replace(found, learned_share=share)


def _first_look(rows: AuditedInput) -> Sums:
    """Look at rows for what all of them decide before they are summed."""
    tables = {"attributes": rows.attributes, "controls": rows.controls}
    values = {
        name: None if table is None else attribute_values(table, rows.mean_weight, rows.kinds)
        for name, table in tables.items()
    }
    response = None if rows.response is None else Representatives.of(rows.response)
    predicted = Sums(dict(enumerate(map(Representatives.of, rows.columns))))
    return Sums(values | {"response": response, "predicted": predicted})


def _compared(
    columns: AuditedColumns,
    controls: Sequence[Attribute],
    decided: OutcomeSettings,
    rows: AuditedInput,
) -> ComparedRows:
    """Group rows and read their predictions."""
    return ComparedRows(
        columns.rows(rows.attributes, every_cell=rows.kinds is not None),
        decided.outcomes(rows),
        rows.eta,
        dict(zip(decided.several, rows.columns, strict=True)) if decided.several else {},
        None if rows.controls is None else written_out(controls, rows.controls),
    )


# ------------------------------------------------------------------------ rows, read


def _of_rows(
    y_true: Any,
    y_pred: Any,
    controls: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any,
    exposure: Any,
    linear_predictor: Any,
    survival: Any,
) -> tuple[Batches, tuple[str, ...], dict[str, Any]]:
    """Read rows in memory; with names of controls, and what else says how rows are read."""
    if sensitive_features is None:
        raise TypeError("audit() needs sensitive_features=…, the attributes to compare by.")
    S = as_table(sensitive_features, argument="sensitive_features")
    weighted = {"sample_weight": sample_weight, "exposure": exposure}
    warn_of_order(y_true=y_true, y_pred=y_pred, sensitive_features=S, **weighted)
    n = S.shape[0]
    keep, weight = _kept(sample_weight, n)
    rows = AuditedInput(
        attributes=_rows_of(S, keep),
        controls=None if controls is None else _controls(controls, n, keep),
        eta=None if linear_predictor is None else _eta(linear_predictor, n, keep),
        weight=weight,
        **read_predictions(y_true, y_pred, survival, exposure, n, keep),
    )
    names = () if rows.controls is None else rows.controls.labels
    return InMemory(rows), names, {
        "name": name_of(y_true), "of_times": of_times(y_true, survival),
        "rates": exposure is not None,
    }  # fmt: skip


def _of_source(
    source: RowSource, predictions: Any, given: Any
) -> tuple[Batches, tuple[str, ...], dict[str, Any]]:
    """Read batches of a source and what was predicted for them, as `_of_rows` does."""
    roles, controls = source.roles, _names(given)
    if not roles.sensitive:
        raise ValueError("name the sensitive column(s): sensitive=… in fairridge.sources.")
    for name in controls:
        if name not in roles.names:
            raise ValueError(f"controls names {name!r}; the columns are {', '.join(roles.names)}.")
    extras = [name for name in (roles.weight, roles.exposure) if name is not None]
    names = dict.fromkeys((*roles.sensitive, *controls, *roles.response, *extras))
    read = partial(_read_batch, roles, controls)
    facts = {
        "name": "".join(roles.response), "of_times": len(roles.response) > 1,
        "rates": roles.exposure is not None,
    }  # fmt: skip
    return Streamed(source.beside(predictions), tuple(names), read), controls, facts


def _read_batch(
    roles: Roles, controls: tuple[str, ...], batch: Batch, predicted: NDArray[Any]
) -> AuditedInput | None:
    """Read a batch and the predictions for it: rows of positive weight; None if there are none."""
    frame: nw.DataFrame[Any] = nw.from_native(batch.frame, eager_only=True)
    n = frame.shape[0]
    keep, weight = kept_rows(frame, roles.weight)
    if not len(np.arange(n)[keep]):
        return None
    response, exposure = "".join(roles.response), roles.exposure
    names = f"column {response!r}", "the prediction", f"exposure column {exposure!r}"
    read = read_predictions(
        frame.get_column(response) if len(roles.response) == 1 else None,
        predicted,
        None,
        None if exposure is None else frame.get_column(exposure),
        n,
        keep,
        names,
    )
    return AuditedInput(
        attributes=_columns(frame, roles.sensitive, keep),
        controls=_columns(frame, controls, keep) if controls else None,
        weight=np.ones(n) if weight is None else weight,
        kinds=roles.kinds,
        **read,
    )


def _columns(frame: nw.DataFrame[Any], names: Sequence[str], keep: Any) -> Table:
    """Return some columns of the rows that are kept."""
    return _rows_of(as_table(frame.select(*names).to_native()), keep)


# ------------------------------------------------------------------------ arguments


def _refuse(**given: Any) -> None:
    """Raise if something is given that a source has, or that needs the rows in memory."""
    for name, value in given.items():
        if value is None:
            continue
        if name in ("sensitive_features", "sample_weight", "exposure"):
            role = {"sensitive_features": "sensitive", "sample_weight": "weight"}.get(name, name)
            raise TypeError(
                f"{name} is a column of a source: name it in fairridge.sources, as {role}=…"
            )
        raise TypeError(
            f"{name} needs the rows in memory: pass responses and predictions as arrays."
        )


def _names(controls: Any) -> tuple[str, ...]:
    """Return the columns of a source that are controls."""
    if controls is None:
        return ()
    names = (controls,) if isinstance(controls, str) else tuple(controls)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("controls of a source are names of its columns.")
    return names


def _kept(sample_weight: Any, n_rows: int) -> tuple[Any, Floats]:
    """Return which rows have a positive weight, and their weights."""
    weight = weights(sample_weight, n_rows)
    if weight is None:
        return slice(None), np.ones(n_rows)
    keep = np.flatnonzero(weight)
    return keep, weight[keep]


def _rows_of(table: Table, keep: Any) -> Table:
    """Return the rows that are kept."""
    return table if isinstance(keep, slice) else table.take(keep)


def _controls(controls: Any, n_rows: int, keep: Any) -> Table:
    """Read the controls of the rows that are kept."""
    table = as_table(controls, argument="controls")
    if table.shape[0] != n_rows:
        raise ValueError(f"controls has {table.shape[0]} rows, and the predictions {n_rows}.")
    return _rows_of(table, keep)


def check_options(confidence: Any, bins: Any, small: Any, minimum_share: Any = 0.0) -> None:
    """Raise unless these are a confidence, a number of groups, of rows, and a share."""
    if not is_number(minimum_share) or not 0.0 <= minimum_share < 1.0:
        raise ValueError(f"minimum_share={minimum_share!r} must be a share from 0 to below 1.")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} must lie strictly between 0 and 1.")
    for name, value, minimum in (("bins", bins, 2), ("small", small, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
            raise ValueError(f"{name}={value!r} must be an integer, at least {minimum}.")


def _warn_of_ranking(found: Audit) -> None:
    """Warn if the predictions look like those of another class."""
    everyone = found.overall
    area, most = everyone.ranking.auc.value, everyone.ranking.auc.high
    if area != area:  # of labels
        rates = everyone.true_positive_rate, everyone.false_positive_rate
        area = 0.5 + (rates[0].value - rates[1].value) / 2.0
        most = 0.5 + (rates[0].high - rates[1].low) / 2.0
    if most < 0.5:
        label = np.asarray(found.positive).item()
        warn_user(
            f"Predictions are lower for rows of class {label!r} than for the others (AUC "
            f"{area:.3f}). If they are probabilities of another class, name it with positive."
        )


def _eta(linear_predictor: Any, n_rows: int, keep: Any) -> Floats:
    """Read η of the rows kept, one column per class if there are several."""
    eta: Floats = np.asarray(linear_predictor, dtype=np.float64)
    if len(eta) != n_rows or not np.isfinite(eta).all():
        raise ValueError(
            f"linear_predictor must have a finite number for each of the {n_rows} rows."
        )
    columns: Floats = eta.reshape(n_rows, -1)[keep]
    return columns
