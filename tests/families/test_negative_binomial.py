"""The negative binomial family against decimals, SciPy and statsmodels; estimating κ."""

from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairridge
from fairridge import FairRidgeRegressor, cross_validate, load, sources
from fairridge.families import NegativeBinomial, Poisson
from tests.zoo import LateModule

sm = LateModule("statsmodels.api")

NAMES = list("stxz")


@pytest.fixture(scope="module")
def data():
    """Columns, counts, weights and offsets."""
    rng = np.random.default_rng(71)
    Z = rng.normal(size=(300, 4)) @ (np.eye(4) + 0.3)
    mu = np.exp(0.9 + Z @ [0.3, -0.2, 0.3, 0.1])
    y = rng.poisson(mu * rng.gamma(1 / 0.6, 0.6, 300))
    return Z, y.astype(float), rng.integers(1, 4, 300), 0.4 * rng.normal(size=300)


def fair(r=1.0, family="negative-binomial", **options):
    return FairRidgeRegressor(r, sensitive=[0, 1], family=family, **options)


def rows_of(family, y, eta, order=0):
    return family.deviance_terms(np.array([[y]]), np.array([[eta]]), np.ones(1), order)


# ----------------------------------------------------------------------- values


def exactly(y, eta, kappa):
    """Deviance, slope and curvature with as many digits as it takes."""
    with localcontext(prec=320):  # more digits change none of the floats
        y, mu, k = Decimal(y), Decimal(eta).exp(), Decimal(kappa)
        below = 1 + k * mu
        deviance = -(y + 1 / k) * ((1 + k * y) / below).ln()
        deviance += y * (y.ln() - Decimal(eta)) if y else 0
        values = deviance, (mu - y) / below, mu * (1 + k * y) / below**2
        return [float(2 * value) for value in values]


@pytest.mark.parametrize("kappa", [1e-12, 0.6, 1e9])
@pytest.mark.parametrize("y", [0.0, 0.3, 1e7])
@pytest.mark.parametrize("gap", [-600.0, -1e-4, 3.0, 600.0])
def test_no_digits_are_lost_at_either_limit(kappa, y, gap):
    eta = gap + (np.log(y) if y else 0.0)
    sums = rows_of(NegativeBinomial(kappa), y, eta, 2)
    deviance, slope, curvature = exactly(y, eta, kappa)
    # η itself is rounded, which the slope turns into a rounding of the deviance.
    assert sums.deviance == pytest.approx(deviance, rel=1e-10, abs=4e-16 * abs(slope * eta))
    assert sums.gradient[0, 0] == pytest.approx(slope, rel=1e-10)
    assert sums.curvature[0, 0, 0] == pytest.approx(curvature, rel=1e-12)


def test_loglik_is_a_sum_of_log_densities():
    rng = np.random.default_rng(72)
    eta, weight = rng.normal(size=(50, 1)), rng.integers(1, 4, 50).astype(float)
    mu = np.exp(eta[:, 0])
    y = rng.poisson(3.0 * mu)[:, None] * 1.0
    for kappa in (1e-8, 0.3, 5.0):
        family = NegativeBinomial(kappa)
        found = family.loglik(family.deviance_terms(y, eta, weight, 0).deviance, y, weight, 1.0)
        density = stats.nbinom(1 / kappa, 1 / (1 + kappa * mu)).logpmf(y[:, 0])
        assert found == pytest.approx(weight @ density, rel=1e-7 if kappa < 1e-6 else 1e-11)


def test_without_dispersion_it_is_the_poisson_family(data):
    Z, y, weight, offset = data
    ours, plain = (
        fair(0.03, family).fit(Z, y, sample_weight=weight, offset=offset)
        for family in (NegativeBinomial(0.0), "poisson")
    )
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-10)
    assert ours.loglik_ == pytest.approx(plain.loglik_, rel=1e-12)
    first, second = (model.score(Z, y, offset=offset) for model in (ours, plain))
    assert first == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize("dispersion", [-1.0, float("nan"), float("inf")])
def test_a_dispersion_that_is_no_variance_is_refused(dispersion):
    with pytest.raises(ValueError, match="must be zero or positive"):
        NegativeBinomial(dispersion)


# ------------------------------------------------------- other programs' answers


