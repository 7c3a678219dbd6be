"""The figures of an audit report, against the library's other ways and brute force."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import fairridge
from fairridge import (
    BarycenterRegressor,
    FairRidgeClassifier,
    FairRidgeRegressor,
    FairRidgeSurvival,
    KomiyamaRegressor,
    ZafarRegressor,
    cross_validate,
)
from fairridge.exceptions import BoundWarning, DataWarning
from fairridge.metrics import audit

pytestmark = pytest.mark.slow

QUICK = {"cv": 3, "bootstrap": 8}


def encoded(people):
    return np.column_stack([people["sex"] == "male", people["age"]]).astype(float)


def r_squared(columns, score):
    return LinearRegression().fit(columns, score).score(columns, score)


def test_the_path_is_the_models(gaussian_report, people, people_X):
    contents = gaussian_report.contents
    model = FairRidgeRegressor(sensitive=["sex", "age"])
    path = model.path(people_X, people["gaussian"], unfairness=contents.unfairness)
    assert contents.achieved == pytest.approx(path.achieved, abs=1e-12)
    assert contents.accuracy[0].training == pytest.approx(path.score, abs=1e-9)
    assert contents.unfairness[contents.chosen] == 0.05
    assert contents.unfairness[0] == 0.0
    assert contents.unfairness[-1] == 1.0
    alpha = np.array([term.values for term in contents.terms if term.sensitive]).T
    assert alpha == pytest.approx(path.alpha)
    beta = {term.name: term.values for term in contents.terms if not term.sensitive}
    for j, name in enumerate(path.predictor_names):
        assert beta[name] == pytest.approx(path.beta[:, j])
    assert len(contents.terms) == path.alpha.shape[1] + path.beta.shape[1]


def test_held_out_numbers_are_those_of_cross_validation(binomial_report, people, people_X):
    contents, y, k = binomial_report.contents, people["binomial"], binomial_report.contents.chosen
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    found = cross_validate(model, people_X, y, unfairness=[0.02], cv=3, random_state=0)
    table, auc = found.to_frame(), contents.accuracy[0]
    curves = contents.dependence_shares | {"auc": auc, "achieved": contents.dependence}
    assert contents.folds == 3
    for name in ("share_of_eta", "share_of_means", "auc", "achieved"):
        assert curves[name].held_out[k] == pytest.approx(table[name].mean(), abs=1e-6), name
    for name in ("auc", "achieved"):
        assert curves[name].error[k] == pytest.approx(table[name].sem(), abs=1e-6), name
    for name in contents.dependence_shares:
        assert curves[name].name in binomial_report.html
    # Groups are those of all rows, each predicted by a model that has not seen it.
    own = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=1)[0]
    folds = StratifiedKFold(3, shuffle=True, random_state=int(own))
    predicted = cross_val_predict(model, people_X, y, cv=folds, method="predict_proba")
    wanted = audit(y, predicted, sensitive_features=people[["sex", "age"]])
    for a, b in zip(contents.main.audits[k].attributes, wanted.attributes, strict=True):
        for x, z in zip(a.groups, b.groups, strict=True):
            assert x.mean_prediction.value == pytest.approx(z.mean_prediction.value, abs=1e-6)
            assert x.selection_rate.value == z.selection_rate.value
    gap = contents.dependence_shares["decision_gap"].held_out[k]
    assert gap == pytest.approx(wanted.demographic_parity_difference)


def test_a_model_that_does_not_read_s_has_no_coefficients_of_it(people, people_X):
    model = ZafarRegressor(0.05, sensitive=["sex", "age"])
    found = fairridge.report(model, people_X, people["gaussian"], cv=0, bootstrap=0).contents
    assert found.terms
    assert not any(term.sensitive for term in found.terms)


def test_a_blind_report_shows_the_model_that_uses_s(people, people_X, binomial_report):
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"], blind=True)
    found = fairridge.report(model, people_X, people["binomial"], cv=3, bootstrap=0)
    sighted, other = found.contents.sighted, binomial_report.contents
    k = other.chosen
    for key, curve in sighted.dependence_shares.items():
        for which in ("training", "held_out"):
            wanted = getattr(other.dependence_shares[key], which)[k]
            assert getattr(curve, which) == pytest.approx([wanted], abs=1e-6), (key, which)
    for curve, wanted in zip(sighted.accuracy, other.accuracy, strict=True):
        assert curve.best_known == pytest.approx([wanted.best_known[k]], abs=1e-5)
    auc = sighted.accuracy[0].best_known[0]
    assert f"with the same bound r = 0.02, has AUC {auc:.3f} instead of" in found.summary
    assert "The price of blindness" in found.html
    assert other.sighted is None
    assert "blind" not in binomial_report.summary


def test_isolated_rows_are_on_the_first_screen(people, people_X):
    rare = np.arange(len(people)) < 3
    y = np.where(rare, "no", people["binomial"])
    X = people_X.assign(region=np.where(rare, "isle", people_X["region"].astype(str)))
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    found = fairridge.report(model, X, y, cv=0, bootstrap=0)
    assert found.contents.isolated == {"region[isle]": 3}
    assert "3 rows of region[isle] are isolated" in found.summary


def test_refits_are_fits_with_multinomial_weights(binomial_report, people, people_X):
    contents, n = binomial_report.contents, len(people)
    rng, values = np.random.default_rng(0), []
    for _ in range(8):
        weight = rng.multinomial(n, np.full(n, 1 / n))
        model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
        model.fit(people_X, people["binomial"], sample_weight=weight)
        values.append(r_squared(encoded(people), model.decision_function(people_X)))
    low, high = np.percentile(values, [2.5, 97.5])
    assert contents.refits.count == 8
    assert contents.refits.low == pytest.approx(low, abs=1e-5)
    assert contents.refits.high == pytest.approx(high, abs=1e-5)


def test_groups_in_training_are_an_audit_of_the_model(binomial_report, people, people_X):
    contents = binomial_report.contents
    (sample,) = [one for one in contents.samples if one.rows == "training"]
    y = people["binomial"]
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"]).fit(people_X, y)
    free = FairRidgeClassifier(1.0, sensitive=["sex", "age"]).fit(people_X, y)
    wanted = audit(y, model.predict_proba(people_X), sensitive_features=people[["sex", "age"]])
    found, k = sample.audits[contents.chosen], contents.chosen
    assert found.r_squared == pytest.approx(wanted.r_squared, abs=1e-8)
    for a, b in zip(found.attributes, wanted.attributes, strict=True):
        for x, z in zip(a.groups, b.groups, strict=True):
            assert x.flat() == pytest.approx(z.flat(), abs=1e-7, nan_ok=True)
    before, after = free.predict(people_X), model.predict(people_X)
    second = model.classes_[1]
    gained = (after == second) & (before != second)
    for position, value in enumerate(sorted(people["sex"].unique())):
        own = (people["sex"] == value).to_numpy()
        assert sample.decisions.gained[k, position] == (gained & own).sum()
    assert sample.decisions.all_gained[k] == gained.sum()
    assert sample.decisions.selected[k] == (after == second).sum()


def test_attribution_splits_the_share(gaussian_report, people, people_X):
    contents = gaussian_report.contents
    for k, split in enumerate(contents.attribution):
        assert split.shares.sum() == pytest.approx(contents.achieved[k], abs=1e-10)
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"]).fit(people_X, people["gaussian"])
    assert contents.attribution[contents.chosen].shares == pytest.approx(
        fairridge.attribution(model).shares
    )
    shares = dict(zip(contents.proxies.predictors, contents.proxies.explained, strict=True))
    proxies = fairridge.proxies(model)
    assert [shares[name] for name in proxies.predictors] == pytest.approx(proxies.explained)
    wanted = r_squared(encoded(people), people["income"])
    assert shares["income"] == pytest.approx(wanted)
    page = gaussian_report.html
    places = [
        page.index(f'<th scope="row">{name}</th><td data-label="S explains" class="bar"')
        for name in sorted(shares, key=lambda name: -shares[name])
    ]
    assert places == sorted(places)


def test_a_fitted_model_reports_on_its_own_data_only(people, people_X):
    y = people["gaussian"]
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"]).fit(people_X, y)
    options = {"cv": 0, "bootstrap": 0}
    fresh = FairRidgeRegressor(0.05, sensitive=["sex", "age"])
    assert fairridge.report(model, people_X, y, **options).html == (
        fairridge.report(fresh, people_X, y, **options).html
    )
    for other, response in ((people_X, y + 1e-3 * np.arange(400)), (people_X[:300], y[:300])):
        with pytest.raises(ValueError, match="not the data that the model was fitted to"):
            fairridge.report(model, other, response, **options)
    assert not hasattr(fresh, "coef_")  # reporting fits nothing in place


@pytest.mark.filterwarnings("ignore:.*certif")  # bounds beside the chosen one
def test_a_certified_model_has_a_report(people, people_X):
    """Its bound in training is that of the fit, whatever other bounds the report looks at."""
    options = {"definition": "mean-parity", "sensitive": ["sex", "age"], "confidence": 0.9}
    model = FairRidgeClassifier(0.1, **options).fit(people_X, people["binomial"])
    page = fairridge.report(model, people_X, people["binomial"], cv=0, bootstrap=0)
    assert f"In training it achieves {model.unfairness_:.2%}".replace("%", " %") in page.summary


def test_warnings_of_the_fit_are_remarks(people, people_X):
    X = people_X.assign(same=1.0)
    model = FairRidgeRegressor(0.05, sensitive=["sex"])
    with pytest.warns(DataWarning, match="'same'"):
        report = fairridge.report(model, X, people["gaussian"], cv=0, bootstrap=0)
    remarks = dict(report.contents.subject.record)["Remarks"]
    assert "'same'" in remarks
    with pytest.warns(DataWarning):
        model.fit(X, people["gaussian"])
    # A fitted model has warned before: warnings are errors here.
    again = fairridge.report(model, X, people["gaussian"], cv=0, bootstrap=0)
    assert dict(again.contents.subject.record)["Remarks"] == remarks


def test_logarithms_of_amounts_have_differences_and_no_ratios():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "x": rng.normal(size=600)})
    y = 10.0 + 0.2 * (frame["sex"] == "m") + 0.3 * frame["x"] + 0.1 * rng.normal(size=600)
    options = {"cv": 0, "bootstrap": 0, "response": "log_salary"}
    model = FairRidgeRegressor(1.0, sensitive=["sex"]).fit(frame, y)
    found = fairridge.report(model, frame, y, **options)
    part = found.contents.main.audits[found.contents.chosen].attributes[0]
    assert np.isnan(part.mean_ratio.value)
    low, high = (model.predict(frame)[frame["sex"] == sex].mean() for sex in ("f", "m"))
    assert part.mean_difference.value == pytest.approx(high - low)
    assert "times that of" not in found.summary
    assert f"sex = f is {high - low:.3g} below that of m (interval" in found.summary
    assert "Observed means of these two groups differ by" in found.summary
    assert "Of highest" not in found.html
    assert "Pred./obs." not in found.html.split('id="groups"')[1].split('id="coefficients"')[0]
    amounts = FairRidgeRegressor(1.0, sensitive=["sex"], family="gamma").fit(frame, np.exp(y))
    assert "times that of m" in fairridge.report(amounts, frame, np.exp(y), **options).summary


def counts(n=600):
    """Claims with exposure: most rows have none, and their median is 0."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "x": rng.normal(size=n)})
    exposure = rng.uniform(0.3, 1.0, n)
    rate = np.exp(-1.2 + 0.5 * frame["x"] + 0.5 * (frame["sex"] == "m"))
    return frame, rng.poisson(rate * exposure), np.log(exposure)


