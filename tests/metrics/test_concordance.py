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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_all_pairs_written_out(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 40
    time, risk = rng.integers(1, 12, n) * 1.0, rng.integers(0, 6, n) * 0.5
    event = (rng.random(n) < 0.6) * 1.0
    weight = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    found = concordance_index(time, event, risk, weight if weighted else None)
    assert found == pytest.approx(by_pairs(time, event, risk, weight), rel=1e-12)


def test_it_is_one_for_the_true_order_and_zero_for_its_reverse():
    time, event = np.arange(1.0, 9.0), np.ones(8)
    assert concordance_index(time, event, -time) == 1.0
    assert concordance_index(time, event, time) == 0.0


def test_equal_risks_count_one_half():
    assert concordance_index(np.arange(5.0), np.ones(5), np.zeros(5)) == 0.5


def test_only_the_order_of_risks_matters():
    rng = np.random.default_rng(20)
    time, event, risk = rng.exponential(size=50), rng.integers(0, 2, 50), rng.normal(size=50)
    assert concordance_index(time, event, risk) == concordance_index(time, event, np.exp(3 * risk))


def test_a_censored_row_outlives_an_event_at_the_same_time():
    time, event = np.array([3.0, 3.0]), np.array([1.0, 0.0])
    assert concordance_index(time, event, np.array([2.0, 1.0])) == 1.0
    assert concordance_index(time, event, np.array([1.0, 2.0])) == 0.0


def test_two_events_at_the_same_time_are_not_compared():
    time, event = np.array([3.0, 3.0, 5.0]), np.array([1.0, 1.0, 0.0])
    assert concordance_index(time, event, np.array([9.0, 5.0, 1.0])) == 1.0
    assert concordance_index(time, event, np.array([9.0, 0.0, 1.0])) == 0.5


def test_integer_weights_are_repeated_rows():
    rng = np.random.default_rng(21)
    time, event, risk = rng.integers(1, 9, 30), rng.integers(0, 2, 30), rng.integers(0, 9, 30)
    counts = rng.integers(1, 4, 30)
    # Copies of one row are tied events or tied censorings: never compared with each other.
    found = concordance_index(time, event, risk, counts * 1.0)
    repeated = concordance_index(*(np.repeat(a, counts) for a in (time, event, risk)))
    assert found == pytest.approx(repeated, rel=1e-12)


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
