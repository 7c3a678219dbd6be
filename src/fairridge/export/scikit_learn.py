"""A model as a plain scikit-learn estimator, for places where only scikit-learn is."""

from __future__ import annotations

from collections.abc import Sequence
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

from fairridge._typing import Floats
from fairridge.data import make_frame
from fairridge.data.columns import MISSING, FilledColumn
from fairridge.data.pipelines import split_pipeline, with_last
from fairridge.export.form import LinearForm, predicting_form


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
    values are refused, except that an encoder that takes unseen levels (S, or with
    ``unknown="base"``) takes a missing category for one, too.
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
    form = predicting_form(model, "to_sklearn")
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
        plain = _linear(form, form.intercept, [column.coefficients for column in form.inputs])
        if form.names is not None:
            plain.feature_names_in_ = np.array(form.names, dtype=object)
    else:
        plain = _behind_encoder(form)
    return _behind_logit(plain) if form.link == "logit" and form.classes is None else plain


def _linear(form: LinearForm, intercept: Floats, blocks: Sequence[Floats]) -> Any:
    """Return the last step, with these intercepts and blocks of coefficients."""
    coefficients = np.hstack(blocks)
    if form.classes is not None:
        model = LogisticRegression()
        model.classes_ = np.sort(form.classes)
        # Of two classes scikit-learn models the second.
        sign = -1.0 if form.models_first else 1.0
        model.coef_, model.intercept_ = sign * coefficients, sign * intercept
        model.n_iter_ = np.zeros(1, dtype=np.int32)
    else:
        model = _regressor(form, coefficients.shape[1])
        model.coef_, model.intercept_ = coefficients[0], float(intercept[0])
    model.n_features_in_ = coefficients.shape[1]
    return model


def _regressor(form: LinearForm, width: int) -> Any:
    if form.link != "log":
        return LinearRegression()
    power = form.family.power
    special = {1.0: PoissonRegressor, 2.0: GammaRegressor}.get(power)
    model = TweedieRegressor(power=power, link="log") if special is None else special()
    # A fit to nothing sets up what the estimator keeps to itself.
    return model.fit(np.zeros((2, width)), np.ones(2))


def _behind_encoder(form: LinearForm) -> Any:
    """Return the model behind an encoder with one 0/1 column per level."""
    # A level adds what it differs from an unseen one, which is all zeros.
    intercept, blocks, steps = np.array(form.intercept), [], []
    for place, column in enumerate(form.inputs):
        where = [place if form.names is None else column.name]
        if not column.levels:
            steps.append((f"number {place}", "passthrough", where))
            blocks.append(column.coefficients)
            continue
        values = column.level_values
        texts = [isinstance(level, str) for level in values]
        if any(texts) and not all(texts):
            raise ValueError(
                f"column {column.name!r} has texts and other values as levels, which scikit-learn "
                "does not encode: make all of them texts before fitting."
            )
        # scikit-learn wants numbers in order, and takes texts in any.
        named = list(values) if any(texts) else sorted(values)
        if column.unseen is not None:
            intercept += column.unseen
        if named:  # a column whose levels are all rare says nothing, and is left out
            encoder = OneHotEncoder(
                categories=[np.array(named, dtype=object)],
                handle_unknown="error" if column.unseen is None else "ignore",
                sparse_output=False,
            )
            steps.append((f"levels {place}", encoder, where))
            differences = np.array([values[level] for level in named]).T
            blocks.append(differences - (0.0 if column.unseen is None else column.unseen[:, None]))
    encoder = ColumnTransformer(steps).fit(_example(form))
    return Pipeline([("columns", encoder), ("model", _linear(form, intercept, blocks))])


def _example(form: LinearForm) -> Any:
    """Two rows of levels and zeros, from which an encoder learns the names of its columns."""
    values: list[Any] = [next(iter(column.level_values), 0.0) for column in form.inputs]
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
