"""What a model remembers of its training columns, and the fingerprint of its data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Design, Encoding, MappedEncoding
from fairridge.models import FairBasis, Fit

__all__ = ["TrainingColumns", "fingerprint"]


@dataclass(frozen=True)
class TrainingColumns:
    """Moments of the training data, as far as explanations and files need them.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    center, deviation : ndarray of shape (q+p+m,)
        Means and standard deviations of [S, X, y], with y as m columns of numbers.
    covariance : ndarray of shape (q, q)
        Covariance of S.
    B : ndarray of shape (q, p)
        Coefficients of X on S.
    with_response : ndarray of shape (q+p, m)
        Covariances of [S, X] with y.
    predictor_variance : float
        VAR(Uβ), summed over classes.
    """

    weight: float
    center: Floats
    deviation: Floats
    covariance: Floats
    B: Floats
    with_response: Floats
    predictor_variance: float

    @classmethod
    def of(cls, basis: FairBasis, fit: Fit) -> TrainingColumns:
        """Take them from the small matrices of a fit."""
        S, U, B, n = basis.sensitive, basis.predictors, basis.B, basis.weight
        S_y, U_y = S.products(basis.on_sensitive), U.products(basis.on_predictors)
        return cls(
            n,
            np.concatenate([basis.center, basis.center_targets]),
            np.append(basis.deviations, np.sqrt(np.diag(basis.target_scatter) / n)),
            S.scatter() / n,
            B,
            np.concatenate([S_y, B.T @ S_y + U_y]) / n,
            fit.predictor_variance,
        )


def fingerprint(training: TrainingColumns, design: Design, n_rows: int) -> str:
    """Return a SHA-256 digest of the training data, in hexadecimal.

    It covers names and levels, number of rows, sum of weights, means, standard
    deviations, and correlations of every column with the sensitive attributes
    and the response: what a fit leaves behind, so that no row is read again.
    They are rounded to 6 decimals (deviations to 9 digits), so that another
    machine, another number of threads or another order of the rows gives the
    same digest.
    """
    deviation, q, k = training.deviation, len(training.B), len(training.with_response)
    unit = np.where(deviation > 0.0, deviation, 1.0)
    with_S = np.hstack([training.covariance, training.covariance @ training.B])
    facts = {
        "columns": [_described(design.sensitive), _described(design.predictors)],
        "rows": n_rows,
        "weight": f"{training.weight:.8e}",
        "deviation": [f"{value:.8e}" for value in deviation],
    }
    digest = hashlib.sha256(json.dumps(facts).encode())
    for values in (
        training.center / unit,
        with_S / np.outer(unit[:q], unit[:k]),
        training.with_response / np.outer(unit[:k], unit[k:]),
    ):
        steps = np.clip(np.rint(values * 1e6), -9e18, 9e18).astype("<i8")
        digest.update(steps.tobytes())
    return digest.hexdigest()


def _described(encoding: Encoding | MappedEncoding) -> list[list[str]]:
    """Names of encoded columns, then every input column with its levels."""
    inner = encoding if isinstance(encoding, Encoding) else encoding.inner
    return [
        list(encoding.names),
        *([column.name, *map(str, getattr(column, "levels", ()))] for column in inner.columns),
    ]
