"""Tariff factors: a model with a log link as a base rate and factors that multiply it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge._warnings import warn_user
from fairridge.data import (
    as_table,
    dense_columns,
    joined_offsets,
    make_frame,
    numeric_vector,
    read_offset,
    require_offsets,
    warn_of_order,
    weights,
)
from fairridge.data.columns import MISSING, FilledColumn
from fairridge.export.form import InputColumn, LinearForm, linear_form
from fairridge.inference.estimates import check_probability, quantile

NAN = float("nan")
# Beside the factors: what they are of, and what rows have there.
BASE, PER_UNIT = "(base)", "per unit"


@dataclass(frozen=True)
class _Line:
    """One row of the table: e^(c·θ) of intercept and encoded columns, and who is there."""

    attribute: str
    role: str
    level: str
    reference: float  # the number that a band stands for; NaN for levels
    combination: Floats  # c, in the order of the encoded columns, the intercept first
    members: Floats | None  # share of every row that belongs here; None without rows


@dataclass(frozen=True)
class _Rows:
    """Rows of a portfolio, as the model reads them."""

    columns: Floats  # encoded, of shape (n, k)
    exposure: Floats  # weight times exposure
    observed: Floats | None  # weight times response
    expected: Floats  # weight times predicted mean


def relativities(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    bands: Mapping[str, Sequence[float]] | None = None,
    confidence: float = 0.95,
) -> Any:
    """Write a model with a log link as tariff factors.

    The mean is exposure × base rate × Π relativities. A level has the relativity
    e^(coefficient), and 1 is that of the base level. A number changes the mean by the
    factor e^(coefficient) per unit; with `bands` it has a relativity in every band,
    e^(coefficient × (x − x₀)), where x is the mean of the number there (the middle of the
    band without X) and x₀ the same of the band with the training mean.

    Parameters
    ----------
    model : estimator
        A fitted model of fairridge with a log link: "poisson", "gamma", "tweedie",
        "negative-binomial" or "quasi-poisson".
    X, y, sensitive_features, sample_weight, offset
        Rows, as in `fit`. With X there is the exposure of every level; with y also what
        was observed and expected there, and intervals if these are the rows of the fit.
    exposure : array-like of shape (n,), optional
        Exposure of the rows, such as years: adds log(exposure) to the offset. With y it is
        needed if the model was fitted with one.
    bands : dict of str to sequence of float, optional
        Ends of the bands of numeric columns, increasing. ``{"age": [18, 25, 40, 65]}``
        makes 18 to 25 (without 25), 25 to 40 and 40 to 65, and, if there are rows, below
        18 and from 65 on.
    confidence : float, default=0.95
        Level of the intervals.

    Returns
    -------
    frame
        One row per level or band, the base rate first, with the columns attribute, role,
        level, reference, relativity, lower, upper; with X exposure and expected; with y
        observed and observed_over_expected. Exposure is the sum of weight × exposure; an
        offset counts as the logarithm of an exposure.

    See Also
    --------
    scorecard : The same for binomial models.
    to_sql : A query that prices.

    References
    ----------
    .. [1] docs/guides/insurance.md.

    Examples
    --------
    >>> import numpy as np
    >>> from fairridge import FairRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> S, X, noise = rng.normal(size=(3, 100, 1))
    >>> y = (S + X + noise)[:, 0]
    >>> from fairridge.export import relativities
    >>> model = FairRidgeRegressor(0.02, family="gamma", definition="mean-parity")
    >>> table = relativities(model.fit(X, np.exp(y), sensitive_features=S))
    >>> print(table.shape[0])
    3
    """
    form = _log_form(model)
    check_probability("confidence", confidence)
    cuts = _checked_bands(form, bands or {})
    if X is None and y is not None:
        raise ValueError("y without X has no levels; pass the rows, too.")
    fitted = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "offset": offset,
        "exposure": exposure,
    }
    joined = joined_offsets(form.link, offset, exposure)
    if y is not None:
        require_offsets(model._fitted.offsets, joined, form.estimator_name)
    given = None
    if X is not None:
        warn_of_order(X=X, y=y, **fitted)
        table, S = as_table(X, sparse=True), form.attributes(sensitive_features)
        shift = read_offset(joined, table.shape[0])
        given = _read(form, table, S, y, sample_weight, shift)
    lines = _lines(form, cuts, given)
    theta = np.concatenate([form.intercept[:1], form.coefficients[0]])
    combinations = np.array([line.combination for line in lines])
    columns: dict[str, Any] = {
        "attribute": [line.attribute for line in lines],
        "role": [line.role for line in lines],
        "level": [line.level for line in lines],
        "reference": [line.reference for line in lines],
        "relativity": np.exp(combinations @ theta),
    }
    if y is not None:
        ends = _ends(model, form, X, y, fitted, combinations, confidence)
        if ends is not None:
            columns["lower"], columns["upper"] = ends
    if given is not None:
        columns |= _portfolio(lines, given)
    return make_frame(columns, form.backend)


def _log_form(model: Any) -> LinearForm:
    """Return the linear form, or say by name which models have no factors."""
    family = getattr(model, "family_", None)
    if family is not None and family.link != "log":
        advice = (
            "; export.scorecard writes log odds as points"
            if family.link == "logit"
            else "; its effects are not factors of a mean"
        )
        raise ValueError(
            f"relativities multiply the mean of a model with a log link (poisson, gamma, tweedie, "
            f"negative-binomial, quasi-poisson); this {type(model).__name__} is a {family.name} "
            f"model with the {family.link} link{advice}."
        )
    return linear_form(model, "relativities").without_sensitive()


def _checked_bands(form: LinearForm, bands: Mapping[str, Sequence[float]]) -> dict[str, Floats]:
    known = {column.name: column for column in form.columns}
    checked = {}
    for name, ends in bands.items():
        if name not in known:
            raise ValueError(f"bands names {name!r}, which is not a column of the model.")
        if known[name].levels:
            raise ValueError(f"bands names {name!r}, which has levels; bands are for numbers.")
        edges = np.asarray(ends, dtype=np.float64).reshape(-1)
        if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0.0).all():
            raise ValueError(f"bands[{name!r}] = {ends!r} must be two or more increasing numbers.")
        checked[name] = edges
    return checked


# ------------------------------------------------------------------------ rows


def _read(
    form: LinearForm, table: Any, S: Any, y: Any, sample_weight: Any, shift: Floats | None
) -> _Rows:
    n = table.shape[0]
    pieces = form.design.encode(table, S, form.unknown, estimator_name=form.estimator_name)
    Z = dense_columns((*pieces[0], *pieces[1]), form.design.encoded_names)
    weight = weights(sample_weight, n)
    weight = np.ones(n) if weight is None else weight
    eta = form.intercept[0] + Z @ form.coefficients[0] + (0.0 if shift is None else shift)
    observed = None
    if y is not None:
        observed = weight * numeric_vector(y, n, "y", slice(None))
    exposed = weight if shift is None else weight * np.exp(shift)
    return _Rows(Z, exposed, observed, weight * form.family.mean(eta))


def _portfolio(lines: Sequence[_Line], rows: _Rows) -> dict[str, Any]:
    """Return exposure, observed and expected of every line."""
    members = [np.ones(len(rows.exposure)) if x.members is None else x.members for x in lines]
    M = np.array(members)
    columns: dict[str, Any] = {"exposure": M @ rows.exposure, "expected": M @ rows.expected}
    if rows.observed is not None:
        observed, expected = M @ rows.observed, columns["expected"]
        ratio = np.divide(observed, expected, out=np.full(len(M), NAN), where=expected > 0.0)
        columns |= {"observed": observed, "observed_over_expected": ratio}
    return columns


# ----------------------------------------------------------------------- lines


def _lines(form: LinearForm, cuts: Mapping[str, Floats], rows: _Rows | None) -> list[_Line]:
    size = 1 + form.coefficients.shape[1]
    base = np.zeros(size)
    base[0] = 1.0
    lines = []
    for column in form.columns:
        found, level = (
            _of_levels(column, size, rows)
            if column.levels
            else _of_number(form, column, size, cuts.get(column.name), rows)
        )
        base += level
        lines += found
    return [_Line(BASE, "", "", NAN, base, None), *lines]


def _of_levels(column: InputColumn, size: int, rows: _Rows | None) -> tuple[list[_Line], Floats]:
    """Return the levels, the base level where it stands; the base adds nothing to η."""
    assert column.levels is not None
    base, lines = column.levels.base, []
    Z = None if rows is None else rows.columns[:, column.encoded]
    for k, level in enumerate(column.levels.levels):
        place = column.encoded.start + k - (k > base)
        combination = np.zeros(size)
        members = None if Z is None else 1.0 - Z.sum(axis=1)
        if k != base:
            combination[1 + place] = 1.0
            members = None if Z is None else Z[:, place - column.encoded.start]
        lines.append(_Line(column.name, column.role, str(level), NAN, combination, members))
    return lines, np.zeros(size)


def _of_number(
    form: LinearForm, column: InputColumn, size: int, edges: Floats | None, rows: _Rows | None
) -> tuple[list[_Line], Floats]:
    """Return the bands of a number, or its factor per unit; and its part of the base."""
    first = column.encoded.start
    one = np.eye(size)[1 + first]
    there = None
    values = None if rows is None else rows.columns[:, first]
    if isinstance(column.encoding, FilledColumn) and rows is not None:
        there = rows.columns[:, first + 1] == 0.0
    mean = float(form.center[first])
    if edges is None:
        level, reference = PER_UNIT, mean
        lines = [_Line(column.name, column.role, level, mean, one, None)]
    else:
        bands = _bands(edges, values, there, None if rows is None else rows.exposure)
        reference = next(
            (x for low, high, x, _ in bands if low <= mean < high),
            min((x for *_, x, _ in bands), key=lambda x: abs(x - mean)),
        )
        lines = [
            _Line(column.name, column.role, _words(low, high), x, (x - reference) * one, members)
            for low, high, x, members in bands
        ]
    if isinstance(column.encoding, FilledColumn):
        lost = np.eye(size)[2 + first] + (column.encoding.mean - reference) * one
        members = None if there is None else (~there).astype(np.float64)
        lines.append(_Line(column.name, column.role, MISSING, NAN, lost, members))
    return lines, reference * one


def _bands(
    edges: Floats, values: Floats | None, there: Any, weight: Floats | None
) -> list[tuple[float, float, float, Floats | None]]:
    """Return ends, mean and members of every band; without rows, those between two ends."""
    if values is None or weight is None:
        return [(low, high, (low + high) / 2.0, None) for low, high in pairwise(edges.tolist())]
    bands = []
    for low, high in pairwise([-np.inf, *edges.tolist(), np.inf]):
        inside = (values >= low) & (values < high) & (weight > 0.0)
        inside &= True if there is None else there
        if inside.any():
            mean = float(np.average(values[inside], weights=weight[inside]))
        elif np.isfinite(low) and np.isfinite(high):
            mean = (low + high) / 2.0
        else:
            continue
        bands.append((low, high, mean, inside.astype(np.float64)))
    return bands


def _words(low: float, high: float) -> str:
    """Name a band so that no spreadsheet takes it for a date."""
    if not np.isfinite(low):
        return f"below {high:g}"
    return f"from {low:g}" if not np.isfinite(high) else f"{low:g} to {high:g}"


# ------------------------------------------------------------------- intervals


def _ends(
    model: Any,
    form: LinearForm,
    X: Any,
    y: Any,
    fitted: dict[str, Any],
    combinations: Floats,
    confidence: float,
) -> tuple[Floats, Floats] | None:
    """Return the ends of e^(c·θ) on the scale of logarithms; None, with a warning, without any."""
    try:
        inference = model.inference(X, y, **fitted)
    except (AttributeError, ValueError) as error:
        warn_user(f"relativities have no intervals: {error}")
        return None
    order = np.concatenate([[0], 1 + form.design.input_order])
    raw, C = inference.raw, combinations[:, order]
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", C, raw.covariance, C), 0.0))
    if raw.isolated is not None:  # coefficients without a standard error
        errors = np.where((C[:, raw.isolated] != 0.0).any(axis=1), NAN, errors)
    df: Any = inference.facts.df
    if raw.df is not None:  # those of the coefficient that the fewest rows tell of
        df = np.where(C != 0.0, raw.df, np.inf).min(axis=1)
    half = quantile(confidence, df) * errors
    center = C @ raw.estimate
    return np.exp(center - half), np.exp(center + half)