def test_a_known_dispersion_gives_the_glm_of_statsmodels(data):
    Z, y, weight, offset = data
    ours = fair(family=NegativeBinomial(0.8)).fit(Z, y, sample_weight=weight, offset=offset)
    theirs = sm.GLM(
        y,
        sm.add_constant(Z),
        sm.families.NegativeBinomial(alpha=0.8),
        offset=offset,
        freq_weights=weight,
    ).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), theirs.params, atol=1e-6)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
    assert ours.loglik_ == pytest.approx(theirs.llf, rel=1e-9)
    null = theirs.null_deviance
    assert ours.explained_deviance_ == pytest.approx(1 - theirs.deviance / null, rel=1e-7)


def test_an_unknown_dispersion_is_estimated_as_by_statsmodels(data):
    Z, y, weight, offset = data
    ours = fair().fit(Z, y, sample_weight=weight, offset=offset)
    rows = np.repeat(np.arange(len(y)), weight)
    theirs = sm.NegativeBinomial(y[rows], sm.add_constant(Z[rows]), offset=offset[rows]).fit(
        np.append(ours.coef_[[0, 0, 1, 2, 3]], 0.5), method="newton", tol=1e-14, disp=False
    )
    assert ours.family_.dispersion == pytest.approx(theirs.params[-1], rel=1e-6)
    found = np.append(ours.intercept_, ours.coef_)
    np.testing.assert_allclose(found, theirs.params[:-1], atol=1e-6)
    assert ours.loglik_ == pytest.approx(theirs.llf, rel=1e-9)
    assert ours.dispersion_ == 1.0


# -------------------------------------------------------------- one κ for all r


def test_counts_that_vary_less_than_poisson_counts_have_no_dispersion(data):
    Z = data[0]
    regular = np.round(np.exp(0.9 + Z @ [0.3, -0.2, 0.3, 0.1]))
    model = fair(0.05).fit(Z, regular)
    assert model.family_ == NegativeBinomial(0.0)
    assert model.deviance_ == pytest.approx(fair(0.05, Poisson()).fit(Z, regular).deviance_)


@pytest.mark.slow
def test_the_dispersion_is_that_of_the_free_model_for_every_bound(data):
    Z, y, _, _ = data
    free = fair(1.0).fit(Z, y)
    path = fair().path(Z, y, unfairness=[0.0, 0.05, 1.0])
    for k, r in enumerate((0.0, 0.05, 1.0)):
        single = fair(r).fit(Z, y)
        assert single.family_ == free.family_ == path.at(r).family_
        np.testing.assert_allclose(path.alpha[k], single.alpha_, atol=1e-9)
    given = fair(0.05, free.family_).fit(Z, y)
    np.testing.assert_allclose(given.beta_, fair(0.05).fit(Z, y).beta_, rtol=1e-8)


def test_every_fold_has_its_own_dispersion(data):
    Z, y, _, _ = data
    fold = np.arange(200), np.arange(200, 300)
    found = cross_validate(fair(), Z, y, unfairness=[0.05], folds=[fold]).records[0]
    model = fair(0.05).fit(Z[:200], y[:200])
    eta = np.log(model.predict(Z[200:]))
    deviance = model.family_.deviance_terms(y[200:, None], eta[:, None], np.ones(100), 0).deviance
    assert found["loss"] == pytest.approx(deviance / 100, rel=1e-8)
    assert found["train_loss"] == pytest.approx(model.deviance_ / 200, rel=1e-8)


@pytest.mark.slow
def test_rows_elsewhere_give_the_same_model(data):
    Z, y, weight, offset = data
    frame = pd.DataFrame(Z, columns=NAMES).assign(y=y, w=weight, o=offset)
    roles = {"response": "y", "sensitive": ["s", "t"], "weight": "w", "offset": "o"}
    source = sources.frame(frame, **roles, batch_rows=70)
    there = FairRidgeRegressor(1.0, family="negative-binomial").fit(source)
    here = fair(1.0).fit(Z, y, sample_weight=weight, offset=offset)
    assert there.family_.dispersion == pytest.approx(here.family_.dispersion, rel=1e-8)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-7)
    assert there.loglik_ == pytest.approx(here.loglik_, rel=1e-9)


def test_the_estimate_is_saved_with_the_model(data, tmp_path):
    Z, y, _, _ = data
    model = fair(0.05).fit(Z, y)
    fairridge.save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.family_ == model.family_
    assert again.family == "negative-binomial"
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
