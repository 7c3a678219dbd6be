"""Columns in their singular basis, whatever their units."""

import numpy as np

from fairridge.solvers.spectrum import (
    _from_squares,
    solve_definite,
    spectrum_of,
)

UNITS = np.array([1.0, 1e-4, 1e4, 1.0, 1.0, 1e-3])


def collinear_columns():
    Z = np.random.default_rng(0).normal(size=(30, 4))
    Z = np.column_stack([Z, Z[:, 0], Z[:, 1] + Z[:, 2]])
    return Z - Z.mean(axis=0)


def test_small_columns_beside_collinear_ones_keep_their_digits():
    Z = collinear_columns()
    root, unit = np.linalg.qr(Z)[1], Z.std(axis=0)
    spectrum, P, _ = spectrum_of(root * UNITS, np.ones(6), 1e-14, unit * UNITS)
    assert spectrum.rank == 4
    np.testing.assert_allclose(spectrum.squares(), ((Z * UNITS) ** 2).sum(axis=0), rtol=1e-7)
    again = P @ np.diag(np.sqrt(spectrum.eigenvalues)) @ spectrum.vectors.T / UNITS
    np.testing.assert_allclose(again, root, atol=1e-7 * np.abs(root).max())


def test_equal_columns_have_no_part_in_the_direction_of_a_small_one():
    Z = collinear_columns()[:, [0, 1, 2, 3, 4]]  # the last one is the first
    units, unit = np.array([1.0, 1e-8, 1.0, 1e-4, 1.0]), Z.std(axis=0)
    root = np.linalg.qr(Z)[1]
    root[:, 4] += 1e-16 * np.random.default_rng(1).normal(size=5)
    spectrum, P, _ = spectrum_of(root * units, np.ones(5), 1e-14, unit * units)
    assert spectrum.rank == 4
    np.testing.assert_allclose(spectrum.vectors[0], spectrum.vectors[4], atol=1e-15, rtol=1e-12)
    # The coefficients of a response are those of least squares, halved between equal columns.
    b = np.array([1.0, 1e8, -2.0, 1e4])
    y = Z[:, :4] @ (b * units[:4])
    c = P.T @ np.linalg.lstsq(root.T, (Z.T @ y), rcond=None)[0]
    found = spectrum.ridge(c, 0.0)
    np.testing.assert_allclose(found, [0.5, 1e8, -2.0, 1e4, 0.5], rtol=1e-7)


def root_of(scatter):
    """Return a triangular root with a row of zeros below, as beside a response."""
    return np.vstack([np.linalg.cholesky(scatter).T, np.zeros((1, len(scatter)))])


def test_a_large_root_of_a_scatter_is_decomposed_by_its_square():
    Z = np.random.default_rng(0).normal(size=(600, 230))
    root, ones = root_of(Z.T @ Z), np.ones(230)
    assert _from_squares(root) is not None
    slow, P, N = spectrum_of(root, ones, 1e-14)
    fast, Q, M = spectrum_of(root, ones, 1e-14, of_scatter=True)
    np.testing.assert_allclose(fast.eigenvalues, slow.eigenvalues, rtol=1e-12)
    np.testing.assert_allclose(np.abs(M), np.abs(N), atol=1e-14)
    both = np.hstack([Q, M])
    np.testing.assert_allclose(both.T @ both, np.eye(231), atol=1e-12)
    response = root @ np.linspace(-1.0, 1.0, 230) + 0.1
    for penalty in (0.0, 5.0):
        found, known = fast.ridge(Q.T @ response, penalty), slow.ridge(P.T @ response, penalty)
        np.testing.assert_allclose(found, known, atol=1e-13)


def test_a_square_that_has_lost_digits_is_not_used():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(220, 220)))[0]
    values = np.geomspace(1.0, 1e-8, 220)
    root = np.linalg.qr(np.sqrt(values)[:, None] * Q)[1]
    found, _, _ = spectrum_of(root * 1e3, np.ones(220), 1e-14, of_scatter=True)
    np.testing.assert_allclose(found.eigenvalues, 1e6 * values, rtol=1e-10)


def test_a_system_that_is_singular_is_solved():
    H, b = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([8.0, 4.0, 0.0])
    np.testing.assert_allclose(H @ solve_definite(H, b), b, rtol=1e-9)
    assert np.isfinite(solve_definite(H, np.ones(3))).all()
