"""Bounds that hold in the population."""

import numpy as np
import pytest
from scipy import stats

from fairridge.fairness import EqualityOfOpportunity, StatisticalParity
from fairridge.families import Binomial, Gaussian
from fairridge.inference import certified_bound, certify, rows_needed, upper_bound
from fairridge.penalties import Ridge

from .problems import draw, problem_of

SETTINGS = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
PARITY = StatisticalParity()


def test_rows_needed_for_a_fair_fit_solve_the_equation_in_closed_form():
    for r in (0.01, 0.05, 0.2):
        for q in (1, 3, 6):
            exact = stats.chi2.ppf(0.95, q) * (1 - r) / r
            assert rows_needed(r, sensitive_columns=q) == np.ceil(exact)


def test_rows_needed_grow_as_the_bounds_approach_each_other():
    # From tables of the noncentral χ², r = 0.05 and q = 3.
    needed = [
        rows_needed(0.05, sensitive_columns=3, training_bound=share * 0.05)
        for share in (0.0, 0.4, 0.6, 0.8, 0.9)
    ]
    assert needed == [149, 491, 1157, 4780, 19348]
    enough, fewer = (
        upper_bound(0.03, sensitive_columns=3, confidence=0.95, spread=1 / (n * 0.97))
        for n in (1157, 1156)
    )
    assert enough <= 0.05 < fewer
    assert rows_needed(0.05, sensitive_columns=3, training_bound=0.04999) > 1_000_000


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


def test_certified_bounds_rise_with_rows_and_bound_and_fall_with_confidence():
    def bound(n=2000, r=0.05, confidence=0.95):
        return certified_bound(
            r, sensitive_columns=2, spread=lambda x: 1 / (n * (1 - x)), confidence=confidence
        )

    assert bound() < bound(n=4000) < bound(n=4000, r=0.06) < 0.06
    assert bound(confidence=0.99) < bound() < bound(confidence=0.9)
    assert bound(n=50) is None


def test_a_model_that_is_fair_enough_by_itself_keeps_its_bound():
    spread = {"sensitive_columns": 2, "spread": lambda x: 1 / (2000 * (1 - x))}
    assert certified_bound(0.05, largest=0.001, **spread) == 0.05
    limited = certified_bound(0.05, largest=0.045, **spread)
    assert limited == pytest.approx(certified_bound(0.05, **spread))


def test_certificates_of_data():
    data = draw(Gaussian(), n=2000)
    problem = problem_of(Gaussian(), data, **SETTINGS)
    found = certify(problem, 0.05)
    assert found.granted
    assert 0.0 < found.training_bound < 0.05
    assert found.upper == pytest.approx(0.05)
    assert (found.n_rows, found.rows_needed, found.method) == (2000, 2000, "closed-form")
    # The odds spread by the influence of rows on R²_S, summed over rows.
    fit = problem.solve(np.array([found.training_bound]))[0].fit
    S = data[0]
    h = (S - S.mean(axis=0)) @ fit.alpha
    t = fit.U @ fit.beta
    rho = found.training_bound
    hat = np.linalg.qr(np.column_stack([np.ones(2000), S]))[0]
    wider = 1 / np.sqrt(1 - (hat**2).sum(axis=1))
    phi = ((1 - rho) * (h * h + 2 * h * t * wider) - rho * t * t) / (h.var() + t.var())
    spread = (phi**2).sum() / 2000**2 / (4 * rho * (1 - rho) ** 3)
    degrees = (h @ h) ** 2 / (h**4).sum() - 1
    upper = upper_bound(rho, sensitive_columns=2, confidence=0.95, spread=spread, degrees=degrees)
    assert upper == pytest.approx(0.05, rel=0.002)  # c and ν are interpolated in r′


def test_a_certificate_that_is_not_granted_says_how_many_rows_would_do():
    found = certify(problem_of(Gaussian(), draw(Gaussian()), **SETTINGS), 0.01)
    assert not found.granted
    assert found.training_bound == 0.0
    assert found.upper > 0.01
    assert 60 < found.rows_needed < 5000


@pytest.mark.parametrize(
    ("family", "definition"), [(Binomial(), PARITY), (Gaussian(), EqualityOfOpportunity())]
)
def test_what_cannot_be_certified(family, definition):
    problem = problem_of(family, draw(family), definition=definition, **SETTINGS)
    with pytest.raises(ValueError, match="cannot be certified"):
        certify(problem, 0.05)
    if family.name == "binomial":
        variances = StatisticalParity(measure="variance")
        problem = problem_of(family, draw(family), definition=variances, **SETTINGS)
        assert certify(problem, 0.5).n_rows == 60


@pytest.mark.slow
def test_certified_fits_hold_in_the_population():
    """Normal data with known covariances: violations of r = 0.05 at δ = 0.1."""
    rng = np.random.default_rng(0)
    n, repeats, violated, plain = 400, 300, 0, 0
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
