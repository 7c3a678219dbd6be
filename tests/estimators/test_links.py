"""Probit and complementary log-log models, and which of two classes is modeled."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate
from fairridge.export import scorecard, to_sklearn, to_sql
from fairridge.fairness import StatisticalParity
from fairridge.families import Binomial, QuasiBinomial
from tests.estimators.held import held_glm, standardized
from tests.zoo import LateModule, statsmodels_family

sm = LateModule("statsmodels.api")

LINKS = ["probit", "cloglog"]


@pytest.fixture(scope="module")
def data():
    """Columns, outcomes of a middling frequency, weights and offsets."""
    rng = np.random.default_rng(74)
    Z = rng.normal(size=(300, 4)) @ (np.eye(4) + 0.3)
    y = rng.random(300) < Binomial("cloglog").mean(Z @ [0.5, -0.3, 0.6, 0.2] - 0.4)
    return Z, np.array(["no", "yes"])[y * 1], rng.integers(1, 4, 300), 0.4 * rng.normal(size=300)


@pytest.fixture(params=LINKS)
def link(request):
    return request.param


def fair(link, r=0.05, **options):
    return FairRidgeClassifier(r, sensitive=[0, 1], link=link, **options)


def test_the_unconstrained_model_is_the_glm_of_statsmodels(data, link):
    Z, y, weight, offset = data
    ours = fair(link, 1.0).fit(Z, y, sample_weight=weight, offset=offset)
    theirs = sm.GLM(
        y == "yes",
        sm.add_constant(Z),
        statsmodels_family(link),
        offset=offset,
        freq_weights=weight,
    ).fit(tol=1e-14, maxiter=200)
    found = np.append(ours.intercept_, ours.coef_)
    np.testing.assert_allclose(found, theirs.params, atol=1e-6)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
    assert ours.loglik_ == pytest.approx(theirs.llf, rel=1e-9)
    expected = 1.0 - theirs.deviance / theirs.null_deviance
    assert ours.explained_deviance_ == pytest.approx(expected, rel=1e-7)
    probability = theirs.predict(sm.add_constant(Z), offset=offset)
    np.testing.assert_allclose(ours.predict_proba(Z, offset=offset)[:, 1], probability, atol=1e-6)


def test_a_bounded_model_is_stationary_and_meets_its_bound(data, link):
    Z, y, _, _ = data
    model = fair(link, 0.03).fit(Z, y)
    assert model.status_ == "converged"
    assert model.unfairness_ == pytest.approx(0.03, abs=1e-10)
    eta = model.decision_function(Z)
    slope = (
        Binomial(link)
        .deviance_terms((y == "yes")[:, None] * 1.0, eta[:, None], np.ones(300), 1)
        .gradient
    )
    S = Z[:, :2] - Z[:, :2].mean(axis=0)
    X = Z[:, 2:] - Z[:, 2:].mean(axis=0)
    U = X - S @ np.linalg.lstsq(S, X, rcond=None)[0]
    assert abs(slope.sum()) < 1e-8
    np.testing.assert_allclose(U.T @ slope, 0.0, atol=1e-8)
    # Of the penalty λ‖α‖² for standardized S.
    penalty = 2.0 * model.lambda_ * model.alpha_ * S.var(axis=0)
    np.testing.assert_allclose(S.T @ slope[:, 0] + penalty, 0.0, atol=1e-7)
    tjur = fair(link, definition=StatisticalParity(measure="tjur")).fit(Z, y)
    assert tjur.unfairness_ == pytest.approx(0.05, abs=1e-10)


def test_the_deviance_is_the_log_loss_and_the_class_the_likelier_one(data, link):
    Z, y, _, _ = data
    model = fair(link, 0.1).fit(Z, y)
    P = model.predict_proba(Z)
    assert model.deviance_ == pytest.approx(600 * log_loss(y, P), rel=1e-10)
    np.testing.assert_array_equal(model.predict(Z), model.classes_[P.argmax(axis=1)])
    assert model.score(Z, y) == accuracy_score(y, model.predict(Z))
    # Some rows lie between η = 0 and the η of one half, which differ for the complementary log-log.
    between = np.sum((model.decision_function(Z) > 0) != (P[:, 1] > 0.5))
    assert (between > 0) == (link == "cloglog")
    fold = np.arange(200), np.arange(200, 300)
    found = cross_validate(fair(link), Z, y, unfairness=[0.1], folds=[fold]).records[0]
    model.fit(Z[:200], y[:200])
    assert found["accuracy"] == pytest.approx(model.score(Z[200:], y[200:]))
    assert found["loss"] == pytest.approx(2 * log_loss(y[200:], model.predict_proba(Z[200:])))


def test_a_separated_outcome_is_held(data, link):
    Z, _, _, _ = data
    y = Z[:, 2] > 0.1
    with pytest.warns(UserWarning, match="separate the responses"):
        model = fair(link, 1.0).fit(Z, y)
    assert model.converged_
    means, deviance = held_glm(link, standardized(Z[:, :2], Z[:, 2:]), y.astype(float))
    assert model.deviance_ == pytest.approx(deviance, rel=1e-6)
    np.testing.assert_allclose(model.predict_proba(Z)[:, 1], means, atol=1e-7)
    np.testing.assert_array_equal(model.predict(Z), y)


def test_what_is_no_link_is_refused(data, link):
    three = np.arange(300) % 3
    with pytest.raises(ValueError, match="link='log' is not known"):
        fair("log").fit(data[0], three % 2)
    with pytest.raises(ValueError, match=f"link='{link}' is for two classes, and y has 3"):
        fair(link).fit(data[0], three)


def test_exports_that_cannot_express_a_link_say_so(data):
    Z, y, _, _ = data
    for link in LINKS:
        model = fair(link).fit(Z, y)
        with pytest.raises(ValueError, match=f"scikit-learn has no model with the {link} link"):
            to_sklearn(model)
        with pytest.raises(ValueError, match=f"log odds .* with the {link} link"):
            scorecard(model)
    with pytest.raises(ValueError, match="SQL has no function for the probit link"):
        to_sql(fair("probit").fit(Z, y))


def test_a_family_object_may_have_its_link_too(data):
    Z, y, _, _ = data
    shares = FairRidgeRegressor(0.05, sensitive=[0, 1], family=QuasiBinomial("probit"))
    expected = fair("probit").fit(Z, y)
    np.testing.assert_allclose(shares.fit(Z, y == "yes").coef_, np.ravel(expected.coef_), rtol=1e-7)


# ----------------------------------------------------------------- the modeled class


def test_labels_that_are_not_there_are_refused(data):
    Z, y, _, _ = data
    with pytest.raises(ValueError, match="positive='maybe' is not a class of y: 'no', 'yes'"):
        fair("logit", positive="maybe").fit(Z, y)
    three = np.where(Z[:, 0] > 1, "more", y)
    with pytest.raises(ValueError, match="positive='no' is for two classes, and y has 3"):
        fair("logit", positive="no").fit(Z, three)
