"""Columns in their singular basis, whatever their units."""

import numpy as np
import scipy.linalg

from fairridge.solvers.spectrum import block_diagonal, spectrum_of

UNITS = np.array([1.0, 1e-17, 1e5, 1.0, 1.0, 1e-3])


def collinear_columns():
    Z = np.random.default_rng(0).normal(size=(30, 4))
    Z = np.column_stack([Z, Z[:, 0], Z[:, 1] + Z[:, 2]])
    return Z - Z.mean(axis=0)


def test_small_columns_beside_collinear_ones_keep_their_digits():
    Z = collinear_columns()
    root, unit = np.linalg.qr(Z)[1], Z.std(axis=0)
    spectrum, P, _ = spectrum_of(root * UNITS, np.ones(6), 1e-14, unit * UNITS)
    assert spectrum.rank == 4
    np.testing.assert_allclose(spectrum.squares(), ((Z * UNITS) ** 2).sum(axis=0), rtol=1e-12)
    again = P @ np.diag(np.sqrt(spectrum.eigenvalues)) @ spectrum.vectors.T / UNITS
    np.testing.assert_allclose(again, root, atol=1e-13 * np.abs(root).max())


def test_a_constant_column_has_no_part_in_any_direction():
    Z = collinear_columns()
    Z[:, 3] = 0.0
    spectrum, _, _ = spectrum_of(Z, np.ones(6), 1e-14)
    assert not spectrum.vectors[3].any()
    assert spectrum.squares()[3] == 0.0


def test_blocks_on_a_diagonal():
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=shape) for shape in ((2, 3), (0, 2), (1, 0), (2, 2))]
    np.testing.assert_array_equal(block_diagonal(blocks), scipy.linalg.block_diag(*blocks))
    assert block_diagonal(blocks[:1]) is blocks[0]
    assert block_diagonal([]).shape == (0, 0)