def test_counts_decide_nothing_by_themselves():
    X, y, offset = counts()
    model = FairRidgeRegressor(0.02, sensitive=["sex"], family="poisson").fit(X, y, offset=offset)
    found = fairridge.report(model, X, y, offset=offset, cv=0, bootstrap=0, response="claims")
    contents, k = found.contents, found.contents.chosen
    assert contents.main.decisions is None
    assert "decision_gap" not in contents.dependence_shares
    for word in ("selected", "decisions", "Favorable", "four fifths", "R² is"):
        assert word not in found.summary, word
    groups = found.html.split('id="groups"')[1].split('id="coefficients"')[0]
    assert "selected" not in groups
    assert "Of highest" in groups
    assert "All rows, by tenth of the predictions" in groups
    measure = contents.accuracy[0]
    assert measure.name == "D²"
    assert measure.training[k] == pytest.approx(model.score(X, y, offset=offset))
    counted, exposure = model.predict(X, offset=offset), np.exp(offset)
    of_audit = audit(y, counted, sensitive_features=X["sex"], exposure=exposure)
    ratio, wanted = contents.main.audits[k].mean_ratio, of_audit.mean_ratio
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        (wanted.value, wanted.low, wanted.high)
    )
    assert f"is {ratio.value:.3f} times that of" in found.summary
    deciles = [one.mean_response.value for one in contents.main.audits[k].tenths]
    assert deciles == pytest.approx([one.mean_response.value for one in of_audit.tenths])


