"""What is added to linear predictors: an offset, the logarithm of an exposure, or both.

With the log link μ = e^η, an exposure e (policy years, people at risk) and an offset of log e
are the same: μ/e is the rate of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fairridge._typing import Floats
from fairridge.data.table import listed_rows, numeric_vector


@dataclass(frozen=True)
class Offsets:
    """An exposure with an offset, as a user passed them; it travels in the place of an offset."""

    offset: Any
    exposure: Any


def joined_offsets(link: str, offset: Any, exposure: Any) -> Any:
    """Return what is added to η: the offset alone, or `Offsets` if there is an exposure."""
    if exposure is None:
        return offset
    require_log_link(link)
    return Offsets(offset, exposure)


def require_log_link(link: str) -> None:
    """Raise unless means are e^η, so that an exposure multiplies them."""
    if link != "log":
        raise ValueError(
            "exposure is for families with the log link (poisson, quasi-poisson, "
            f"negative-binomial, gamma and tweedie), and this model has the {link} link; leave it "
            "out."
        )


def offset_arguments(offset: Any) -> dict[str, Any]:
    """Return the arguments `offset` and `exposure` as a user passed them."""
    return vars(offset) if isinstance(offset, Offsets) else {"offset": offset}


def offset_names(offset: Any) -> tuple[str, ...]:
    """Return which of the arguments `offset` and `exposure` were given."""
    if not isinstance(offset, Offsets):
        return () if offset is None else ("offset",)
    return ("exposure",) if offset.offset is None else ("offset", "exposure")


def require_offsets(known: tuple[str, ...], offset: Any, estimator_name: str) -> None:
    """Raise if a model was fitted with an offset or an exposure, and none is given."""
    # One may stand for the other, as their sum counts.
    given = offset_names(offset)
    if len(given) < len(known):
        missing = next((name for name in known if name not in given), known[-1])
        raise ValueError(
            f"this {estimator_name} was fitted with an {missing}, without which its predictions "
            f"cannot be compared with responses: pass {missing}=… here, too."
        )


def read_offset(offset: Any, n_rows: int, rows: Any = slice(None)) -> Floats | None:
    """Read what is added to η, one number per row: offset + log(exposure)."""
    if not isinstance(offset, Offsets):
        return None if offset is None else numeric_vector(offset, n_rows, "offset", rows)
    shift = log_exposure(offset.exposure, n_rows, "exposure", rows)
    if offset.offset is None:
        return shift
    return shift + numeric_vector(offset.offset, n_rows, "offset", rows)


def exposure_of(link: str, offset: Floats | None) -> Floats | None:
    """Return e = e^offset, by which means over e are rates; None for other links than log."""
    # Under other links the offset is a part of the score of a row.
    return None if offset is None or link != "log" else np.exp(offset)


def log_exposure(exposure: Any, n_rows: int, argument: str, rows: Any = slice(None)) -> Floats:
    """Read the logarithm of exposures, which must be positive."""
    if isinstance(exposure, Real):
        exposure = np.full(n_rows, float(exposure))
    values = numeric_vector(exposure, n_rows, argument, rows)
    if (values <= 0.0).any():
        bad = np.arange(n_rows)[rows][values <= 0.0]
        raise ValueError(
            f"{argument} must be positive; it is {values[values <= 0.0][0]:g} in "
            f"{listed_rows(bad)}: leave such rows out, or give them a sample_weight of 0."
        )
    return np.log(values)
