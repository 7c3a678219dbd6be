"""Polynomials that lead on."""

import numpy as np
import pytest

from fairridge.search.driver import extrapolation_along


def test_a_polynomial_is_continued_along_its_slopes():
    """Half as many values suffice."""
    places = np.array([0.9, 0.7, 0.4, 0.2])
    curve = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0, 0.2, 2.0, 1.5])
    for count in (1, 2, 4):
        part = curve.truncate(2 * count)
        x = places[-count:]
        weights, of_slopes = extrapolation_along(x, 0.1)
        continued = weights @ part(x) + of_slopes @ part.deriv()(x)
        assert continued == pytest.approx(part(0.1), abs=1e-13)


def test_slopes_at_places_close_together_do_not_magnify_errors():
    weights, of_slopes = extrapolation_along(np.array([0.5, 0.3, 0.2 + 1e-9, 0.2]), 0.0)
    np.testing.assert_allclose(weights, [1.0])
    np.testing.assert_allclose(of_slopes, [-0.2])
