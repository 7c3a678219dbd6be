"""What an inference tells besides standard errors."""

import numpy as np
import pytest
from scipy import stats

from fairridge import FairRidgeRegressor
from fairridge.fairness import EqualityOfOpportunity, StatisticalParity
from fairridge.families import Binomial, Cox, Gaussian, Multinomial
from fairridge.inference.passes import Pass, row_terms
from fairridge.penalties import Radial, Ridge

from .problems import NAMES, STEP, analyzed, draw, inferred, influences_of, problem_of, solution_of

PARITY = StatisticalParity()


@pytest.fixture(scope="module")
def data():
    return draw(Gaussian(), n=400)


@pytest.fixture(scope="module")
def bound(data):
    return inferred(Gaussian(), data, PARITY, 0.02, title="FairRidgeRegressor")


def test_names_and_shapes(bound):
    assert bound.names == ("(intercept)", *NAMES)
    assert bound.covariance.shape == (6, 6)
    np.testing.assert_allclose(bound.standard_errors**2, np.diag(bound.covariance))
    half = stats.t.ppf(0.95, 394) * bound.standard_errors
    expected = bound.estimate[:, None] + np.outer(half, [-1, 1])
    np.testing.assert_allclose(bound.confidence_interval(0.9), expected)


def test_the_table_reads_as_in_statsmodels(bound):
    lines = str(bound).splitlines()
    assert lines[0].strip() == "FairRidgeRegressor"
    head = next(line for line in lines if "std err" in line).split()
    assert head == ["coef", "std", "err", "t", "P>|t|", "[0.025", "0.975]"]
    row = next(line for line in lines if line.startswith("x2"))
    numbers = [float(cell) for cell in row.split()[1:]]
    expected = [bound.estimate[4], bound.standard_errors[4], *bound.confidence_interval()[4]]
    np.testing.assert_allclose(np.array(numbers)[[0, 1, 4, 5]], expected, rtol=1e-3)
    assert "this fair model fitted to the whole population" in " ".join(lines)
    assert max(map(len, lines)) <= 78


def test_frames_of_both_kinds(bound):
    raw, fair = bound.to_frame(), bound.to_frame("fair", confidence=0.9)
    assert list(raw["term"]) == list(bound.names)
    assert list(fair["term"]) == [*bound.names, "(lambda)"]
    np.testing.assert_allclose(raw["standard_error"], bound.standard_errors)
    np.testing.assert_allclose(raw["p_value"], 2 * stats.t.sf(np.abs(raw["statistic"]), 394))
    estimate, error = fair["coefficient"].iloc[-1], fair["standard_error"].iloc[-1]
    ratio = np.exp(stats.t.ppf(0.95, 394) * error / estimate)
    np.testing.assert_allclose(fair["upper"].iloc[-1], estimate * ratio)
    with pytest.raises(ValueError, match="kind='both' is not known"):
        bound.to_frame("both")


@pytest.mark.parametrize("shift", [-1e-6, 1e-6])
def test_at_the_kink_each_error_is_the_larger_of_both_branches(data, shift):
    share = inferred(Gaussian(), data, PARITY, 1.0).unconstrained_unfairness().estimate
    found = inferred(Gaussian(), data, PARITY, share + shift, covariance="HC0")
    settings = {"penalty": Ridge(), "predictor_penalty": 0.0, "standardize": True}
    analysis = analyzed(Gaussian(), data, PARITY, share + shift, **settings)
    assert analysis.regime == ("bound" if shift < 0 else "free")
    variances = [
        (influences_of(analysis, branch)[0][:, 0] ** 2).sum(axis=0) / 400**2
        for branch in (analysis.branch, analysis.other_branch)
    ]
    assert found.facts.near_kink
    np.testing.assert_allclose(found.standard_errors**2, np.maximum(*variances), rtol=1e-8)
    assert np.linalg.eigvalsh(found.covariance).min() > 0.0
    assert "larger of the two cases" in " ".join(str(found).split())
    if shift < 0:
        assert found.lambda_interval().lower == 0.0


@pytest.mark.parametrize("family", [Gaussian(), Multinomial(3)], ids=repr)
def test_quantities_have_the_influence_of_whole_fits(family):
    data, row, weight = draw(family), 7, np.ones(60)
    settings = {"penalty": Ridge(), "predictor_penalty": 1.0, "standardize": True}
    analysis = analyzed(family, data, PARITY, 0.03, weight, **settings)
    named = analysis.quantities()
    del named["optimism"]  # no estimate, and without an influence
    what = Pass(analysis.branch, tuple(named.values()))
    rows = row_terms(analysis.fit.engine, family, what)[:, analysis.branch.width :]
    found = inferred(family, data, PARITY, 0.03, weight, covariance="HC0", **settings)

    def values(k):
        change = -weight.copy()
        change[row] += 60.0
        moved = weight + k * STEP * change
        fit = solution_of(problem_of(family, data, moved, **settings), PARITY, 0.03).fit
        free = fit.unconstrained()
        return np.array([PARITY.value(free), (fit.deviance - free.deviance) / 60.0])

    assert list(named) == ["unconstrained", "price"]
    slope = (8 * (values(0.25) - values(-0.25)) - (values(0.5) - values(-0.5))) / (3 * STEP)
    np.testing.assert_allclose(rows[row], slope, rtol=1e-5)
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-10)
    errors = np.sqrt((rows**2).sum(axis=0)) / 60
    expected = dict(zip(named, zip(values(0.0), errors, strict=True), strict=True))
    assert found.quantities == {name: pytest.approx(pair) for name, pair in expected.items()}


