"""Categoricals left as codes give the same sums as columns written out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier
from fairridge.data import Indicators, Rows, Slab, with_codes
from fairridge.engines import MemoryEngine, blocked_matrix, blocks
from fairridge.engines.coded import CodedBlock, Coding
from fairridge.families import Binomial, Multinomial


@pytest.fixture
def rows():
    rng = np.random.default_rng(17)
    n = 3000
    codes = [rng.integers(-1, 39, n), rng.integers(-1, 29, n)]
    numbers = rng.normal(size=(n, 3)) + 100.0
    y = (rng.uniform(size=n) < 0.4).astype(float)[:, None]
    names = tuple(f"c{k}" for k in range(2 + 39 + 1 + 29))
    return Rows(
        (Slab(numbers[:, :2]),),
        (Indicators(codes[0], 39), Slab(numbers[:, 2:]), Indicators(codes[1], 29)),
        names,
        y,
        y,
        rng.uniform(0.5, 2.0, n),
    )


@pytest.fixture(params=["codes", "tabmat"])
def engines(request, rows, monkeypatch):
    """Return an engine with compact rows, and one whose rows are written out."""
    if request.param == "codes":
        monkeypatch.setattr(blocked_matrix, "CODED_MIN_ROWS", 1)
    compact = MemoryEngine(rows, many_passes=True)
    assert compact._matrix.split == (request.param == "tabmat")
    assert (compact._matrix.coding is None) == (request.param == "tabmat")
    monkeypatch.setattr(blocked_matrix, "CODED_MIN_ROWS", 10_000)
    monkeypatch.setattr(blocked_matrix, "SMALL_CATEGORICAL_LEVELS", 10_000)
    dense = MemoryEngine(rows, many_passes=True)
    assert not dense._matrix.compact
    return compact, dense


@pytest.mark.parametrize(("family", "offset"), [(Binomial(), True), (Multinomial(3), False)])
def test_places_that_share_a_pass_have_the_sums_of_their_own(rows, family, offset, engines):
    rng = np.random.default_rng(19)
    k, m = len(rows.names), family.n_predictors
    if offset:
        for engine in engines:
            engine.rows = replace(rows, offset=np.sin(np.arange(rows.n_rows)))
    center = rng.normal(size=k)
    places = [(rng.normal(size=m), 0.01 * rng.normal(size=(m, k))) for _ in range(3)]
    places.append((rng.normal(size=m), np.zeros((m, k))))
    for engine in engines:
        together = engine.derivatives(family, center, *places[0], 2, places[1:])
        assert len(together.others) == 3
        for place, found in zip(places, (together, *together.others), strict=True):
            alone = engine.derivatives(family, center, *place, 2)
            np.testing.assert_allclose(found.deviance, alone.deviance, rtol=1e-12)
            # What shares one η may come with the derivative in the intercept alone.
            width = None if place[1].any() else 1
            np.testing.assert_allclose(
                found.gradient[:, :width], alone.gradient[:, :width], rtol=1e-9, atol=1e-8
            )


@pytest.mark.parametrize("definition", ["statistical-parity", "mean-parity"])
def test_models_of_codes_are_those_of_columns_written_out(definition, monkeypatch):
    rng = np.random.default_rng(26)
    n = 2000
    frame = pd.DataFrame(
        {f"c{k}": rng.choice([f"level {j}" for j in range(2 + k % 4)], n) for k in range(9)}
    )
    frame["x"] = rng.normal(size=n)
    y = (frame["x"] + (frame["c0"] == "level 1") + rng.normal(size=n) > 0.5).astype(int)
    model = FairRidgeClassifier(0.05, sensitive=["c0", "c1"], definition=definition)
    plain = model.fit(frame, y).coef_
    made = []
    monkeypatch.setattr(
        blocked_matrix, "CodedBlock", lambda *given: made.append(given) or CodedBlock(*given)
    )
    monkeypatch.setattr(blocked_matrix, "CODED_MIN_ROWS", 1)
    monkeypatch.setattr(blocked_matrix.Coding, "gain", lambda *_: 2.0)
    np.testing.assert_allclose(model.fit(frame, y).coef_, plain, rtol=1e-8, atol=1e-10)
    assert made


@pytest.mark.parametrize(("dtype", "order"), [("float64", "F"), ("int8", "C"), ("bool", "F")])
def test_0_1_columns_that_exclude_each_other_are_read_as_codes(dtype, order):
    rng = np.random.default_rng(27)
    widths = (4, 20, 1, 2)
    columns = [Indicators(rng.integers(-1, width, 500), width).dense() for width in widths]
    columns[2][:], columns[3][:] = 1.0, 0.0
    Z = np.asarray(np.hstack(columns), dtype=dtype, order=order)
    coded = with_codes([Slab(Z)])
    assert [piece.width for piece in coded] == [4, 20, 3]  # the last are zero beside ones
    np.testing.assert_array_equal(blocks.dense(coded, 500), Z)


@pytest.mark.parametrize(("order", "weighted"), [("C", True), ("F", False)])
def test_models_of_an_encoded_array_are_those_of_its_columns(order, weighted, monkeypatch):
    rng = np.random.default_rng(28)
    n = blocked_matrix.CODED_MIN_ROWS
    levels = [Indicators(rng.integers(-1, 5, n), 5).dense() for _ in range(9)]
    Z = np.asarray(np.hstack([rng.normal(size=(n, 1)), *levels, np.ones((n, 1))]), order=order)
    y = (Z[:, 0] + Z[:, 1] - Z[:, 7] + rng.logistic(size=n) > 0.5).astype(int)
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    made = []
    monkeypatch.setattr(
        blocked_matrix, "CodedBlock", lambda *given: made.append(given) or CodedBlock(*given)
    )
    model = FairRidgeClassifier(0.02, sensitive=[1, 2, 3, 4, 5])
    with pytest.warns(UserWarning, match="constant"):
        coded = model.fit(Z, y, sample_weight=weight).coef_
    assert made
    made.clear()
    monkeypatch.setattr(blocked_matrix, "CODED_MIN_ROWS", n + 1)
    with pytest.warns(UserWarning, match="constant"):
        plain = model.fit(Z, y, sample_weight=weight).coef_
    assert not made
    np.testing.assert_allclose(coded, plain, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("widths", [(3,), (4, 2, 6, 9), (130, 2), (1,) * 12])
@pytest.mark.parametrize("numbers", [0, 4])
def test_codes_have_the_products_of_columns_written_out(widths, numbers):
    rng = np.random.default_rng(len(widths) + numbers)
    n = 300
    pieces = [Indicators(rng.integers(-1, width, n).astype(np.int16), width) for width in widths]
    pieces.insert(1, Slab(rng.normal(size=(n, numbers))))
    shift = np.where([isinstance(p, Slab) for p in pieces for _ in range(p.width)], 0.7, 0.0)
    rows = slice(40, n)
    out = np.ones((n - 40, 1 + len(shift)))
    blocks.write_block(pieces, rows, shift, out[:, 1:])
    theirs, ours = blocked_matrix.DenseBlock(out), CodedBlock(Coding.of(pieces), rows, shift)
    weight, k = rng.normal(size=n - 40), out.shape[1]
    vectors = rng.normal(size=(n - 40, 3))
    pairs = [
        [
            block.gram(None),
            block.gram(weight),
            block.dense(),
            block.times(np.eye(k)[: k - 1]),
            block.products(vectors),
            block.products(vectors[:, :1], 2),
            *(block.leading(vectors, count) for count in (1, 3, k)),
            *(block.leading(vectors, count, count) for count in (1, 3, k)),
        ]
        for block in (ours, theirs)
    ]
    for found, expected in zip(*pairs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("order", "keeps"), [("C", True), ("F", False)])
def test_blocks_that_are_read_together_have_the_sums_of_single_ones(order, keeps, monkeypatch):
    rng = np.random.default_rng(23)
    n, k = 3000, 6
    Z, y = np.asarray(rng.normal(size=(n, k)), order=order), rng.integers(0, 3, n).astype(float)
    targets = (y[:, None] == np.arange(3)).astype(float)
    family, center, raw = Multinomial(3), rng.normal(size=k), 0.1 * rng.normal(size=(2, k))
    names, places = tuple("abcdef"), [(np.zeros(2), 0.1 * rng.normal(size=(2, k)))]
    means = family.means(None, (0.0, 0.0, 0.0), totals=True)

    def sums():
        columns = (Slab(Z[:, :2]),), (Slab(Z[:, 2:]),)
        engine = MemoryEngine(Rows(*columns, names, y[:, None], targets), many_passes=keeps)
        found = [engine.moments().scatter]
        for _ in range(2):  # once to write the blocks, and once more from what is kept
            glm = engine.derivatives(family, center, np.zeros(2), raw, 2, places)
            some = engine.means(family, means, center, np.zeros(2), raw, np.ones((3, 3)))
            slopes = some.slopes
            found += [glm.gradient, glm.hessian, glm.others[0].gradient, some.products]
            found += [slopes.jacobian, slopes.glm.hessian, slopes.squares]
        return engine, found

    whole, expected = sums()
    assert len(whole._matrix.slices) == 1
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 256 rows
    monkeypatch.setattr(blocked_matrix, "MIN_GROUPED_BLOCKS", 3)
    monkeypatch.setattr(blocked_matrix, "BLOCKS_PER_GROUP", 5)
    engine, found = sums()
    sizes = [part.stop - part.start for part in engine._matrix.grouped_slices]
    assert sizes == [1280, 1280, 440]
    assert type(engine._matrix.block(slice(0, 1280))) is blocked_matrix.BlockGroup
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-9)
