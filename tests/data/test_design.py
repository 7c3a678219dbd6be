"""Which columns are S, which are X, and where they stand in new rows."""

import pytest

from fairridge.data import as_table, learn_design


@pytest.fixture
def table(frame_of):
    return as_table(frame_of({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]}))


def test_exactly_one_source_of_sensitive_columns_is_needed(table):
    with pytest.raises(ValueError, match="one of them is needed"):
        learn_design(table, None, None)
    with pytest.raises(ValueError, match="not both"):
        learn_design(table, as_table([[1.0], [2.0]]), ["a"])
