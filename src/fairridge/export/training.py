"""What is kept of the training data for explanations and files, and their fingerprint."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from fairridge._typing import Floats
from fairridge.data import Design, Encoding, MappedEncoding


@dataclass(frozen=True)
class ControlledColumns:
    """S and the predictors that are no controls, less what controls explain of them."""

    # With tildes for these residuals, η = c + Cζ + S̃α + Ũβ and Ũ = X̃ − S̃B.

    others: tuple[int, ...]  # positions of these predictors in X
    alpha: Floats  # of shape (m, q)
    beta: Floats  # of shape (m, k)
    covariance: Floats  # of S̃, of shape (q, q)
    B: Floats  # of shape (q, k)
    deviation: Floats  # of X̃, of shape (k,)
    predictor_variance: float  # VAR(Ũβ), summed over classes
    # Coefficients on [S, X] of S̃α, and of Cζ, of shape (m, q+p).
    of_sensitive: Floats
    of_controls: Floats


@dataclass(frozen=True)
class TrainingColumns:
    """Moments of the training data, as far as explanations and files need them."""

    weight: float  # sum of the weights
    # Means and standard deviations of [S, X, y], with y as m columns of numbers, of shape
    # (q+p+m,).
    center: Floats
    deviation: Floats
    covariance: Floats  # covariance of S, of shape (q, q)
    B: Floats  # coefficients of X on S, of shape (q, p)
    with_response: Floats  # covariances of [S, X] with y, of shape (q+p, m)
    predictor_variance: float  # VAR(Uβ), summed over classes
    given: ControlledColumns | None = None  # the same given controls; None without controls

    def terms(self, alpha: Floats) -> tuple[Floats, Floats]:
        """Return coefficients on [S, X] of what S adds, and of the controls alone."""
        if self.given is not None:
            return self.given.of_sensitive, self.given.of_controls
        of_sensitive = np.pad(alpha, ((0, 0), (0, self.B.shape[1])))
        return of_sensitive, np.zeros_like(of_sensitive)


def fingerprint(training: TrainingColumns, design: Design, n_rows: int) -> str:
    """Return a SHA-256 digest of the training data, in hexadecimal."""
    # It covers names and levels, number of rows, sum of weights, means, standard deviations, and
    # correlations of every column with the sensitive attributes and the response: what a fit leaves
    # behind, so that no row is read again. They are rounded to 6 decimals (deviations to 9 digits),
    # so that another machine, another number of threads or another order of the rows gives the same
    # digest.
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
    return [
        list(encoding.names),
        *(
            [column.name, *map(str, getattr(column, "levels", ()))]
            for column in encoding.inner.columns
        ),
    ]
