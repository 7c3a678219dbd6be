"""Counts, amounts and proportions: other programs' answers, exposure, scores, defects."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import d2_tweedie_score

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.families import Tweedie
from tests import zoo
from tests.zoo import LateModule, statsmodels_family

estimator_checks = LateModule("sklearn.utils.estimator_checks")
sm = LateModule("statsmodels.api")

FAMILIES = ["poisson", "gamma", "tweedie", "quasi-binomial"]
LOGARITHMIC = FAMILIES[:3]
POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(60)
    return rng.normal(size=(180, 5)) @ (0.3 * rng.normal(size=(5, 5)) + np.eye(5)) + 0.5


@pytest.fixture(scope="module")
def responses(columns):
    return zoo.responses(columns @ [0.4, -0.3, 0.3, 0.0, -0.2] + 0.3, 61, slope=1.0)


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def y(family, responses):
    return responses[family]


def fair(family, r=0.05, **options):
    return FairRidgeRegressor(r, **{"sensitive": [0, 1], "family": family, **options})


# ------------------------------------------------------ other programs' answers


@pytest.mark.parametrize("given", [False, True])
def test_the_unconstrained_model_is_the_glm_of_statsmodels(columns, family, y, given):
    rng = np.random.default_rng(62)
    weight = rng.integers(1, 4, 180) if given else None
    offset = 0.5 * rng.normal(size=180) if given else None
    ours = fair(family, 1.0).fit(columns, y, sample_weight=weight, offset=offset)
    theirs = sm.GLM(
        y, sm.add_constant(columns), statsmodels_family(family), offset=offset, freq_weights=weight
    ).fit(tol=1e-14, maxiter=200)
    found = np.append(ours.intercept_, ours.coef_)
    np.testing.assert_allclose(found, theirs.params, atol=1e-6)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
    mean = ours.predict(columns, offset=offset)
    np.testing.assert_allclose(mean, theirs.fittedvalues, rtol=1e-6)
    if family in ("gamma", "tweedie", "quasi-binomial"):
        assert ours.dispersion_ == pytest.approx(theirs.pearson_chi2 / theirs.df_resid, rel=1e-6)
    if family == "poisson":
        assert ours.dispersion_ == 1.0
    if family in ("poisson", "gamma"):
        expected = theirs.family.loglike(
            y, mean, freq_weights=1.0 if weight is None else weight, scale=ours.dispersion_
        )
        assert ours.loglik_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("penalty", [8.0])
@pytest.mark.parametrize("family", LOGARITHMIC)
def test_without_S_it_is_the_ridge_of_scikit_learn(columns, responses, family, penalty):
    Z, y = columns, responses[family]
    ours = fair(family, 0.0, predictor_penalty=penalty).fit(Z, y)
    S, X = Z[:, :2] - Z[:, :2].mean(0), Z[:, 2:] - Z[:, 2:].mean(0)
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    kind = {
        "poisson": PoissonRegressor(),
        "gamma": GammaRegressor(),
        "tweedie": TweedieRegressor(power=1.5, link="log"),
    }[family]
    # Half the mean unit deviance and ½α‖b‖²: theirs is ours over 2n.
    kind.set_params(alpha=penalty / len(y), solver="newton-cholesky", tol=1e-12)
    theirs = kind.fit(U / U.std(0), y)
    np.testing.assert_allclose(ours.beta_ * U.std(0), theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("power", [1.1, 1.9])
def test_the_power_of_a_tweedie_model_is_given(columns, responses, power):
    y = responses["tweedie"]
    ours = fair(Tweedie(power), 1.0).fit(columns, y)
    theirs = sm.GLM(y, sm.add_constant(columns), statsmodels_family("tweedie", power)).fit(
        tol=1e-14, maxiter=200
    )
    np.testing.assert_allclose(ours.coef_, theirs.params[1:], atol=1e-6)
    assert ours.family_ == Tweedie(power)


@pytest.mark.parametrize(
    ("family", "hint"),
    [
        ("binomial", "Classifier"),
        ("cox", "Survival"),
        ("normal", "gaussian"),
        (Tweedie, "derived from SinglePredictor, can be passed"),
    ],
)
def test_other_families_are_refused_with_a_hint(columns, responses, family, hint):
    with pytest.raises(ValueError, match=hint):
        fair(family).fit(columns, responses["poisson"])


@pytest.mark.parametrize("r", [0.05, 1.0])
def test_outcomes_have_binomial_coefficients_and_their_own_dispersion(columns, r):
    rng = np.random.default_rng(62)
    weight, offset = rng.uniform(0.5, 2.0, 180), rng.normal(size=180)
    y = (rng.random(180) < expit(columns @ [0.4, -0.3, 0.3, 0.0, -0.2])) * 1.0
    arguments = {"sample_weight": weight, "offset": offset}
    ours = fair("quasi-binomial", r).fit(columns, y, **arguments)
    binomial = FairRidgeClassifier(r, sensitive=[0, 1]).fit(columns, y, **arguments)
    for name in ("alpha_", "beta_", "fair_intercept_", "lambda_", "unfairness_", "deviance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(binomial, name), rtol=1e-7)
    mu = ours.predict(columns, offset=offset)
    pearson = weight @ ((y - mu) ** 2 / (mu * (1.0 - mu)))
    assert ours.dispersion_ == pytest.approx(pearson / (weight.sum() - 6.0), rel=1e-10)
    assert binomial.dispersion_ == 1.0
    assert abs(ours.dispersion_ - 1.0) > 0.01


def test_the_offset_belongs_to_the_null_model_too(columns, family, y):
    offset = np.random.default_rng(64).normal(size=180)
    model = fair(family, 0.2).fit(columns, y, offset=offset)
    null = sm.GLM(y, np.ones(180), statsmodels_family(family), offset=offset).fit(tol=1e-14)
    expected = 1.0 - model.deviance_ / null.deviance
    assert model.explained_deviance_ == pytest.approx(expected, rel=1e-7)
    assert model.score(columns, y, offset=offset) == pytest.approx(expected, rel=1e-7)


# ------------------------------------------------------------------------ scores


@pytest.mark.parametrize("family", LOGARITHMIC)
def test_the_score_is_that_of_scikit_learn(columns, responses, family):
    y = responses[family]
    model = fair(family, 0.2).fit(columns[:120], y[:120])
    found = model.score(columns[120:], y[120:])
    expected = d2_tweedie_score(y[120:], model.predict(columns[120:]), power=POWERS[family])
    assert found == pytest.approx(expected, rel=1e-10)


def test_the_score_of_equal_responses_is_zero(columns, responses, family):
    """There is nothing to explain, as for R²."""
    model = fair(family, 0.2).fit(columns, responses[family])
    assert model.score(columns[:4], np.full(4, 0.5)) == 0.0
    if family in ("poisson", "tweedie"):
        assert model.score(columns[:4], np.zeros(4)) == 0.0
    assert fair("gaussian").fit(columns, responses[family]).score(columns[:4], np.ones(4)) == 0.0


# ------------------------------------------------------------------- the response


IMPOSSIBLE = [
    ("poisson", -1.0, "must be zero or positive; y has -1"),
    ("tweedie", -1.0, "must be zero or positive; y has -1"),
    ("gamma", 0.0, "must be positive; y has 0"),
    ("negative-binomial", -1.0, "negative-binomial response must be zero or positive"),
    ("quasi-binomial", 1.5, r"lies in \[0, 1\]; y has 1.5"),
    ("poisson", np.nan, "y contains NaN"),
    ("gamma", np.inf, "y contains infinity"),
]


@pytest.mark.parametrize(("family", "value", "message"), IMPOSSIBLE)
def test_impossible_responses_are_refused(columns, responses, family, value, message):
    y = responses[family].copy()
    y[7] = value
    with pytest.raises(ValueError, match=message):
        fair(family).fit(columns, y)
    if np.isfinite(value):
        model = fair(family).fit(columns, responses[family])
        with pytest.raises(ValueError, match=message):
            model.score(columns[:2], [value, 0.5])
    # Where its row is absent it does not matter.
    fair(family).fit(columns, y, sample_weight=(np.arange(180) != 7) * 1.0)


@pytest.mark.parametrize(("family", "value"), [("poisson", 0), ("quasi-binomial", 1)])
def test_nothing_but_zeros_or_ones_is_refused(columns, family, value):
    with pytest.raises(ValueError, match=f"y is {value} in every row"):
        fair(family).fit(columns, np.full(180, float(value)))


# --------------------------------------------------------------------- defects


def test_a_predictor_that_explains_nothing_does_not_break_the_bound():
    # The share compares with what U explains: here next to nothing, to 1e-7 of the deviance.
    rng = np.random.default_rng(68)
    S, U = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    y = rng.poisson(np.exp(0.5 + 0.5 * S[:, 0])) * 1.0
    # Take out of U what it explains of y beside S.
    D = np.column_stack([np.ones(200), S])
    mu = sm.GLM(y, D, statsmodels_family("poisson")).fit(tol=1e-14).fittedvalues
    U = U - D @ np.linalg.lstsq(D, U, rcond=None)[0]
    null = y - y.mean()
    U = U - null[:, None] * (null @ U) / (null @ null) * (1.0 - 1e-4)
    assert abs(np.corrcoef(U[:, 0], null)[0, 1]) < 1e-3
    assert np.isfinite(mu).all()
    Z = np.column_stack([S, U])
    for bounds in ([0.01], [0.0, 1e-4, 0.01, 0.02, 0.1, 0.3]):
        path = fair("poisson").path(Z, y, unfairness=bounds)
        assert set(path.status) == {"converged"}
        np.testing.assert_allclose(path.achieved, bounds, rtol=1e-4)
        assert (path.achieved <= np.array(bounds) + 1e-6).all()


# ------------------------------------------------------------------ scikit-learn


@pytest.mark.parametrize("family", [*FAMILIES, "gaussian"])
def test_scikit_learn_is_told_which_responses_are_positive(family):
    tags = FairRidgeRegressor(sensitive=[0], family=family).__sklearn_tags__()
    assert tags.target_tags.positive_only == (family in LOGARITHMIC)
