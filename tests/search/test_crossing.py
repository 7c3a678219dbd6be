"""The last crossing of definitions that are not monotone."""

import numpy as np
import pytest

from fairridge.search.crossing import profile


def test_a_monotone_value_has_one_crossing():
    choice = profile(lambda x: 1 / (1 + x), 1.0, 1.0).choose(0.2, 1e-10, 100)
    assert (choice.status, choice.crossings) == ("converged", 1)
    np.testing.assert_allclose(choice.lambda_, 4.0, rtol=1e-12)


def test_the_last_crossing_is_chosen():
    def bump(x):
        t = np.log(x) if 0 < x < np.inf else np.copysign(np.inf, x - 1)
        return 0.3 * np.exp(-((t - 1) ** 2)) + 0.1 * np.exp(-((t + 6) ** 2))

    choice = profile(bump, 1e-3, 10.0).choose(0.05, 1e-10, 100)
    assert choice.crossings == 4
    np.testing.assert_allclose(choice.lambda_, np.exp(1 + np.sqrt(np.log(6))), rtol=1e-9)


def test_bounds_that_always_and_never_hold():
    values = profile(lambda x: 0.3 + 0.5 / (1 + x), 1.0, 1.0)
    assert values.choose(0.9, 1e-10, 100).status == "inactive"
    infeasible = values.choose(0.2, 1e-10, 100)
    assert (infeasible.status, infeasible.lambda_) == ("infeasible", np.inf)


def test_zero_is_met_at_infinity():
    choice = profile(lambda x: 1 / (1 + x) ** 2, 1.0, 1.0).choose(0.0, 1e-10, 100)
    assert (choice.status, choice.lambda_) == ("converged", np.inf)


def test_a_crossing_near_zero_is_found():
    choice = profile(lambda x: 1 / (1 + 1e9 * x), 1.0, 1.0).choose(1 - 1e-9, 1e-10, 100)
    np.testing.assert_allclose(1 / (1 + 1e9 * choice.lambda_), 1 - 1e-9, atol=1e-12)


def test_too_few_steps_are_said():
    choice = profile(lambda x: 1 / (1 + x), 1.0, 1.0).choose(0.123, 1e-10, 1)
    assert choice.status == "not-converged"


def test_a_value_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match="finite number"):
        profile(lambda x: np.nan if x > 1 else 0.5, 1.0, 1.0)
