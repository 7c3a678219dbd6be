"""Statistical parity on S as it is coded, far from zero."""

import numpy as np
import pytest

from fairridge import FairRidgeRegressor
from fairridge.fairness import StatisticalParity


def test_nagelkerke_beyond_floating_point_is_an_error():
    rng = np.random.default_rng(0)
    s = rng.normal(size=200)
    x = rng.normal(size=200) + s
    y = rng.poisson(np.exp(0.5 * x - 3.0 * s))
    definition = StatisticalParity(center=False, measure="nagelkerke")
    with pytest.raises(ValueError, match=r"beyond floating point.*code S nearer to 0"):
        FairRidgeRegressor(0.2, family="poisson", definition=definition).fit(
            x[:, None], y, sensitive_features=s[:, None] + 1000.0
        )
