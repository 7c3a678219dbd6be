"""Ranges of response, offset and weights, wherever the rows are."""

import numpy as np
import pytest

from fairridge.engines import Extent


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    weight = 10.0 ** rng.uniform(-14.0, 2.0, 90)
    return rng.normal(size=(90, 2)), weight, rng.normal(size=90)


def test_extents_of_parts_add_up(rows):
    parts = [Extent.of(*(values[k : k + 30] for values in rows)) for k in (0, 30, 60)]
    whole, added = Extent.of(*rows), parts[0] + parts[1] + parts[2]
    np.testing.assert_array_equal([whole.low, whole.high], [added.low, added.high])
    np.testing.assert_array_equal([whole.low, whole.high], [rows[0].min(0), rows[0].max(0)])
    assert whole.offset_range == added.offset_range == np.ptp(rows[2])
    assert whole.weights == added.weights


@pytest.mark.parametrize("part", [1e-12, 1e-8, 0.3])
def test_rows_are_counted_to_a_factor_of_four(rows, part):
    _, weight, _ = rows
    found, largest = Extent.of(*rows).rows_above(part), weight.max()
    assert (weight > part * largest).sum() <= found <= (weight > part / 4.0 * largest).sum()
