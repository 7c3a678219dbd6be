"""Bounds that hold in the population."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fairridge import FairRidgeRegressor
from fairridge.fairness import StatisticalParity
from fairridge.families import Gaussian
from fairridge.inference import certify, rows_needed
from fairridge.inference.scores import explained_scores
from fairridge.penalties import Ridge
from simulations.guarantees import bent

from .problems import draw, problem_of

SETTINGS = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
PARITY = StatisticalParity()


def test_rows_needed():
    for r, q in ((0.01, 1), (0.05, 3), (0.2, 6)):
        exact = stats.chi2.ppf(0.95, q) * (1 - r) / r
        assert rows_needed(r, sensitive_columns=q) == np.ceil(exact)
    # From tables of the noncentral χ², r = 0.05 and q = 3.
    needed = [
        rows_needed(0.05, sensitive_columns=3, training_bound=share * 0.05)
        for share in (0.4, 0.8, 0.9)
    ]
    assert needed == [491, 4780, 19348]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unfairness": 1.0}, "unfairness=1.0 must lie"),
        ({"confidence": 0.0}, "confidence=0.0 must lie"),
        ({"sensitive_columns": 0}, "at least 1"),
        ({"training_bound": 0.05}, "no sample size"),
    ],
)
def test_what_no_number_of_rows_gives(options, message):
    with pytest.raises(ValueError, match=message):
        rows_needed(**{"unfairness": 0.05, "sensitive_columns": 2} | options)


def test_certificates_of_data():
    data = draw(Gaussian(), n=2000)
    problem = problem_of(Gaussian(), data, **SETTINGS)
    found = certify(problem, 0.05)
    assert found.granted
    assert 0.0 < found.training_bound < 0.05
    assert found.upper == pytest.approx(0.05)
    assert (found.n_rows, found.rows_needed, found.method) == (2000, 2000, "draws")
    # The quantile of the model that is fitted with it, from its own sums.
    fits = [one.fit for one in problem.solve(np.array([found.training_bound, 1.0]))]
    own, free = explained_scores(fits, problem.engine)
    followed = np.sqrt((own.coefficients**2).sum() / (free.coefficients**2).sum())
    odds = replace(own, followed=followed).quantile(0.95)
    assert odds / (1 + odds) == pytest.approx(0.05, rel=0.004)  # interpolated in r′
    # About as many rows as normal theory needs.
    needed = rows_needed(0.05, sensitive_columns=2, training_bound=found.training_bound)
    assert 1000 < needed < 4000


def test_a_certificate_that_is_not_granted_says_how_many_rows_would_do():
    found = certify(problem_of(Gaussian(), draw(Gaussian()), **SETTINGS), 0.01)
    assert not found.granted
    assert found.training_bound == 0.0
    assert found.upper > 0.01
    assert 60 < found.rows_needed < 5000


def test_models_that_are_the_same_but_for_rounding_are_certified():
    Z, y = bent(np.random.default_rng([763, 3893222702]), 200)
    model = FairRidgeRegressor(0.05, sensitive=[0], confidence=0.9).fit(Z, y)
    assert (model.certificate_.training_bound, model.certificate_.granted) == (0.05, True)


@pytest.mark.slow
def test_certified_fits_hold_in_the_population():
    """Normal data with known covariances: violations of r = 0.05 at δ = 0.1."""
    rng = np.random.default_rng(0)
    n, repeats, violated, plain = 400, 200, 0, 0
    B = np.array([[0.5, -0.2, 0.3], [0.1, 0.4, -0.3]])
    for _ in range(repeats):
        S = rng.normal(size=(n, 2))
        X = S @ B + rng.normal(size=(n, 3))
        y = (S @ [0.8, 0.5] + X @ [0.6, -0.4, 0.5] + rng.normal(size=n))[:, None]
        problem = problem_of(Gaussian(), (S, X, y, y), **SETTINGS)
        found = certify(problem, 0.05, confidence=0.9)
        bounds = [found.training_bound, 0.05]
        for k, solution in enumerate(problem.solve(np.array(bounds))):
            fit = solution.fit
            gamma = fit.alpha - fit.basis.B @ fit.beta
            own, rest = gamma + B @ fit.beta, fit.beta
            share = own @ own / (own @ own + rest @ rest)
            violated += k == 0 and found.granted and share > 0.05
            plain += k == 1 and share > 0.05
    error = np.sqrt(0.09 / repeats)
    assert violated / repeats <= 0.1 + 3 * error
    assert plain / repeats > 0.4
