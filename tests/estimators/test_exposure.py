"""Exposures: counts per unit of time, in fits, predictions, scores and files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_val_score

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, sources
from fairridge.exceptions import DataWarning
from fairridge.families import Tweedie

LOG_FAMILIES = ("poisson", "gamma", Tweedie(1.4))


@pytest.fixture(scope="module")
def claims():
    """Return S and X in a frame, counts, exposures and weights."""
    rng = np.random.default_rng(5)
    n = 600
    s, e, w = rng.integers(0, 3, n), rng.uniform(0.05, 1.0, n), rng.uniform(0.5, 2.0, n)
    x = rng.normal(size=n) + 0.6 * s
    y = rng.poisson(e * np.exp(0.3 + 0.4 * x + 0.3 * (s == 2)))
    return pd.DataFrame({"s": np.array(["a", "b", "c"])[s], "x": x}), y, e, w


def fair(family="poisson", r=0.02, **options):
    return FairRidgeRegressor(r, sensitive="s", family=family, **options)


def positive(y, family):
    return y + 0.5 if family == "gamma" else y


@pytest.mark.parametrize("family", LOG_FAMILIES, ids=str)
def test_an_exposure_is_an_offset_of_its_logarithm(claims, family):
    X, y, e, w = claims
    y = positive(y, family)
    ours = fair(family).fit(X, y, sample_weight=w, exposure=e)
    theirs = fair(family).fit(X, y, sample_weight=w, offset=np.log(e))
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert ours.intercept_ == theirs.intercept_
    assert ours.score(X, y, sample_weight=w, exposure=e) == theirs.score(
        X, y, sample_weight=w, offset=np.log(e)
    )
    # Rows of weight zero need none.
    gone = np.arange(len(y)) % 7 == 0
    absent = {"sample_weight": np.where(gone, 0.0, w), "exposure": np.where(gone, np.nan, e)}
    kept = {"sample_weight": w[~gone], "exposure": e[~gone]}
    np.testing.assert_allclose(
        fair(family).fit(X, y, **absent).coef_,
        fair(family).fit(X[~gone], y[~gone], **kept).coef_,
        rtol=1e-12,
    )
    # statsmodels adds the two, too.
    both = fair(family).fit(X, y, sample_weight=w, exposure=e, offset=np.full(len(y), -0.5))
    np.testing.assert_allclose(both.coef_, ours.coef_, rtol=1e-9)
    assert both.intercept_ == pytest.approx(ours.intercept_ + 0.5, rel=1e-9)


def test_predictions_are_rates_or_counts(claims):
    X, y, e, _ = claims
    model = fair().fit(X, y, exposure=e)
    rate = model.predict(X)
    np.testing.assert_allclose(model.predict(X, exposure=e), rate * e, rtol=1e-13)
    np.testing.assert_allclose(model.predict(X, exposure=2.0), 2.0 * rate, rtol=1e-13)
    inferred = model.inference(X, y, exposure=e)
    np.testing.assert_allclose(inferred.predict(X)["mean"], rate, rtol=1e-12)
    np.testing.assert_allclose(
        inferred.predict(X, exposure=e)["upper"] / e, inferred.predict(X)["upper"]
    )
    reference = model.inference(X, y, offset=np.log(e))
    np.testing.assert_array_equal(inferred.standard_errors, reference.standard_errors)


@pytest.mark.parametrize(
    ("exposure", "problem"),
    [
        (lambda e: np.where(e < 0.1, 0.0, e), r"exposure must be positive; it is 0 in row"),
        (lambda e: -e, "exposure must be positive; it is -0"),
        (lambda e: np.where(e < 0.1, np.nan, e), "Input exposure contains NaN"),
        (lambda e: e[:-1], "exposure"),
        (lambda e: e.astype(str), "exposure must hold numbers"),
    ],
)
def test_bad_exposures_are_refused(claims, exposure, problem):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match=problem):
        fair().fit(X, y, exposure=exposure(e))
    model = fair().fit(X, y, exposure=e)
    for call in (
        lambda: model.predict(X, exposure=exposure(e)),
        lambda: model.score(X, y, exposure=exposure(e)),
    ):
        with pytest.raises(ValueError, match=problem):
            call()


@pytest.mark.parametrize("name", ["offset", "exposure"])
def test_a_model_refuses_to_be_scored_without_what_it_was_fitted_with(claims, tmp_path, name):
    X, y, e, _ = claims
    given = {name: np.log(e) if name == "offset" else e}
    model = fair().fit(X, y, **given)
    fairridge.save(model, tmp_path / "model.json")
    for each in (model, fairridge.load(tmp_path / "model.json")):
        with pytest.raises(ValueError, match=f"was fitted with an {name}, .*pass {name}=") as info:
            each.score(X, y)
        assert "\n" not in str(info.value)
        assert each.score(X, y, **given) == model.score(X, y, **given) > 0.02
        # One stands for the other.
        assert each.score(X, y, exposure=e) == pytest.approx(each.score(X, y, offset=np.log(e)))
        each.predict(X)  # the rate
    with pytest.raises(ValueError, match=f"was fitted with an {name}"):
        model.inference(X, y)
    assert fair().fit(X, y).score(X, y) > 0.0


def test_scikit_learn_routes_exposures(claims):
    X, y, e, _ = claims
    with config_context(enable_metadata_routing=True):
        model = fair().set_fit_request(exposure=True).set_score_request(exposure=True)
        model.set_predict_request(exposure=False)
        scores = cross_val_score(model, X, y, params={"exposure": e}, cv=3)
    half = len(y) // 3
    by_hand = fair().fit(X[half:], y[half:], exposure=e[half:])
    assert scores[0] == pytest.approx(by_hand.score(X[:half], y[:half], exposure=e[:half]))


def test_summaries_say_what_an_offset_is(claims):
    X, y, e, _ = claims
    assert "means are rates" in str(fair().fit(X, y, exposure=e).summary(details=True))
    assert "means are rates" in str(fair().fit(X, y, offset=np.log(e)).summary(details=True))
    other = FairRidgeClassifier(sensitive="s").fit(X, y > 0, offset=np.log(e))
    assert "a part of scores" in str(other.summary(details=True))
    assert "Exposure" not in str(fair().fit(X, y).summary(details=True))


def test_sources_have_an_exposure(claims):
    X, y, e, w = claims
    roles = {"response": "y", "sensitive": "s", "weight": "w", "exposure": "years"}
    source = sources.frame(X.assign(y=y, years=e, w=w), **roles, batch_rows=97)
    model = FairRidgeRegressor(0.02, family="poisson").fit(source)
    reference = fair().fit(X, y, sample_weight=w, exposure=e)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="fitted with an exposure"):
        model.score(X, y)
    # A source without a column of exposures is one of rates.
    counts, rates = (
        model.predict(each)["prediction"] for each in (source, sources.frame(X, sensitive="s"))
    )
    np.testing.assert_allclose(counts, reference.predict(X, exposure=e), rtol=1e-8)
    np.testing.assert_allclose(rates, reference.predict(X), rtol=1e-8)


def test_sources_refuse_exposures_that_mean_nothing(claims):
    X, y, e, _ = claims
    roles = {"response": "y", "sensitive": "s", "exposure": "years"}
    table = X.assign(y=y, years=e)
    source = sources.frame(table, **roles)
    for refused in (lambda: FairRidgeRegressor().fit(source), lambda: sources.moments(source)):
        with pytest.raises(ValueError, match="exposure is for families with the log link"):
            refused()
    zero = sources.frame(table.assign(years=0.0), **roles)
    with pytest.raises(ValueError, match="exposure column 'years' must be positive"):
        FairRidgeRegressor(family="poisson").fit(zero)
    with pytest.raises(ValueError, match="leave exposure out: these rows have"):
        FairRidgeRegressor(family="poisson").fit(source, exposure=e)
    with pytest.raises(ValueError, match="both in weight and in exposure"):
        sources.frame(table, **roles, weight="years")
    model = fair().fit(X, y, exposure=e)
    with pytest.raises(ValueError, match="'x' is an input of the model; it cannot be the exposure"):
        model.predict(sources.frame(X, predictors=["s"], exposure="x"))


@pytest.mark.parametrize(
    "offset",
    [
        lambda e: e,  # parts of years
        lambda e: 2.0 * e + 0.5,  # years
    ],
)
def test_an_exposure_that_is_passed_as_offset_is_noticed(claims, offset):
    X, _, e, _ = claims
    y = np.random.default_rng(1).poisson(3.0 * offset(e) / offset(e).mean())
    with pytest.warns(DataWarning, match=r"looks like an exposure.*exposure=…"):
        fair().fit(X, y, offset=offset(e))


def test_days_that_are_passed_as_offset_are_refused(claims):
    X, y, e, _ = claims
    with pytest.raises(ValueError, match=r"offset goes over 3\d\d units.*exposure=…"):
        fair().fit(X, y, offset=np.ceil(365 * e))


@pytest.mark.parametrize(
    "exposure",
    [
        lambda e: e,
        lambda e: 1.0 + 364.0 * e,  # days
        lambda e: 2.0 + 10.0 * e,  # months
        lambda e: 1e5 * e,  # people
        lambda e: np.full_like(e, 2.0),
    ],
)
def test_logarithms_of_exposures_are_offsets(claims, exposure):
    X, _, e, _ = claims
    y = np.random.default_rng(1).poisson(3.0 * exposure(e) / exposure(e).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fair().fit(X, y, offset=np.log(exposure(e)))
        FairRidgeRegressor(sensitive="s").fit(X, y, offset=exposure(e))  # another link
