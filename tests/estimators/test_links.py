"""Probit and complementary log-log models: statsmodels' answers, bounds, files, exports."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

import fairridge
from fairridge import FairRidgeClassifier, cross_validate, load, sources
from fairridge.export import scorecard, to_onnx, to_sklearn, to_sql
from fairridge.fairness import StatisticalParity
from fairridge.families import Binomial, QuasiBinomial
from tests.estimators.held import held_glm, standardized
from tests.zoo import LateModule, statsmodels_family

duckdb = LateModule("duckdb")
onnxruntime = LateModule("onnxruntime")
sm = LateModule("statsmodels.api")

LINKS = ["probit", "cloglog"]
NAMES = ["x0", "x1", "x2", "x3"]


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


@pytest.mark.parametrize("extras", [False, True])
def test_the_unconstrained_model_is_the_glm_of_statsmodels(data, link, extras):
    Z, y, weight, offset = data
    weight, offset = (weight, offset) if extras else (None, None)
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


def test_cross_validation_predicts_the_likelier_class(data, link):
    Z, y, _, _ = data
    fold = np.arange(200), np.arange(200, 300)
    found = cross_validate(fair(link), Z, y, unfairness=[0.1], folds=[fold]).records[0]
    model = fair(link, 0.1).fit(Z[:200], y[:200])
    assert found["accuracy"] == pytest.approx(model.score(Z[200:], y[200:]))
    assert found["loss"] == pytest.approx(2 * log_loss(y[200:], model.predict_proba(Z[200:])))


def test_shares_of_probabilities_know_the_link(data, link):
    Z, y, _, _ = data
    model = fair(link, 0.05, definition=StatisticalParity(measure="tjur")).fit(Z, y)
    assert model.unfairness_ == pytest.approx(0.05, abs=1e-10)


@pytest.mark.slow
def test_rows_in_files_give_the_same_model(data, link, tmp_path):
    Z, y, weight, offset = data
    frame = pd.DataFrame(Z, columns=NAMES).assign(y=y, w=weight, o=offset)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    source = sources.parquet(
        tmp_path / "rows.parquet", response="y", sensitive=["x0", "x1"], weight="w", offset="o"
    )
    there = FairRidgeClassifier(0.05, link=link).fit(source)
    here = fair(link).fit(Z, y, sample_weight=weight, offset=offset)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-7)


def test_a_model_survives_its_file(data, link, tmp_path):
    Z, y, _, _ = data
    model = fair(link).fit(Z, y)
    fairridge.save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.link, again.family_) == (link, Binomial(link))
    np.testing.assert_array_equal(again.predict_proba(Z), model.predict_proba(Z))


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


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_no_link_is_refused(data, classes):
    with pytest.raises(ValueError, match="link='log' is not known"):
        fair("log").fit(data[0], np.arange(300) % classes)


def test_more_than_two_classes_have_the_logit_only(data, link):
    with pytest.raises(ValueError, match=f"link='{link}' is for two classes, and y has 3"):
        fair(link).fit(data[0], np.arange(300) % 3)


# ---------------------------------------------------------------------- exports


def onnx_of(model, Z):
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    return session.run(["prediction", "probabilities"], {"X": Z})


def test_a_graph_has_the_same_probabilities(data, link):
    Z, y, _, _ = data
    model = fair(link).fit(Z, y)
    wide = np.vstack([Z, 4.0 * Z, [[0.0, 0.0, -30.0, 0.0]]])
    labels, probabilities = onnx_of(model, wide)
    exact = {"probit": 1e-7, "cloglog": 1e-14}[link]
    np.testing.assert_allclose(probabilities, model.predict_proba(wide), atol=exact)
    if link == "cloglog":
        np.testing.assert_allclose(probabilities[:, 1], model.predict_proba(wide)[:, 1], rtol=1e-11)
    assert labels[:, 0].tolist() == model.predict(wide).tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_query_has_the_same_probabilities(data, dialect):
    Z, y, _, _ = data
    model = fair("cloglog").fit(Z, y)
    wide = np.vstack([Z, 20.0 * Z])
    query = to_sql(model, dialect)
    found = duckdb.query_df(pd.DataFrame(wide, columns=NAMES), "data", query).df()
    probability = found[f"probability_{model.classes_[1]}"]
    np.testing.assert_allclose(probability, model.predict_proba(wide)[:, 1], rtol=1e-11)
    assert found["prediction"].tolist() == model.predict(wide).tolist()


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
    from fairridge import FairRidgeRegressor

    Z, y, _, _ = data
    shares = FairRidgeRegressor(0.05, sensitive=[0, 1], family=QuasiBinomial("probit"))
    expected = fair("probit").fit(Z, y)
    np.testing.assert_allclose(shares.fit(Z, y == "yes").coef_, np.ravel(expected.coef_), rtol=1e-7)
