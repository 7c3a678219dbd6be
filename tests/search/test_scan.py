"""The last crossing of definitions that are not monotone."""

import numpy as np
import pytest

from fairridge.search.scan import dense_profile, scan


def dense(value, smallest=1.0, largest=1.0, ceiling=np.inf):
    return dense_profile(value, smallest, largest, ceiling)


def sparse(value, *bounds, typical=1.0, ceiling=np.inf, fine=False):
    return scan(value, typical, ceiling, np.array(bounds), fine=fine)


def choose(profile, r, max_iter=100):
    return profile.choose(r, 1e-10, max_iter)


def test_a_value_that_never_falls_needs_an_infinite_penalty():
    choice = choose(sparse(lambda x: float(x < np.inf), 0.3), 0.3)
    assert (choice.lambda_, choice.status) == (np.inf, "converged")


def bump(x):
    """Two hills over log λ, at 1 and at −6, the second lower."""
    t = np.log(x) if 0 < x < np.inf else np.copysign(np.inf, x - 1)
    return 0.3 * np.exp(-((t - 1) ** 2)) + 0.1 * np.exp(-((t + 6) ** 2))


@pytest.mark.parametrize("typical", [1.0, 20.0])
@pytest.mark.parametrize("r", [0.05, 0.1])
def test_the_last_crossing_is_chosen_from_few_values(r, typical):
    choice = choose(sparse(bump, r, typical=typical), r)
    assert choice.status == "converged"
    np.testing.assert_allclose(choice.lambda_, np.exp(1 + np.sqrt(np.log(0.3 / r))), rtol=1e-8)


def test_of_a_value_that_jumps_the_side_on_which_the_bound_holds_is_chosen():
    place = 30.0

    def value(x):
        return 0.5 if x < place else 0.1 / (1.0 + x)

    choice = choose(dense(value), 0.3)
    assert choice.status == "converged"
    assert value(choice.lambda_) <= 0.3
    np.testing.assert_allclose(choice.lambda_, place, rtol=1e-12)
