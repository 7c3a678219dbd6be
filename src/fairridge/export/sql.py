"""A model as a query: predictions where the data are.

The query nests one SELECT per step (sum the terms, keep what is finite, apply
the inverse link), so that no long expression is written, or computed, twice.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairridge.data import require_log_link
from fairridge.export.dialects import DIALECTS, Dialect
from fairridge.export.form import InputColumn, LinearForm, named_form

# Largest finite 64-bit float: NaN and infinity are not at most that.
LARGEST = sys.float_info.max
# η beyond which e^−t with t = e^η is zero, and e^t not yet an error.
LARGEST_RATE = 6.0
ETA = "linear_predictor"

Step = dict[str, str]


def to_sql(
    model: Any,
    dialect: str = "duckdb",
    *,
    table: str | Sequence[str] = "data",
    keep: Sequence[str] = (),
    offset: str | None = None,
    exposure: str | None = None,
) -> str:
    """Write a query that predicts.

    Its columns are `keep`, then ``linear_predictor`` and ``prediction``; for
    two classes also the probability of the class that is modeled, such as
    ``probability_GOOD``; for more classes ``linear_predictor`` and
    ``probability`` of each, with the label in the name. A row with a missing
    value (unless ``missing="level"``), with NaN or infinity, or with a level that
    was not there at fit (unless ``unknown`` says what it does) is predicted as
    NULL, because a query cannot refuse a single row. A comment at the top names columns whose
    text the command line converted before the fit (dates, amounts), and what to convert it to.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.
    dialect : {"bigquery", "duckdb", "mysql", "oracle", "postgres", "snowflake", "spark", \
"sqlserver"}
        Whose SQL to write. MySQL needs version 8.0.17, and models of more than
        two classes need SQL Server 2022.
    table : str or sequence of str
        Where the data are. ("schema", "table") is a qualified name.
    keep : sequence of str
        Columns of the table to return with the predictions, such as a key.
    offset : str, optional
        Column that is added to the linear predictor.
    exposure : str, optional
        Column of exposures, for models with the log link: ``prediction`` is then
        the count or amount of a row, and without it the rate, per unit of exposure;
        a comment says which if the model was fitted with an exposure or an offset.
        The linear predictor includes the logarithm. Rows whose exposure is not
        positive are predicted as NULL.

    Returns
    -------
    str
        One SELECT statement.

    See Also
    --------
    to_python : A module without dependencies.
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
    >>> from fairridge.export import to_sql
    >>> print(to_sql(model, "postgres", table="people").splitlines()[0])
    SELECT
    """
    form = named_form(model, "to_sql")
    if dialect not in DIALECTS:
        raise ValueError(
            f"dialect={dialect!r} is not known; use one of {', '.join(map(repr, DIALECTS))}."
        )
    if exposure is not None:
        require_log_link(form.link)
    d, shifts = DIALECTS[dialect], _shifts(DIALECTS[dialect], offset, exposure)
    keep = [keep] if isinstance(keep, str) else list(keep)
    etas = [ETA] if form.link != "softmax" else [f"{ETA}_{label}" for label in form.labels]
    terms = [d.identifier(name) for name in etas]
    steps = [
        dict(zip(terms, _sums(form, d, list(shifts.values())), strict=True)),
        {term: f"CASE WHEN ABS({term}) <= {d.number(LARGEST)} THEN {term} END" for term in terms},
        *_inverse_link(form, d, terms),
    ]
    names = [*(column.name for column in form.columns), *shifts]
    kept = [d.identifier(name) for name in keep]
    _require_apart([d.identifier(name) for name in names], d, "columns")
    for step in steps:
        _require_apart([*kept, *step], d, "results")
    parts = [table] if isinstance(table, str) else list(table)
    source = ".".join(d.identifier(part) for part in parts)
    return _comment(form, exposure) + _nested(source, steps, kept)


def _comment(form: LinearForm, exposure: str | None) -> str:
    """Say which columns to convert, and what a prediction is if rows had an exposure or offset."""
    lines = [line.replace("*/", "* /") for line in form.conversions]
    if form.link == "log" and form.offsets:
        rate = exposure is None
        what = "a rate, per unit of exposure" if rate else "a count or amount of the row"
        lines.append(f"prediction: {what}")
    return "/* {} */\n".format("\n   ".join(lines)) if lines else ""


def _shifts(d: Dialect, offset: str | None, exposure: str | None) -> dict[str, str]:
    """Write what is added to every linear predictor, by the column that it comes from."""
    shifts = {}
    if offset is not None:
        shifts[offset] = f"CAST({d.identifier(offset)} AS {d.double})"
    if exposure is not None:
        if exposure == offset:
            raise ValueError(f"column {offset!r} cannot be both the offset and the exposure.")
        number = f"CAST({d.identifier(exposure)} AS {d.double})"
        shifts[exposure] = f"CASE WHEN {number} > 0 THEN {d.log}({number}) END"
    return shifts


def _sums(form: LinearForm, d: Dialect, shifts: list[str]) -> list[str]:
    """Write every linear predictor as a sum of terms, one a line."""
    sums = []
    for k, intercept in enumerate(form.intercept):
        terms = [d.number(intercept), *(_term(column, k, d) for column in form.columns)]
        terms += [_product(form, part, values[k], d) for part, values in form.products]
        terms += shifts
        sums.append("\n    + ".join(terms))
    return sums


def _term(column: InputColumn, k: int, d: Dialect) -> str:
    """Write what a column adds to the k-th linear predictor; NULL if `predict` would refuse it."""
    name, values = d.identifier(column.name), column.level_values
    gone, other = (
        "" if value is None else d.number(value[k]) for value in (column.missing, column.unseen)
    )
    if not column.levels:
        number = f"{d.number(column.coefficients[k, 0])} * CAST({name} AS {d.double})"
        return f"CASE WHEN {name} IS NULL THEN {gone} ELSE {number} END" if gone else number
    if all(isinstance(level, str) for level in values):
        d.require_distinct(column.name, list(values))
        compared = f"CAST({name} AS {d.text}){d.collation}"
    else:
        compared = name
    cases = " ".join(
        f"WHEN {d.literal(level)} THEN {d.number(value[k])}" for level, value in values.items()
    )
    # Unless it is a level, a missing value stays missing, whatever unseen levels do.
    ending = [f"WHEN {name} IS NULL THEN {gone}"] if gone else []
    ending += [f"WHEN {name} IS NOT NULL THEN {other}"] if other else []
    rest = f"CASE {' '.join(ending)} END" if ending else "NULL"
    if not values:
        return rest
    return f"CASE {compared} {cases} {f'ELSE {rest} ' if ending else ''}END"


def _product(form: LinearForm, part: tuple[int, ...], coefficient: float, d: Dialect) -> str:
    """Write what a product of encoded columns of S adds: each factor is a term of its column."""
    factors = []
    for k in part:
        column = next(one for one in form.columns if one.encoded.start <= k < one.encoded.stop)
        unit = np.zeros_like(column.coefficients)
        unit[:, k - column.encoded.start] = 1.0
        factors.append(f"({_term(replace(column, coefficients=unit), 0, d)})")
    return " * ".join([d.number(coefficient), *factors])


def _inverse_link(form: LinearForm, d: Dialect, terms: list[str]) -> list[Step]:
    """Write the steps from η to predictions; every branch is safe for NULL."""
    eta, prediction = terms[0], d.identifier("prediction")
    if form.link == "softmax":
        return _softmax(form, d, terms)
    if form.link == "identity":
        return [{eta: eta, prediction: eta}]
    if form.link == "log":
        largest = d.number(700.0)  # as in predict: a finite number serves as infinity would
        capped = f"CASE WHEN {eta} > {largest} THEN EXP({largest}) ELSE {d.exp(eta)} END"
        return [{eta: eta, prediction: capped}]
    power, middle = d.identifier("power"), d.number(form.family.threshold)
    written = {"logit": _logistic, "cloglog": _complementary_log_log}
    if form.link not in written:
        raise ValueError(
            f"SQL has no function for the {form.link} link of this {form.estimator_name}; fit it "
            "with link='logit' or 'cloglog', or use to_onnx."
        )
    rate, mean = written[form.link](d, eta, power)
    first = {eta: eta, power: rate}
    if form.classes is None:
        return [first, {eta: eta, prediction: mean}]
    one, two = (d.literal(label) for label in form.labels)
    above, below = ("<", ">=") if form.models_first else (">", "<=")  # a tie is the first class
    label = (
        f"CASE WHEN {eta} {above} {middle} THEN {two} WHEN {eta} {below} {middle} THEN {one} END"
    )
    probability = d.identifier(f"probability_{form.positive}")
    return [first, {eta: eta, probability: mean, prediction: label}]


def _logistic(d: Dialect, eta: str, power: str) -> tuple[str, str]:
    """Write e^−|η|, which never overflows, and 1/(1 + e^−η) in it."""
    one = d.number(1.0)
    mean = f"CASE WHEN {eta} >= 0 THEN {one} ELSE {power} END / ({one} + {power})"
    return d.exp(f"(-ABS({eta}))"), mean


def _complementary_log_log(d: Dialect, eta: str, t: str) -> tuple[str, str]:
    """Write t = e^η, as large as it matters, and 1 − e^−t, by its series where t is small."""
    one, largest = d.number(1.0), d.number(LARGEST_RATE)
    rate = f"CASE WHEN {eta} > {largest} THEN EXP({largest}) ELSE {d.exp(eta)} END"
    series = one
    for k in (4, 3, 2):
        series = f"({one} - {t} / {d.number(k)} * {series})"
    small = f"{t} < {d.number(1e-3)}"
    return rate, f"CASE WHEN {small} THEN {t} * {series} ELSE {one} - {d.exp(f'(-{t})')} END"


def _softmax(form: LinearForm, d: Dialect, terms: list[str]) -> list[Step]:
    labels = form.labels
    powers = [d.identifier(f"power_{label}") for label in labels]
    probabilities = [d.identifier(f"probability_{label}") for label in labels]
    largest, total = d.identifier("largest"), d.identifier("total")
    same = {term: term for term in terms}
    shifted = {
        power: d.exp(f"({term} - {largest})") for power, term in zip(powers, terms, strict=True)
    }
    cases = " ".join(
        f"WHEN {term} = {largest} THEN {d.literal(label)}"
        for term, label in zip(terms, labels, strict=True)
    )
    kept = {largest: largest, **{power: power for power in powers}}
    return [
        {**same, largest: f"GREATEST({', '.join(terms)})"},
        {**same, largest: largest, **shifted},
        {**same, **kept, total: " + ".join(powers)},
        {
            **same,
            **{p: f"{power} / {total}" for p, power in zip(probabilities, powers, strict=True)},
            d.identifier("prediction"): f"CASE {cases} END",
        },
    ]


def _nested(source: str, steps: Sequence[Step], keep: Sequence[str]) -> str:
    query = source
    for depth, step in enumerate(steps):
        chosen = [
            *keep,
            *(name if name == value else f"{value} AS {name}" for name, value in step.items()),
        ]
        inner = query if depth == 0 else f"(\n{query}\n) t"
        query = "SELECT\n  " + ",\n  ".join(chosen) + f"\nFROM {inner}"
    return query


def _require_apart(names: Sequence[str], d: Dialect, what: str) -> None:
    """Raise if a database would take two quoted names for one."""
    seen: dict[str, str] = {}
    for name in names:
        key = name.casefold() if d.folds_case else name
        if key in seen:
            raise ValueError(
                f"the {what} {seen[key]} and {name} have the same name in {d.name}; "
                "rename one of them."
            )
        seen[key] = name
