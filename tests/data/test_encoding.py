"""Columns to encoded columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from fairridge.data import Slab, as_table, learn_design


def encoded(design, table, unknown="error", S=None):
    """Return the encoded columns of S and X as one dense array."""
    parts = []
    for piece in sum(design.encode(table, S, unknown, estimator_name="Model"), ()):
        if isinstance(piece, Slab):
            parts.append(np.asarray(piece.values, dtype=np.float64))
        else:
            parts.append((piece.codes[:, None] == np.arange(piece.width)).astype(np.float64))
    return np.hstack(parts)


@pytest.fixture
def table(frame_of, categorical_of):
    return as_table(
        frame_of(
            {
                "size": categorical_of([1, 2, 1, 3], ["tiny", "small", "mid", "large"]),
                "age": [30, 40, 50, 60],
                "town": ["b", "a", "b", "c"],
                "flag": [True, False, True, True],
            }
        )
    )


def test_levels_become_treatment_contrasts_in_order(table):
    design = learn_design(table, None, ["size", "age"])
    # "tiny" is empty: the base is "small", the first level that has rows.
    assert design.encoded_names == (
        "size[tiny]", "size[mid]", "size[large]", "age", "town[b]", "town[c]", "flag"
    )  # fmt: skip
    np.testing.assert_array_equal(
        encoded(design, table),
        [
            [0, 0, 0, 30, 1, 0, 1],
            [0, 1, 0, 40, 0, 0, 0],
            [0, 0, 0, 50, 1, 0, 1],
            [0, 0, 1, 60, 0, 1, 1],
        ],
    )


def test_an_unknown_level_is_the_base_or_an_error(table, frame_of):
    design = learn_design(table, None, "age")
    new = as_table(frame_of({"town": ["q"], "flag": [False], "age": [1], "size": ["huge"]}))
    np.testing.assert_array_equal(encoded(design, new, "base"), [[1, 0, 0, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="'size' has the level 'huge'"):
        encoded(design, new)


@pytest.mark.parametrize("order", ["abcd", "dcba", "cadb"])
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("step", [1, -2])
def test_slabs_hold_the_right_numbers_in_any_order_of_columns(order, layout, step):
    Z = np.array(np.arange(24.0).reshape(6, 4), order=layout)
    frame = pd.DataFrame(Z, columns=list("abcd"))
    design = learn_design(as_table(frame), None, "b")
    found = encoded(design, as_table(frame[list(order)].iloc[::step]))
    np.testing.assert_array_equal(found, frame[["b", "a", "c", "d"]].iloc[::step])


def test_columns_of_two_types_in_one_block_are_read_by_their_own_type():
    memory = np.arange(18, dtype=np.int64).reshape(6, 3)
    memory[:, 1] = np.linspace(0.0, 1.0, 6).view(np.int64)
    columns = {"a": memory[:, 0], "b": memory[:, 1].view(np.float64), "c": memory[:, 2]}
    frame = pd.DataFrame(columns, copy=False)
    assert np.shares_memory(frame["b"].to_numpy(), memory)
    design = learn_design(as_table(frame), None, "c")
    np.testing.assert_array_equal(encoded(design, as_table(frame)), frame[["c", "a", "b"]])


def test_a_column_that_changes_its_kind_is_an_error_that_names_it(frame_of):
    design = learn_design(as_table(frame_of({"s": [1, 2], "t": ["a", "b"]})), None, "s")
    with pytest.raises(
        ValueError, match="'s' held numbers at fit but now holds levels such as 'a'"
    ):
        encoded(design, as_table(frame_of({"s": ["a", "b"], "t": ["a", "b"]})))
    with pytest.raises(ValueError, match="'t' held the levels 'a', 'b' at fit but now holds num"):
        encoded(design, as_table(frame_of({"s": [1, 2], "t": [1, 2]})))


def test_encoded_names_are_unique():
    """Input columns keep their names; a level whose name is taken gets a number at its end."""
    frame = pd.DataFrame({
        "reg": list("abcb"),
        "reg[b]": [1.0, 2.0, 3.0, 5.0],
        "reg[c]": [1.0, 4.0, 3.0, 5.0],
        "reg[c]_2": [1.0, 4.0, 3.0, 6.0],
        "n": pd.Categorical([1, "1", 2, "1"], categories=[2, 1, "1"]),
    })  # fmt: skip
    table = as_table(frame)
    design = learn_design(table, None, ["reg", "reg[c]"])
    assert design.encoded_names == (
        "reg[b]_2", "reg[c]_3", "reg[c]", "reg[b]", "reg[c]_2", "n[1]", "n[1]_2"
    )  # fmt: skip
    assert encoded(design, table)[:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert learn_design(table, None, ["reg", "reg[c]"]) == design


def test_features_of_two_maps_have_different_names():
    rng = np.random.default_rng(0)
    table = as_table(rng.normal(size=(9, 4)))
    design = learn_design(table, None, [0, 1])
    pieces = design.encode(table, None, "error", estimator_name="Model")
    mapped = design.with_maps(pieces, None, PCA(2), PCA(2))
    assert mapped.encoded_names == ("pca0", "pca1", "pca0_2", "pca1_2")