def test_whether_the_bound_binds(data):
    strict, loose = (inferred(Gaussian(), data, PARITY, r) for r in (0.001, 0.9))
    assert strict.binding_p_value < 1e-3
    assert loose.binding_p_value > 0.999
    assert loose.price_of_fairness().estimate == 0.0
    price = strict.price_of_fairness()
    assert 0.0 <= price.lower < price.estimate < price.upper


def test_wald_tests_of_nested_models(data, bound):
    one = bound.wald_test(["x2"])
    assert one.statistic == pytest.approx((bound.estimate[4] / bound.standard_errors[4]) ** 2)
    assert one.p_value == pytest.approx(bound.to_frame()["p_value"].iloc[4])
    three = bound.wald_test(["x1", "x2", "x3"])
    b, V = bound.estimate[3:], bound.covariance[3:, 3:]
    assert three.statistic == pytest.approx(b @ np.linalg.solve(V, b) / 3)
    assert (three.df, three.df_residual) == (3, 394)
    with pytest.raises(ValueError, match="'x9'"):
        bound.wald_test(["x9"])


def test_coefficients_of_classes_sum_to_zero_and_are_tested_as_such():
    found = inferred(Multinomial(3), draw(Multinomial(3)), PARITY, 0.05, labels=["a", "b", "c"])
    assert found.names[0] == "(intercept) → a"
    assert len(found.names) == 18
    np.testing.assert_allclose(found.estimate.reshape(3, 6).sum(axis=0), 0.0, atol=1e-8)
    test = found.wald_test(["x1 → a", "x1 → b", "x1 → c"])
    assert test.df == 2


def test_criteria_of_least_squares(data):
    import statsmodels.api as sm

    theirs = sm.OLS(data[2][:, 0], sm.add_constant(np.hstack(data[:2]))).fit()
    ours = inferred(Gaussian(), data, PARITY, 1.0)
    assert ours.effective_parameters == pytest.approx(7.0)
    assert ours.aic == pytest.approx(theirs.aic + 2.0)
    assert ours.bic == pytest.approx(theirs.bic + np.log(400))
    fair = inferred(Gaussian(), data, PARITY, 0.0)
    assert fair.effective_parameters == pytest.approx(5.0)
    between = inferred(Gaussian(), data, PARITY, 0.02)
    assert 5.0 < between.effective_parameters < 7.0


def test_aic_of_a_bound_that_costs_much_is_that_of_other_rows():
    """Parameters as they are counted elsewhere are 7 too many here."""
    excess = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        S, X, noise = rng.normal(size=(2080, 2)), rng.normal(size=(2080, 8)), rng.normal(size=2080)
        y, Z = 2.0 * S.sum(axis=1) + 0.5 * X.sum(axis=1) + noise, np.hstack([S, X])
        model = FairRidgeRegressor(0.05, sensitive=[0, 1]).fit(Z[:80], y[:80])
        found, e = model.inference(Z[:80], y[:80]), y - model.predict(Z)
        own, others = np.mean(e[:80] ** 2), np.mean(e[80:] ** 2)
        excess.append(found.aic - 80.0 * (np.log(2.0 * np.pi * own) + others / own))
    assert abs(np.mean(excess)) < 3.0 * np.std(excess) / 30**0.5 + 1.0
    assert np.std(excess) / 30**0.5 < 3.0


def test_intervals_of_predictions(data, bound):
    Z = np.hstack(data[:2])[:5]
    found = bound.linear_predictor(Z, 0.9)
    row = np.append(1.0, Z[2])
    error = np.sqrt(row @ bound.covariance @ row)
    half = stats.t.ppf(0.95, 394) * error
    np.testing.assert_allclose(found[2], row @ bound.estimate + [0.0, -half, half])
    wider = bound.linear_predictor(Z, 0.9, observation=True)
    assert (np.diff(wider[:, 1:]) > np.diff(found[:, 1:])).all()


def test_population_unfairness_lies_above_the_training_value(bound):
    found = bound.population_unfairness()
    assert found.lower < 0.02 < found.estimate < found.upper
    assert found == bound.population_unfairness()


@pytest.mark.parametrize(
    ("family", "definition"), [(Binomial(), PARITY), (Gaussian(), EqualityOfOpportunity())]
)
def test_population_unfairness_is_for_variances(family, definition):
    found = inferred(family, draw(family, n=200), definition, 0.05)
    with pytest.raises(ValueError, match="measure='variance'"):
        found.population_unfairness()


def test_cox_models_have_no_intercept():
    found = inferred(Cox(), draw(Cox()), PARITY, 0.05)
    assert found.names == NAMES
    assert "price" not in found.quantities
    with pytest.raises(ValueError, match="'price'"):
        found.price_of_fairness()


def test_small_bounds_and_few_rows_are_noted():
    found = inferred(Gaussian(), draw(Gaussian()), PARITY, 0.001, penalty=Radial())
    text = " ".join(str(found).split())
    assert "would bind by chance alone" in text
    assert "few rows for the number of coefficients" in text
