"""Which columns are S, which are X, and where they stand in new rows."""

import numpy as np
import pandas as pd
import pytest

from fairridge.data import as_table, learn_design


@pytest.fixture
def table(frame_of):
    return as_table(frame_of({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]}))


@pytest.mark.parametrize(
    ("sensitive", "positions"),
    [("b", (1,)), (-1, (2,)), (["c", "a"], (2, 0)), (np.int64(0), (0,))],
)
def test_sensitive_columns_are_found_in_the_order_in_which_they_are_named(
    table, sensitive, positions
):
    design = learn_design(table, None, sensitive)
    assert design.positions_sensitive == positions
    assert design.positions_predictors == tuple(k for k in range(3) if k not in positions)
    assert (design.n_columns, design.names, design.separate) == (3, ("a", "b", "c"), False)


def test_separate_features_leave_all_of_x_to_the_predictors(table, frame_of):
    S = as_table(frame_of({"s": [1.0, 0.0]}), argument="sensitive_features")
    design = learn_design(table, S, None)
    assert design.encoded_names == ("s", "a", "b", "c")
    assert design.separate
    assert design.sensitive_names == ("s",)


def test_exactly_one_source_of_sensitive_columns_is_needed(table):
    with pytest.raises(ValueError, match="one of them is needed"):
        learn_design(table, None, None)
    with pytest.raises(ValueError, match="not both"):
        learn_design(table, as_table([[1.0], [2.0]]), ["a"])


def test_missing_and_extra_columns_are_all_named(table, frame_of):
    design = learn_design(table, None, "a")
    new = as_table(frame_of({"a": [1.0], "d": [2.0], "e": [3.0]}))
    with pytest.raises(ValueError, match=r"'b'.*'c'.*'d'.*'e'"):
        design.encode(new, None, "error", estimator_name="Model")


def test_new_columns_are_found_by_name(table, frame_of):
    design = learn_design(table, None, "c")
    new = as_table(frame_of({"b": [2.0], "c": [3.0], "a": [1.0]}))
    sensitive, predictors = design.encode(new, None, "error", estimator_name="Model")
    assert np.hstack([piece.values for piece in sensitive]).tolist() == [[3.0]]
    assert np.hstack([piece.values for piece in predictors]).tolist() == [[1.0, 2.0]]


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


def test_a_name_in_both_tables_is_refused():
    X, S = as_table(pd.DataFrame({"a": [1], "b": [2]})), as_table(pd.DataFrame({"b": [1]}))
    with pytest.raises(ValueError, match="'b' is both in X and in sensitive_features"):
        learn_design(X, S, None)
