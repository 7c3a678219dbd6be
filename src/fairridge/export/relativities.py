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
    joined_offsets,
    make_frame,
    numeric_vector,
    read_offset,
    require_offsets,
    warn_of_order,
    weights,
)
from fairridge.data.columns import FilledColumn
from fairridge.export.form import InputColumn, LinearForm, linear_form, require_link
from fairridge.export.lines import NAN, Band, Line, lines_of, weighted
from fairridge.inference.estimates import check_probability, quantile

# What the line of a number without bands is called.
PER_UNIT = "per unit"
FACTORS = (
    "relativities multiply the mean of a model with a log link (poisson, gamma, tweedie, "
    "negative-binomial, quasi-poisson)"
)


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
    others = {"logit": "; export.scorecard writes log odds as points"}
    require_link(model, "log", FACTORS, others, "; its effects are not factors of a mean")
    form = linear_form(model, "relativities").without_sensitive()
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
    given = None if X is None else _read(form, X, y, fitted, joined)
    bands_of = {
        column.name: _bands(column, cuts[column.name].tolist(), given)
        for column in form.columns
        if column.name in cuts
    }
    lines = lines_of(form, bands_of)
    columns: dict[str, Any] = {
        "attribute": [line.attribute for line in lines],
        "role": [line.role for line in lines],
        "level": [PER_UNIT if line.is_number else line.level for line in lines],
        "reference": [line.reference for line in lines],
        "relativity": np.exp([weighted(line.adds, form.theta) for line in lines]),
    }
    if y is not None:
        columns |= _intervals(model, form, X, y, fitted, lines, confidence)
    if given is not None:
        columns |= _portfolio(lines, given)
    return make_frame(columns, form.backend)


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


def _read(form: LinearForm, X: Any, y: Any, fitted: Mapping[str, Any], offset: Any) -> _Rows:
    warn_of_order(X=X, y=y, **fitted)
    table = as_table(X, sparse=True)
    n = table.shape[0]
    Z = form.encoded(table, form.attributes(fitted["sensitive_features"]))
    weight, shift = weights(fitted["sample_weight"], n), read_offset(offset, n)
    weight = np.ones(n) if weight is None else weight
    eta = form.intercept[0] + Z @ form.coefficients[0] + (0.0 if shift is None else shift)
    observed = None
    if y is not None:
        observed = weight * numeric_vector(y, n, "y", slice(None))
    exposed = weight if shift is None else weight * np.exp(shift)
    return _Rows(Z, exposed, observed, weight * form.family.mean(eta))


def _portfolio(lines: Sequence[Line], rows: _Rows) -> dict[str, Any]:
    """Return exposure, observed and expected of every line."""
    places = np.vstack([np.ones(len(rows.exposure)), rows.columns.T])
    M = np.array(
        [weighted(x.members, places) if isinstance(x.members, dict) else x.members for x in lines]
    )
    columns: dict[str, Any] = {"exposure": M @ rows.exposure, "expected": M @ rows.expected}
    if rows.observed is not None:
        observed, expected = M @ rows.observed, columns["expected"]
        ratio = np.divide(observed, expected, out=np.full(len(M), NAN), where=expected > 0.0)
        columns |= {"observed": observed, "observed_over_expected": ratio}
    return columns


def _bands(column: InputColumn, ends: Sequence[float], rows: _Rows | None) -> list[Band]:
    """Return bands that have rows, or two ends, with the mean of the number there."""
    if rows is None:
        return [Band(low, high, (low + high) / 2.0) for low, high in pairwise(ends)]
    values, bands = rows.columns[:, column.encoded.start], []
    there = rows.exposure > 0.0
    if isinstance(column.encoding, FilledColumn):
        there = there & (rows.columns[:, column.encoded.stop - 1] == 0.0)
    for low, high in pairwise([-np.inf, *ends, np.inf]):
        inside = there & (values >= low) & (values < high)
        if not inside.any() and not np.isfinite(high - low):
            continue
        mean = (low + high) / 2.0
        if inside.any():
            mean = float(np.average(values[inside], weights=rows.exposure[inside]))
        bands.append(Band(low, high, mean, inside.astype(np.float64)))
    return bands


# ------------------------------------------------------------------- intervals


def _intervals(
    model: Any,
    form: LinearForm,
    X: Any,
    y: Any,
    fitted: dict[str, Any],
    lines: Sequence[Line],
    confidence: float,
) -> dict[str, Floats]:
    """Return the ends of e^(c·θ) by name, from intervals of logarithms; or warn of having none."""
    try:
        inference = model.inference(X, y, **fitted)
    except (AttributeError, ValueError) as error:
        warn_user(f"relativities have no intervals: {error}")
        return {}
    weights_of = np.zeros((len(lines), len(form.theta)))
    for weight, line in zip(weights_of, lines, strict=True):
        weight[list(line.adds)] = list(line.adds.values())
    raw, C = inference.raw, weights_of[:, [0, *(1 + form.design.input_order)]]
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", C, raw.covariance, C), 0.0))
    if raw.isolated is not None:  # coefficients without a standard error
        errors = np.where((C[:, raw.isolated] != 0.0).any(axis=1), NAN, errors)
    df: Any = inference.facts.df
    if raw.df is not None:  # those of the coefficient that the fewest rows tell of
        df = np.where(C != 0.0, raw.df, np.inf).min(axis=1)
    half = quantile(confidence, df) * errors
    center = C @ raw.estimate
    return {"lower": np.exp(center - half), "upper": np.exp(center + half)}
