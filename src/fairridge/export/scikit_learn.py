"""A model as a plain scikit-learn estimator, for places where only scikit-learn is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from fairridge._typing import Integers
from fairridge.data import make_frame
from fairridge.data.encoding import CategoricalColumn
from fairridge.export.form import LinearForm, linear_form

__all__ = ["to_sklearn"]


def to_sklearn(model: Any) -> Any:
    """Build an estimator of scikit-learn's own that predicts the same.

    LinearRegression, LogisticRegression, or Poisson-, Gamma- or
    TweedieRegressor with the raw coefficients set; behind a OneHotEncoder
    where there are categoricals. A quasi-binomial model is a LinearRegression
    behind the logit of a TransformedTargetRegressor, and a Cox model a
    LinearRegression that predicts the log hazard ratio. Its input are the
    columns of the fit, S before X where S came as `sensitive_features`.

    It is for predicting only: fitting it again forgets fairness. Missing
    values are refused, except that with ``unknown="base"`` the encoder takes a
    missing category, too, for the base level.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    """
    form = linear_form(model, "to_sklearn").without_sensitive()
    if form.link in ("probit", "cloglog"):
        raise ValueError(
            f"scikit-learn has no model with the {form.link} link of this {form.estimator_name}; "
            "fit it with link='logit', or use to_onnx."
        )
    if form.all_numeric:
        order = np.concatenate([np.arange(c.encoded.start, c.encoded.stop) for c in form.inputs])
        plain = _linear(form, order)
        if form.names is not None:
            plain.feature_names_in_ = np.array(form.names, dtype=object)
    else:
        encoder, order = _encoder(form)
        plain = Pipeline([("columns", encoder), ("model", _linear(form, order))])
    return _behind_logit(plain) if form.link == "logit" and form.classes is None else plain


def _linear(form: LinearForm, order: Integers) -> Any:
    """Return the last step, with coefficients in the order of its columns."""
    coefficients = form.coefficients[:, order]
    if form.classes is not None:
        model = LogisticRegression()
        model.classes_ = form.classes
        model.coef_, model.intercept_ = coefficients, np.array(form.intercept)
        model.n_iter_ = np.zeros(1, dtype=np.int32)
    else:
        model = _regressor(form, len(order))
        model.coef_, model.intercept_ = coefficients[0], float(form.intercept[0])
    model.n_features_in_ = len(order)
    return model


def _regressor(form: LinearForm, width: int) -> Any:
    if form.link != "log":
        return LinearRegression()
    power = form.family.power
    special = {1.0: PoissonRegressor, 2.0: GammaRegressor}.get(power)
    model = TweedieRegressor(power=power, link="log") if special is None else special()
    # A fit to nothing sets up what the estimator keeps to itself.
    return model.fit(np.zeros((2, width)), np.ones(2))


def _encoder(form: LinearForm) -> tuple[Any, Integers]:
    """Return a fitted encoder, and the order in which it returns the encoded columns."""
    numbers: list[Any] = []
    texts: list[Any] = []
    levels, bases, order = [], [], []
    for place, column in enumerate(form.inputs):
        where = place if form.names is None else column.name
        if not isinstance(column.encoding, CategoricalColumn):
            numbers.append(where)
            continue
        texts.append(where)
        named = column.encoding.levels
        # scikit-learn wants numbers in order, and takes texts in any.
        sort = range(len(named)) if isinstance(named[0], str) else np.argsort(list(named))
        base = column.encoding.base
        levels.append(np.array([named[k] for k in sort], dtype=object))
        bases.append(named[base])
        order += [column.encoded.start + k - (k > base) for k in map(int, sort) if k != base]
    encoder = OneHotEncoder(
        categories=levels,
        drop=np.array(bases, dtype=object),
        handle_unknown="error" if form.unknown == "error" else "ignore",
        sparse_output=False,
    )
    steps = [("numbers", "passthrough", numbers), ("levels", encoder, texts)]
    transformer = ColumnTransformer([step for step in steps if step[2]])
    plain = [c.encoded.start for c in form.inputs if not isinstance(c.encoding, CategoricalColumn)]
    return transformer.fit(_example(form)), np.array([*plain, *order], dtype=np.intp)


def _example(form: LinearForm) -> Any:
    """Two rows of base levels and zeros, from which an encoder learns the names of its columns."""
    values: list[Any] = [
        column.encoding.levels[column.encoding.base]
        if isinstance(column.encoding, CategoricalColumn)
        else 0.0
        for column in form.inputs
    ]
    if form.names is None:
        return np.array([values, values], dtype=object)
    return make_frame(
        {name: [value, value] for name, value in zip(form.names, values, strict=True)},
        form.backend,
    )


def _behind_logit(model: Any) -> Any:
    """Return expit(model), for proportions."""
    outer = TransformedTargetRegressor(
        regressor=LinearRegression(), func=logit, inverse_func=expit, check_inverse=False
    )
    outer.fit(np.zeros((2, 1)), np.full(2, 0.5))
    outer.regressor_ = model
    return outer
