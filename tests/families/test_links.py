"""Links of probabilities: values with all digits, near zero and far from it."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from fairridge.families import Binomial, QuasiBinomial

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def normal_tail(x):
    """Φ(−x) and φ(x) for x > 0, by a continued fraction."""
    below = x
    for k in range(4000 if x < 3 else 400, 0, -1):
        below = x + k / below
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    return density / below, density


def probit(eta):
    """Logarithms of μ and 1 − μ, with their derivatives."""
    tail, density = normal_tail(abs(eta))
    mean, other = (1 - tail, tail) if eta > 0 else (tail, 1 - tail)
    one, zero = density / mean, density / other
    return (mean.ln(), one, -one * (one + eta)), (other.ln(), -zero, -zero * (zero - eta))


def cloglog(eta):
    t = eta.exp()
    a = t / (t.exp() - 1)
    return ((1 - (-t).exp()).ln(), a, -a * (t + a - 1)), (-t, -t, -t)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
@pytest.mark.parametrize(
    ("link", "exact", "eta"),
    [("probit", probit, x) for x in (-1e3, -40.0, -6.0, -4.9, -1.0, 1.0, 5.1, 25.0)]
    + [("cloglog", cloglog, x) for x in (-800.0, -40.0, -29.9, -3.6, -3.4, -0.1, 0.1, 2.0, 5.0)],
)
def test_outcomes_of_any_probability_keep_their_digits(link, exact, eta, outcome):
    with localcontext(prec=1500 if eta < -100 else 400):
        value, slope, curvature = (-2 * x for x in exact(Decimal(eta))[0 if outcome else 1])
        expected = float(value), float(slope), float(curvature)
    found = Binomial(link).deviance_terms(np.array([[outcome]]), np.array([[eta]]), np.ones(1), 2)
    values = found.deviance, found.gradient[0, 0], found.curvature[0, 0, 0]
    np.testing.assert_allclose(values, expected, rtol=5e-13, atol=1e-320)


def test_proportions_have_links_too():
    y, eta = np.array([[0.3]]), np.array([[-0.4]])
    for link in ("logit", "probit", "cloglog"):
        ours = QuasiBinomial(link).deviance_terms(y, eta, np.ones(1), 1)
        parts = [
            Binomial(link).deviance_terms(np.array([[k]]), eta, np.ones(1), 1) for k in (1.0, 0.0)
        ]
        slope = 0.3 * parts[0].gradient + 0.7 * parts[1].gradient
        np.testing.assert_allclose(ours.gradient, slope, rtol=1e-13)
        at_own = QuasiBinomial(link).deviance_terms(y, QuasiBinomial(link).to_eta(y), np.ones(1), 0)
        assert at_own.deviance == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("link", ["identity", None])
def test_other_links_are_refused(link):
    with pytest.raises(ValueError, match="is not known; use one of 'logit', 'probit', 'cloglog'"):
        Binomial(link)
