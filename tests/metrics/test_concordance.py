"""The concordance index, against all pairs written out."""

import numpy as np
import pytest

from fairridge.metrics import concordance_index


def by_pairs(time, event, risk, weight):
    good = total = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            earlier = time[i] < time[j] or (time[i] == time[j] and not event[j])
            if i != j and event[i] and earlier:
                pair = weight[i] * weight[j]
                total += pair
                good += pair * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return good / total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_all_pairs_written_out(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 40
    time, risk = rng.integers(1, 12, n) * 1.0, rng.integers(0, 6, n) * 0.5
    event = (rng.random(n) < 0.6) * 1.0
    weight = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    found = concordance_index(time, event, risk, weight if weighted else None)
    assert found == pytest.approx(by_pairs(time, event, risk, weight), rel=1e-12)


@pytest.mark.parametrize(
    ("time", "event"),
    [([1.0, 2.0], [0.0, 0.0]), ([2.0, 2.0], [1.0, 1.0]), ([1.0, 2.0], [0.0, 1.0])],
)
def test_data_without_a_comparable_pair_are_refused(time, event):
    with pytest.raises(ValueError, match="no two rows are comparable"):
        concordance_index(np.array(time), np.array(event), np.array([1.0, 2.0]))


def test_many_rows_take_no_pairs():
    rng = np.random.default_rng(22)
    n = 20_000
    time = rng.exponential(size=n)
    found = concordance_index(time, np.ones(n), -time + rng.normal(size=n))
    assert 0.6 < found < 0.9
