"""Score residuals of Cox's model.

With denominators k of the partial likelihood (one per event time for
Breslow's ties, one per tied event for Efron's), each with mass m_k, risk R_k
and mean z̄_k of the columns over its risk set, the score is

    Σᵢ wᵢδᵢzᵢ − Σₖ mₖz̄ₖ,

and its derivative in the weight of row i

    δᵢ(zᵢ − mean of z̄ₖ at the time of i) − e^ηᵢ Σₖ mₖ(1 − fᵢₖ)(zᵢ − z̄ₖ)/Rₖ

over the denominators k with i at risk; fᵢₖ is the share of the tied events
that Efron's formula takes out, for an event i among them, and 0 otherwise
(Lin and Wei, 1989).
"""

from __future__ import annotations

import numpy as np

from fairridge._typing import Floats, Integers
from fairridge.families.risk_sets import CoxTerms


def score_rows(terms: CoxTerms, z: Floats) -> Floats:
    """Return the derivative of the score in the weight of each row, of shape (n, k)."""
    sets, groups = terms.sets, terms.event_group
    # One scale for all risk sets: the shift of the last group, the largest.
    scale = np.exp(terms.scales.shift - terms.shift)
    risk = terms.risk * scale[groups]
    if not (risk > 0.0).all():
        raise ValueError(
            "the hazards of this model differ by more than floating point holds; there are no "
            "standard errors."
        )
    means = terms.at_risk(z) / terms.risk[:, None]
    z, event, rate = z[sets.order], terms.event[:, None], terms.mass / risk

    n_groups = len(sets.starts)
    counts = np.maximum(np.bincount(groups, minlength=n_groups), 1)[:, None]
    typical = _by_group(groups, means, n_groups) / counts
    columns = np.column_stack([np.ones(len(means)), means]) * rate[:, None]
    by_time = _by_group(groups, columns, n_groups)
    taken = _by_group(groups, columns * terms.fraction[:, None], n_groups)
    # Groups run by decreasing time: a row is at risk at its own and at earlier times.
    exposed = np.cumsum(by_time[::-1], axis=0)[::-1][sets.group] - event * taken[sets.group]
    hazard = np.exp(terms.eta - terms.shift)[:, None]
    out = np.empty_like(z)
    out[sets.order] = event * (z - typical[sets.group]) - hazard * (
        z * exposed[:, :1] - exposed[:, 1:]
    )
    return out


def _by_group(groups: Integers, values: Floats, n_groups: int) -> Floats:
    out = np.zeros((n_groups, values.shape[1]))
    np.add.at(out, groups, values)
    return out
