"""Where the unfairness of a fitted model comes from: which attributes, through which predictors.

Both answers are exact, and come from the sums that the fit left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairridge.export.form import InputColumn, linear_form
from fairridge.metrics import Attribution, Proxies, lmg, proxy_terms

__all__ = ["attribution", "proxies"]


def attribution(model: Any) -> Attribution:
    """Split VAR(Sα)/(VAR(Sα) + VAR(Uβ)) in training over the sensitive attributes (LMG).

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.

    Returns
    -------
    Attribution
    """
    form = linear_form(model, "attribution")
    training, alpha = form.training, np.atleast_2d(model.alpha_)
    cross = training.covariance @ alpha.T
    explained = float(np.einsum("mq,qm->", alpha, cross))
    columns = [column for column in form.columns if column.sensitive]
    return lmg(
        training.covariance,
        cross,
        explained + training.predictor_variance,
        _owners(columns),
        [column.name for column in columns],
        form.backend,
    )


def proxies(model: Any) -> Proxies:
    """Say how much S explains of every predictor, and through which predictors S enters η.

    Parameters
    ----------
    model : estimator
        A fitted linear model of fairridge.

    Returns
    -------
    Proxies
    """
    form = linear_form(model, "proxies")
    training = form.training
    columns = [column for column in form.columns if not column.sensitive]
    labels = [""] if len(form.coefficients) == 1 else [str(label) for label in form.labels]
    return proxy_terms(
        training.covariance,
        training.B,
        np.atleast_2d(model.alpha_),
        np.atleast_2d(model.beta_),
        training.deviation[len(training.B) : len(training.with_response)],
        _owners(columns),
        [column.name for column in columns],
        form.design.sensitive.names,
        labels,
        form.backend,
    )


def _owners(columns: Sequence[InputColumn]) -> list[int]:
    """For every encoded column, the number of the input column it belongs to."""
    return [k for k, c in enumerate(columns) for _ in range(c.encoded.stop - c.encoded.start)]