@pytest.mark.parametrize(("top", "favorable"), [(0.25, "high"), (120, "low")])
def test_as_many_are_selected_as_there_is_room_for(top, favorable):
    X, y, _ = counts()
    model = FairRidgeRegressor(0.02, sensitive=["sex"], family="poisson").fit(X, y)
    options = {"cv": 0, "bootstrap": 0, "favorable": favorable}
    contents = fairridge.report(model, X, y, top=top, **options).contents
    wanted = top if top > 1 else round(top * len(y))
    assert (contents.main.decisions.selected == wanted).all()
    order = np.argsort(model.predict(X) * (-1 if favorable == "high" else 1))
    chosen = np.isin(np.arange(len(y)), order[:wanted])
    for group in contents.main.audits[contents.chosen]["sex"].groups:
        rate = chosen[X["sex"] == group.group].mean()
        assert group.selection_rate.value == pytest.approx(rate)
    assert f"{'highest' if favorable == 'high' else 'lowest'} " in contents.subject.rule
    with pytest.raises(ValueError, match="must be a share between 0 and 1"):
        fairridge.report(model, X, y, top=1.5, **options)
    with pytest.raises(ValueError, match="give one"):
        fairridge.report(model, X, y, top=top, threshold=1.0, **options)


def test_rules_and_positive_classes(people, people_X):
    y = people["binomial"]
    model = FairRidgeClassifier(0.05, sensitive=["sex"])
    options = {"cv": 0, "bootstrap": 0}
    first, second = (str(label) for label in np.unique(y))
    one = fairridge.report(model, people_X, y, **options).contents
    other = fairridge.report(model, people_X, y, positive=first, **options).contents
    assert one.subject.outcome == second
    assert other.subject.outcome == first
    k = one.chosen
    assert one.main.decisions.selected[k] + other.main.decisions.selected[k] == len(y)
    strict = fairridge.report(model, people_X, y, threshold=0.9, **options).contents
    assert strict.main.decisions.selected[k] < one.main.decisions.selected[k]
    assert "above 0.9" in strict.subject.rule
    with pytest.raises(ValueError, match="'nope' is not a class of y"):
        fairridge.report(model, people_X, y, positive="nope", **options)
    number = FairRidgeRegressor(sensitive=["sex"])
    with pytest.raises(ValueError, match="the response is a number"):
        fairridge.report(number, people_X, people["gaussian"], positive="a", **options)


