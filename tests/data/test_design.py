"""Which columns are S, which are X, and where they stand in new rows."""

import numpy as np
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


def test_an_array_after_a_frame_is_read_by_position_with_a_warning(table):
    design = learn_design(table, None, "c")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Model was"):
        sensitive, _ = design.encode(
            as_table([[1.0, 2.0, 3.0]]), None, "error", estimator_name="Model"
        )
    assert sensitive[0].values.tolist() == [[3.0]]


def test_widths_are_compared_where_there_are_no_names():
    design = learn_design(as_table(np.eye(3)), None, 0)
    with pytest.raises(ValueError, match="X has 2 features, but Model is expecting 3"):
        design.encode(as_table(np.eye(2)), None, "error", estimator_name="Model")
