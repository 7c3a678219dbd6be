"""A model as a Python module of a few lines that needs nothing but Python."""

from __future__ import annotations

from pprint import pformat
from typing import Any

from fairridge.export.form import InputColumn, LinearForm, named_form
from fairridge.metrics.favorable import plain

HEAD = '''"""Scores of a {estimator} of fairridge, in plain Python.

predict(row) takes a dict of {columns} column(s) and returns the linear
predictor and {result}.
"""

import math

{conversions}INTERCEPT = {intercept}

# What columns add: a coefficient times a number, or what a level adds, another one than those of
# the fit, or a missing value; what is not named is an error.
TERMS = {terms}
'''
SCORES = '''

def linear_predictors(row, offset=0.0):
    """Return the list of linear predictors of one row."""
    found = [level + offset for level in INTERCEPT]
    for name, term in TERMS.items():
        value, added = row.get(name), None
        if value is None or value != value:
            added, fault = term.get("missing"), "is missing"
        elif "slope" in term:
            value, fault = float(value), f"is {value}, not a finite number"
            if math.isfinite(value):
                added = [c * value for c in term["slope"]]
        else:
            added = term["levels"].get(value, term.get("other"))
            fault = f"has the unknown level {value!r}"
        if added is None:
            raise ValueError(f"{name!r} {fault}.")
        found = [eta + one for eta, one in zip(found, added)]
    return found
'''
MEANS = {
    "identity": "eta",
    "log": "math.exp(min(eta, 700.0))",
    "logit": "1.0 / (1.0 + math.exp(-eta)) if eta >= 0 else math.exp(eta) / (1.0 + math.exp(eta))",
    "probit": "0.5 * math.erfc(-eta / math.sqrt(2.0))",
    "cloglog": "-math.expm1(-math.exp(min(eta, 700.0)))",
}
NUMBER = '''

def predict(row, offset=0.0):
    """Return the linear predictor and the prediction of one row."""
    (eta,) = linear_predictors(row, offset)
    return {{"linear_predictor": eta, "prediction": {mean}}}
'''
RATE = '''

def predict(row, offset=0.0, exposure=1.0):
    """Return the linear predictor and the prediction of one row: its rate times its exposure."""
    if not 0.0 < exposure < math.inf:
        raise ValueError(f"the exposure is {{exposure}}, not a positive number.")
    (eta,) = linear_predictors(row, offset + math.log(exposure))
    return {{"linear_predictor": eta, "prediction": {mean}}}
'''
TWO_CLASSES = '''

CLASSES = {classes}


def predict(row, offset=0.0):
    """Return the linear predictor, the probability of a class, and the likelier class."""
    (eta,) = linear_predictors(row, offset)
    probability = {mean}
    return {{
        "linear_predictor": eta,
        {probability}: probability,
        "prediction": CLASSES[eta {sign} {threshold!r}],
    }}
'''
CLASSES = '''

CLASSES = {classes}


def predict(row, offset=0.0):
    """Return the linear predictors and probabilities of all classes, and the likeliest."""
    etas = linear_predictors(row, offset)
    largest = max(etas)
    powers = [math.exp(eta - largest) for eta in etas]
    total = sum(powers)
    found = {{f"linear_predictor_{{c}}": eta for c, eta in zip(CLASSES, etas)}}
    found |= {{f"probability_{{c}}": power / total for c, power in zip(CLASSES, powers)}}
    return found | {{"prediction": CLASSES[etas.index(largest)]}}
'''


def to_python(model: Any) -> str:
    """Write a Python module that scores one row at a time and imports only `math`.

    The module has one function for users, ``predict(row, offset=0.0)``, where
    `row` is a dict of column names and values; with the log link it is
    ``predict(row, offset=0.0, exposure=1.0)``, and the prediction is the rate unless an
    exposure is given, by which it is multiplied. It returns a dict with
    ``linear_predictor`` and ``prediction``; for two classes also the
    probability of the class that is modeled, such as ``probability_GOOD``; for
    more classes ``linear_predictor`` and ``probability`` of each. A missing
    value (unless ``missing="level"``), or a level that was not there at fit
    (unless ``unknown`` says what it does), raises a ValueError that names the
    column.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.

    Returns
    -------
    str
        The source of the module; arrays have columns x0, x1, … there.

    See Also
    --------
    to_sql : A query.
    to_onnx : A graph.

    References
    ----------
    .. [1] docs/export.md.

    Examples
    --------
    >>> from fairridge import FairRidgeClassifier
    >>> from fairridge.datasets import load_german_credit
    >>> credit = load_german_credit()
    >>> X, y = credit.X[["Age", "Gender", "Duration"]], credit.y
    >>> model = FairRidgeClassifier(0.01, sensitive=["Age", "Gender"], definition="mean-parity")
    >>> model = model.fit(X, y)
    >>> from fairridge.export import to_python
    >>> scorer = {}
    >>> exec(to_python(model), scorer)
    >>> row = X.iloc[0].to_dict()
    >>> same = scorer["predict"](row)["probability_GOOD"] - model.predict_proba(X[:1])[0, 1]
    >>> print(abs(same) < 1e-12)
    True
    """
    form = named_form(model, "to_python")
    head = HEAD.format(
        estimator=form.estimator_name,
        columns=len(form.columns),
        result=_result(form),
        conversions="".join(f"# {line}\n" for line in form.conversions),
        intercept=_written(form.intercept.tolist()),
        terms=_written({column.name: _term(column) for column in form.columns}),
    )
    return head + SCORES + _prediction(form)


def _result(form: LinearForm) -> str:
    """Say what is predicted."""
    if form.labels:
        return "the likeliest class"
    rates = form.link == "log" and form.offsets
    return (
        "the predicted rate, times the exposure if one is given"
        if rates
        else ("the predicted mean")
    )


def _prediction(form: LinearForm) -> str:
    if form.link == "softmax":
        return CLASSES.format(classes=_written(form.labels))
    mean = MEANS[form.link]
    if form.classes is None:
        return (RATE if form.link == "log" else NUMBER).format(mean=mean)
    return TWO_CLASSES.format(
        classes=_written(form.labels),
        mean=mean,
        probability=repr(f"probability_{form.positive}"),
        sign="<" if form.models_first else ">",  # a tie is the first class
        threshold=float(form.family.threshold),
    )


def _term(column: InputColumn) -> dict[str, Any]:
    """Return what a column adds, the base level included."""
    term: dict[str, Any] = {"slope": column.coefficients[:, 0].tolist()}
    if column.levels:
        term = {"levels": {plain(k): value.tolist() for k, value in column.level_values.items()}}
        strange = [level for level in term["levels"] if not isinstance(level, str | int | float)]
        if strange:
            kind = type(strange[0]).__name__
            raise ValueError(
                f"the level {strange[0]!r} of column {column.name!r} is a {kind}, which a plain "
                "Python module cannot hold; use strings."
            )
    for name, value in (("other", column.unseen), ("missing", column.missing)):
        if value is not None:
            term[name] = value.tolist()
    return term


def _written(value: Any) -> str:
    """Write a constant, with all digits."""
    return pformat(value, sort_dicts=False, width=100)
