"""The fingerprint of training data."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from fairridge.data import Design, Encoding, MappedEncoding
from fairridge.models import TrainingColumns


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
    return [
        list(encoding.names),
        *(
            [column.name, *map(str, getattr(column, "levels", ()))]
            for column in encoding.inner.columns
        ),
    ]
