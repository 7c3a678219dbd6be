"""Any model in one fold: fitted as its users fit it, and measured like linear models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from fairridge._typing import Floats
from fairridge.data import index_of
from fairridge.data.pipelines import predicted, with_columns_of
from fairridge.metrics.measure import dependence_of, measured_on_rows
from fairridge.metrics.scored_rows import ScoredRows
from fairridge.metrics.sensitive_columns import SensitiveColumns
from fairridge.search import of_parts
from fairridge.validation import evaluate
from fairridge.validation.decision_rates import Decisions
from fairridge.validation.folds import Fold
from fairridge.validation.linear import Scores, achieved_each
from fairridge.validation.passed_rows import PassedRows
from fairridge.validation.read_rows import read_rows
from fairridge.validation.scored_model import ScoredModel, scored_model

# Rows that show whether a model uses S, and the relative change of a prediction that does.
SHUFFLED_ROWS, PREDICTION_TOLERANCE = 1000, 1e-9


def scored(
    model: ScoredModel,
    rows: PassedRows,
    sensitive: Any = None,
    on: SensitiveColumns | None = None,
) -> ScoredRows:
    """Return rows with the scores of a fitted model.

    `sensitive` are the columns of X that are sensitive, if the model does not say.
    """
    _, found = read_rows(model, model.inner_rows(rows), sensitive)
    if on is None:
        return found
    return replace(found, sensitive=on.columns, attributes=on.attributes)


@of_parts()
def any_fold(
    model: Any,
    rows: PassedRows,
    fold: Fold,
    bounds: Floats,
    decisions: Decisions,
    sensitive: Any = None,
    on: SensitiveColumns | None = None,
) -> list[Scores]:
    """Fit to the training rows for every bound, and measure on the validation rows."""
    train, test = (rows.take(part) for part in fold)
    train_on, test_on = (None if on is None else on.take(part) for part in fold)
    if is_classifier(model):
        _require_classes(train.y, test.y)
    scores = []
    for known in _fitted_each(scored_model(model), train, bounds):
        of_train = scored(known, train, sensitive, train_on)
        of_test = scored(known, test, sensitive, test_on)
        in_training = dependence_of(of_train, adjusted=False) | evaluate.accuracy(of_train)
        held_out = dependence_of(of_test) | evaluate.accuracy(of_test)
        decided = decisions.take(fold[1]).decided_in(
            of_train.response[:, 0], of_train.weight, of_train.exposure
        )
        share = "share_of_means" if "share_of_means" in held_out else "share_of_eta"
        of_model = {
            "n": len(of_test.weight),
            "train_loss": in_training["loss"],
            "loss": held_out["loss"],
            **_in_training(known, of_train, in_training[share]),
            "achieved": _achieved(known, of_test) if known.fair else held_out[share],
            **achieved_each(known.bounds, of_test),
            **decided.of(of_test),
            "status": known.status,
        }
        scores.append(of_model | held_out)
    return scores


def _require_classes(train: Any, test: Any) -> None:
    """Raise if training rows lack a class of the validation rows."""
    lost = np.setdiff1d(np.asarray(test), np.asarray(train))
    if lost.size:
        raise ValueError(
            f"the training rows of a fold have no row of class {str(lost[0])!r}; use stratified "
            "or fewer folds."
        )


def _fitted_each(model: ScoredModel, train: PassedRows, bounds: Floats) -> Iterator[ScoredModel]:
    """Yield models for some bounds; those of a stacked model share one cross-fit."""
    if model.kind != "stacked" or not model.bare or model.last.learns_map:
        yield from (model.fitted(train, float(r)) for r in bounds)
        return
    path = clone(model.last).path(train.X, train.y, unfairness=bounds, **model.beside(train))
    yield from (scored_model(path.at(float(r))) for r in bounds)


def _in_training(model: ScoredModel, rows: ScoredRows, share: float) -> dict[str, float]:
    """Return what a model bounds in training, also by attribute; a share of one without a bound."""
    if model.measure is None:
        return {"train_achieved": share}
    reached = model.last.unfairness_
    if not isinstance(reached, Mapping):
        return {"train_achieved": reached}
    each = {f"train_achieved[{name}]": value for name, value in reached.items()}
    return {"train_achieved": model.measure.interval(rows, 0.5).value} | each


def _achieved(model: ScoredModel, rows: ScoredRows) -> float:
    """Return what a fair model bounds, on rows that it was not fitted to."""
    assert model.measure is not None
    measure = measured_on_rows(model.measure, rows.family)
    return measure.adjusted(rows) if measure.of_variance else measure.interval(rows, 0.5).value


def uses_sensitive(model: Any, rows: PassedRows, places: Sequence[int]) -> bool:
    """Whether predictions of a fitted model change with the attributes of a person.

    These are at some places in X, unless they are passed beside it.
    """
    rng = np.random.default_rng(0)
    some = rng.permutation(len(rows.y))[:SHUFFLED_ROWS]
    here, others = rows.take(some), rows.take(rng.permutation(some))
    if here.sensitive_features is None:
        changed = replace(here, X=with_columns_of(here.X, others.X, places))
    else:
        S, index = others.sensitive_features, index_of(here.sensitive_features)
        changed = replace(here, sensitive_features=S if index is None else S.set_axis(index))
    before, after = (predicted(model, each.X, each.sensitive_features) for each in (here, changed))
    return bool(np.abs(after - before).max() > PREDICTION_TOLERANCE * np.abs(before).max())