def test_rare_classes_get_fewer_folds(people, people_X):
    y = np.where(np.arange(len(people)) < 4, "rare", "common")
    X = people_X[["sex", "age"]]
    model = FairRidgeClassifier(0.05, sensitive=["sex"], predictor_penalty=1.0)
    report = fairridge.report(model, X, y, cv=10, bootstrap=3)
    assert report.contents.folds == 4
    held_out = [s for s in report.contents.samples if s.rows == "held-out"]
    assert len(held_out) == 1


def test_folds_are_large_enough_to_measure_dependence(people, people_X):
    # With ten folds of three rows each, S of two columns would explain anything.
    model = FairRidgeRegressor(0.05, sensitive=["sex", "age"])
    data = people_X[:30], people["gaussian"][:30]
    few = fairridge.report(model, *data, cv=10, bootstrap=0).contents
    assert few.folds == 6
    assert np.isfinite(few.dependence.held_out).all()


FAMILIES = {
    "poisson": lambda people: (
        FairRidgeRegressor(sensitive=["sex", "age"], family="poisson"), people["poisson"]
    ),
    "multinomial": lambda people: (
        FairRidgeClassifier(sensitive=["sex", "age"]), people["multinomial"]
    ),
    "cox": lambda people: (
        FairRidgeSurvival(sensitive=["sex", "age"]),
        pd.DataFrame({"time": people["time"], "event": people["status"]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_report(people, people_X, family):
    model, y = FAMILIES[family](people)
    report = fairridge.report(model, people_X, y, cv=2, bootstrap=2, response="the response")
    contents = report.contents
    assert contents.subject.family == family
    assert contents.achieved[contents.chosen] == pytest.approx(0.05, abs=1e-6)
    outcomes = len(np.unique(people["multinomial"])) if family == "multinomial" else 1
    assert len(contents.samples) == 2 * outcomes
    assert np.isfinite(contents.accuracy[0].held_out).all()
    assert "the response" in report.html
    if family == "multinomial":
        fitted = model.fit(people_X, y)
        labels = fitted.predict(people_X)
        for sample in contents.samples[outcomes:]:
            k = contents.chosen
            assert sample.decisions.selected[k] == (labels == sample.outcome).sum()
            wanted = fitted.predict_proba(people_X)[:, list(fitted.classes_).index(sample.outcome)]
            found = sample.audits[k].overall.mean_prediction.value
            assert found == pytest.approx(wanted.mean(), abs=1e-7)


def test_separate_attributes_and_maps(people):
    from sklearn.decomposition import PCA

    X, S = people[["income", "score", "region"]], people[["sex", "age"]]
    model = FairRidgeRegressor(0.05, sensitive_map=PCA(1))
    contents = fairridge.report(model, X, people["gaussian"], sensitive_features=S, cv=2,
                            bootstrap=2).contents  # fmt: skip
    assert contents.subject.sensitive == ("sex", "age")
    assert [part.attribute for part in contents.main.audits[0].attributes] == ["sex", "age"]
    assert contents.attribution == ()
    assert "Variance of S dropped by its map" in dict(contents.subject.record)


def test_an_infeasible_bound_is_said(people, people_X):
    model = FairRidgeRegressor(0.1, sensitive=["sex"], definition=lambda fit: 0.5)
    with pytest.warns(BoundWarning, match="no penalty meets"):
        report = fairridge.report(model, people_X, people["gaussian"], cv=2, bootstrap=2)
    assert "No model of this kind meets the bound" in report.summary


def test_other_models_with_a_path(people, people_X):
    y, options = people["gaussian"], {"cv": 2, "bootstrap": 3}
    komiyama = KomiyamaRegressor(0.05, sensitive=["sex", "age"])
    exact = fairridge.report(komiyama, people_X, y, **options)
    assert exact.contents.achieved[exact.contents.chosen] == pytest.approx(0.05)
    zafar = ZafarRegressor(0.5, sensitive=["sex", "age"], bound="covariance")
    page = fairridge.report(zafar, people_X, y, **options)
    assert page.contents.unfairness[page.contents.chosen] == 0.5
    # It predicts without S.
    assert "needed for every prediction" not in page.html
    assert "needed for every prediction" in exact.html
    with pytest.raises(NotFittedError):  # a model without a path is judged as it is
        fairridge.report(BarycenterRegressor(sensitive=["sex"]), people_X, y)
