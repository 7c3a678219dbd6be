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
from fairridge.data.columns import MISSING, FilledColumn
from fairridge.data.pipelines import split_pipeline, with_last
from fairridge.export.form import InputColumn, LinearForm, predicting_form

# Encoders: their names, whether rare levels were merged, whether unseen levels are the base level.
KINDS = (
    ("levels", False, False),
    ("open levels", False, True),
    ("merged levels", True, True),
)


def to_sklearn(model: Any) -> Any:
    """Build an estimator of scikit-learn's own that predicts the same.

    LinearRegression, LogisticRegression, or Poisson-, Gamma- or
    TweedieRegressor with the raw coefficients set; behind a OneHotEncoder
    if there are categoricals. A quasi-binomial model is a LinearRegression
    behind the logit of a TransformedTargetRegressor, and a Cox model a
    LinearRegression that predicts the log hazard ratio. It takes the columns
    of the fit, S before X if S was passed as `sensitive_features`.

    Models of counts and amounts predict rates, per unit of exposure, if they were
    fitted with an exposure: multiply by it. An offset of another link cannot be added.

    Use it for predictions only: refitting it drops the bound. Missing
    values are refused, except that with ``unknown="base"`` the encoder takes a
    missing category, too, for the base level. An encoder has no averages: if
    an unseen level would have one (S, or ``unknown="mean"``) it is refused.
    Models that learned from missing values (``missing="level"``) are refused.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge, or a `Pipeline` with one as its last step.

    Returns
    -------
    estimator
        Fitted; it needs fairridge no more.

    See Also
    --------
    to_onnx : A graph.
    fairridge.save : A file for fairridge itself.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.export import to_sklearn
    >>> model = FairRidgeRegressor(0.05).fit(X, y, sensitive_features=S)
    >>> same = to_sklearn(model).predict(np.hstack([S, X]))
    >>> print(np.allclose(same, model.predict(X, sensitive_features=S)))
    True
    """
    if isinstance(model, Pipeline):
        steps, last = split_pipeline(model)
        return with_last(model, steps, to_sklearn(last))
    form = predicting_form(model, "to_sklearn").compared_with_rest()
    for column in form.columns:
        if isinstance(column.encoding, FilledColumn) or (
            column.levels and column.levels.takes_missing and MISSING in column.levels.levels
        ):
            raise ValueError(
                f"to_sklearn has no missing values, and this {form.estimator_name} learned from "
                f"those of column {column.name!r} (missing='level'): use to_sql, to_python or "
                "to_onnx."
            )
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
        model.classes_ = np.sort(form.classes)
        # Of two classes scikit-learn models the second.
        sign = -1.0 if form.models_first else 1.0
        model.coef_, model.intercept_ = sign * coefficients, sign * np.array(form.intercept)
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
    columns = [
        (place if form.names is None else column.name, column)
        for place, column in enumerate(form.inputs)
    ]
    steps: list[Any] = []
    order: list[int] = []
    plain = [pair for pair in columns if pair[1].levels is None]
    if plain:
        steps.append(("numbers", "passthrough", [where for where, _ in plain]))
        order += [column.encoded.start for _, column in plain]
    for name, merges, ignores in KINDS:
        # A column whose levels are all rare says nothing, and is left out.
        chosen = [
            (where, column)
            for where, column in columns
            if column.levels
            and column.levels.merges == merges
            and (merges or column.unknown == "base") == ignores
            and not (merges and not column.coefficients.size)
        ]
        if chosen:
            encoder, places = _one_hot([column for _, column in chosen], merges, ignores)
            steps.append((name, encoder, [where for where, _ in chosen]))
            order += places
    return ColumnTransformer(steps).fit(_example(form)), np.array(order, dtype=np.intp)


def _one_hot(
    columns: list[InputColumn], merges: bool, ignores: bool
) -> tuple[OneHotEncoder, list[int]]:
    """Return an encoder of levels, and the encoded columns in the order it returns them.

    Where rare levels were merged, any level that is not named is the base level.
    """
    levels, bases, order = [], [], []
    for column in columns:
        encoding: Any = column.encoding
        base = encoding.base
        named = [k for k in range(len(encoding.levels)) if not (merges and k == base)]
        # scikit-learn wants numbers in order, and takes texts in any.
        if not any(isinstance(encoding.levels[k], str) for k in named):
            named.sort(key=encoding.levels.__getitem__)
        levels.append(np.array([encoding.levels[k] for k in named], dtype=object))
        bases.append(encoding.levels[base])
        order += [column.encoded.start + k - (k > base) for k in named if k != base]
    encoder = OneHotEncoder(
        categories=levels,
        drop=None if merges else np.array(bases, dtype=object),
        handle_unknown="ignore" if ignores else "error",
        sparse_output=False,
    )
    return encoder, order


def _example(form: LinearForm) -> Any:
    """Two rows of base levels and zeros, from which an encoder learns the names of its columns."""
    values: list[Any] = [
        column.levels.levels[0 if column.levels.merges else column.levels.base]
        if column.levels
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
