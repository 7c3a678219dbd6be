"""Models that have no standard errors say why."""

import numpy as np
import pytest

from fairridge.fairness import CallableDefinition, StatisticalParity
from fairridge.families import Binomial, Cox, Gaussian
from fairridge.penalties import Lasso

from .problems import draw, inferred

PARITY = StatisticalParity()


def test_penalties_that_select():
    with pytest.raises(ValueError, match="penalty='lasso' selects"):
        inferred(Gaussian(), draw(Gaussian()), PARITY, 0.05, penalty=Lasso())


def test_collinear_columns_are_named():
    S, X, y, targets = draw(Gaussian())
    with pytest.raises(ValueError, match="'age' are linear"):
        inferred(Gaussian(), (S[:, [0, 0]], X, y, targets), PARITY, 0.05)
    X[:, 2] = X[:, 0] - S[:, 1]
    with pytest.raises(ValueError, match="'x3' are linear"):
        inferred(Gaussian(), (S, X, y, targets), PARITY, 0.05)
    assert inferred(Gaussian(), (S, X, y, targets), PARITY, 0.05, predictor_penalty=1.0)


@pytest.mark.parametrize(
    ("family", "covariance", "r"), [(Gaussian(), "HC3", 0.0), (Binomial(), "HC1", 0.05)], ids=str
)
def test_constant_columns_have_the_coefficient_zero(family, covariance, r):
    S, X, y, targets = draw(family)
    least = inferred(family, (S[:, :1], X[:, :2], y, targets), PARITY, r, covariance=covariance)
    S, X = S.copy(), X.copy()
    S[:, 1], X[:, 2] = 0.0, 7.0
    found = inferred(family, (S, X, y, targets), PARITY, r, covariance=covariance)
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(
        found.covariance[np.ix_(kept, kept)], least.covariance, rtol=1e-6, atol=1e-10
    )
    assert (found.standard_errors[[2, 5]] == 0.0).all()
    assert "'age', 'x3' are constant" in " ".join(str(found).split())


def test_separated_responses_are_named():
    S, X, y, targets = draw(Binomial())
    X[:, 2] = y[:, 0]
    with pytest.raises(ValueError, match="'x3' separate the responses"):
        inferred(Binomial(), (S, X, y, targets), PARITY, 0.05)


def test_functions_as_definitions_hold_where_they_do_not_matter():
    definition = CallableDefinition(lambda fit: float(fit.sensitive_variance > 0.1))
    share = CallableDefinition(lambda fit: PARITY.value(fit))
    data = draw(Gaussian())
    with pytest.raises(ValueError, match="no standard errors for definition="):
        inferred(Gaussian(), data, share, 0.05)
    free = inferred(Gaussian(), data, definition, 1.0)
    np.testing.assert_allclose(
        free.covariance, inferred(Gaussian(), data, PARITY, 1.0).covariance, rtol=1e-9
    )


def test_leverage_is_for_single_rows():
    family = Cox()
    with pytest.raises(ValueError, match="covariance='HC3' needs the leverage"):
        inferred(family, draw(family), PARITY, 0.05, covariance="HC3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "HC2"}, "covariance='HC2' is not known"),
        ({"covariance": "cluster"}, "needs clusters="),
        ({"clusters": np.zeros(60)}, "one value only"),
        ({"clusters": np.arange(59)}, "59 labels for 60 rows"),
        ({"clusters": np.arange(60), "covariance": "HC3"}, "no version for clusters"),
    ],
)
def test_covariances_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        inferred(Gaussian(), draw(Gaussian()), PARITY, 0.05, **options)


def test_more_coefficients_than_rows_can_tell():
    with pytest.raises(ValueError, match="6 rows are too few for the errors of 6 coefficients"):
        inferred(Gaussian(), draw(Gaussian(), n=6), PARITY, 0.05)
