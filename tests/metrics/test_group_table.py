"""Sums by group: against sums of the rows themselves, in one piece and in several."""

import numpy as np
import pytest

from fairridge.metrics.group_table import GroupTable
from fairridge.metrics.groups import Grouping
from tests.zoo import mean_interval, rate_interval

N = 400


@pytest.fixture(params=["equal", "unequal", "some absent"])
def rows(request):
    rng = np.random.default_rng(5)
    groupings = [
        Grouping("sex", ("f", "m"), rng.integers(0, 2, N)),
        Grouping("team", ("a", "b", "c", "nobody"), rng.choice(3, N, p=[0.5, 0.4, 0.1])),
    ]
    weight = {
        "equal": np.full(N, 2.5),
        "unequal": rng.lognormal(size=N),
        "some absent": rng.integers(0, 3, N).astype(float),
    }[request.param]
    return groupings, weight, 1e4 + rng.normal(size=N), rng.random(N) < 0.3


def test_groups_have_the_means_and_rates_of_their_rows(rows):
    groupings, weight, score, chosen = rows
    table = GroupTable.of(groupings, weight, score, chosen)
    rates, means = table.estimates(1, 0.9), table.estimates(0, 0.9)
    place = 0
    for grouping in groupings:
        for code in range(len(grouping.labels)):
            inside = (grouping.codes == code) & (weight > 0.0)
            assert table.counts[place] == inside.sum()
            for found, wanted in (
                (rates[place], rate_interval(chosen[inside], weight[inside], 0.9)),
                (means[place], mean_interval(score[inside], weight[inside], 0.9)),
            ):
                found, wanted = ([e.value, e.low, e.high, e.size] for e in (found, wanted))
                np.testing.assert_allclose(found, wanted, rtol=1e-12)
            place += 1
    assert np.isnan(rates[-1].value)
