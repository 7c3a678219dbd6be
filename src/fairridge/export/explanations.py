"""Where the unfairness of a fitted model comes from: which attributes, through which predictors.

Both answers are exact, and come from the sums that the fit left behind. How well predictors
tell the attributes needs rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.arguments import check_count
from fairridge.data import Levels, as_table, weights
from fairridge.data.columns import FilledColumn
from fairridge.engines.blocks import not_finite_message
from fairridge.export.form import LinearForm, linear_form
from fairridge.metrics.attribution import (
    AttributeLeakage,
    Attribution,
    Proxies,
    attribute_leakage,
    lmg,
    proxy_terms,
)
from fairridge.metrics.measure import attribute_owners


def attribution(model: Any, *, controls: Any = None) -> Attribution:
    """Split what S explains of scores in training over the sensitive attributes (LMG).

    That is VAR(Sα)/(VAR(Sα) + VAR(Uβ)); given controls, of what these leave of scores and S.
    Weights of the fit count; offsets and exposures are not part of Sα + Uβ.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    controls : tuple, optional
        ``()`` for what S explains whatever the controls; by default given those of the model.

    Returns
    -------
    Attribution

    See Also
    --------
    fairridge.proxies : Through which predictors S enters.
    fairridge.metrics.Attribution : What it returns.

    References
    ----------
    .. [1] Lindeman, Merenda and Gold (1980), Introduction to bivariate and multivariate
        analysis.
    .. [2] docs/audit.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import attribution
    >>> found = attribution(model)
    >>> print(dict(zip(found.attributes, found.shares.round(4).tolist(), strict=True)))
    {'Age': 0.0079, 'Gender': 0.0056}
    """
    form = linear_form(model, "attribution")
    alpha, _, columns = _given(form, model, controls)
    return lmg(
        columns.covariance,
        columns.covariance @ alpha.T,
        float(np.einsum("mq,qr,mr->", alpha, columns.covariance, alpha))
        + columns.predictor_variance,
        *attribute_owners(form.design.sensitive.inner),
        form.backend,
    )


def _given(form: LinearForm, model: Any, controls: Any) -> tuple[Floats, Floats, Any]:
    """Return α, β, and moments of columns, given the controls of the model if it has any."""
    training = form.training
    if controls is not None and len(controls):
        raise ValueError(
            f"controls={controls!r}: leave them out for those of the model, or pass () for none."
        )
    if controls is None and training.given is not None:
        return training.given.alpha, training.given.beta, training.given
    return np.atleast_2d(model.alpha_), np.atleast_2d(model.beta_), training


def proxies(
    model: Any,
    X: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    n_folds: int = 5,
    controls: Any = None,
) -> Proxies:
    """Say how much S explains of every predictor, and through which predictors S enters η.

    With rows, also the other direction: how well each predictor, and all of
    them together, predict each sensitive attribute on held-out rows.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    X, sensitive_features : array-like or frame, optional
        Rows, as in `fit`: of the training data or others.
    sample_weight : array-like of shape (n,), optional
        Weights of these rows; a row of weight zero is absent. For rates, pass weights times
        exposures. What S explains in training has the weights of the fit.
    n_folds : int
        Number of folds for the held-out measures.
    controls : tuple, optional
        ``()`` for proxies whatever the controls; by default given those of the model, which
        are then no proxies themselves.

    Returns
    -------
    Proxies
        With `telling` if there are rows.

    See Also
    --------
    fairridge.attribution : Which attributes they stand for.
    fairridge.metrics.Proxies : What it returns.

    References
    ----------
    .. [1] "The model" in docs/model.md: η = c + S(α − Bβ) + Xβ.
    .. [2] docs/audit.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge import proxies
    >>> found = proxies(model)
    >>> print(found.predictors, found.explained.round(3))
    ('Duration',) [0.009]
    """
    check_count("n_folds", n_folds, minimum=2)
    form = linear_form(model, "proxies")
    alpha, beta, moments = _given(form, model, controls)
    names = [column.name for column in form.columns if not column.sensitive]
    widths = [column.encoding.width for column in form.columns if not column.sensitive]
    owners = np.repeat(np.arange(len(widths)), widths)
    deviation = form.training.deviation[len(form.training.B) : len(form.training.with_response)]
    if moments is not form.training:
        owners, deviation = owners[list(moments.others)], moments.deviation
    kept, owners = np.unique(owners, return_inverse=True)
    labels = [""] if len(form.coefficients) == 1 else [str(label) for label in form.labels]
    terms = proxy_terms(
        moments.covariance,
        moments.B,
        alpha,
        beta,
        deviation,
        owners.tolist(),
        [names[j] for j in kept],
        form.design.sensitive.names,
        labels,
        form.backend,
    )
    if X is None:
        return terms
    telling = _telling(form, terms.predictors, X, sensitive_features, sample_weight, n_folds)
    return replace(terms, telling=telling)


def _telling(
    form: LinearForm,
    predictors: Sequence[str],
    X: Any,
    sensitive_features: Any,
    sample_weight: Any,
    n_folds: int,
) -> AttributeLeakage:
    table, attributes = as_table(X, sparse=True), form.attributes(sensitive_features)
    weight = weights(sample_weight, table.shape[0])
    if weight is not None:
        kept = np.flatnonzero(weight > 0.0)
        weight, table = weight[kept], table.take(kept)
        attributes = None if attributes is None else attributes.take(kept)
    # Refuses missing and unknown levels, and other columns, as predict does.
    form.design.encode(table, attributes, form.unknown, estimator_name=form.estimator_name)
    columns: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for column in form.columns:
        values = form.values(column, table, attributes)
        if not isinstance(values, Levels):
            learned = isinstance(column.encoding, FilledColumn)
            known = values[~np.isnan(values.astype(np.float64))] if learned else values
            if not np.isfinite(known).all():
                raise ValueError(not_finite_message([(column.name, known)]))
        if column.sensitive or column.name in predictors:
            columns[column.sensitive][column.name] = values
    return attribute_leakage(
        columns[False], columns[True], weight=weight, n_folds=n_folds, backend=table.backend
    )
