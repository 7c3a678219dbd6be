"""Every surface that shows a number shows the same one: that of an independent computation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from fairridge import attribution, audit, compare, cross_validate, report
from fairridge.estimators._model import bounded_measure
from fairridge.metrics import make_fairness_scorer
from tests.contracts.independent import (
    ATTRIBUTES,
    DEFINITIONS,
    KINDS,
    LINEAR,
    OPTIONS,
    STACKS,
    WEIGHTS,
    N,
    R,
    exists,
    people,
    seen,
    share,
    unfitted,
)
from tests.zoo import crossed, pairwise

# Of large shares twelve digits are compared, of small ones as many as solvers promise.
CLOSE = {"rel": 1e-7, "abs": 3e-8}
every_model = crossed(
    kind=KINDS, definition=DEFINITIONS, option=tuple(OPTIONS), weights=WEIGHTS, allowed=exists
)


def some(kinds, n, allowed=exists):
    """Parametrize by pairs of options; the quick tests have n of these, spread over all."""
    rows = pairwise(kinds, DEFINITIONS, tuple(OPTIONS), WEIGHTS, allowed=allowed)
    quick = {rows[int(k)] for k in np.linspace(0, len(rows) - 1, n)}
    params = [pytest.param(*r, marks=() if r in quick else pytest.mark.slow) for r in rows]
    return pytest.mark.parametrize(("kind", "definition", "option", "weights"), params)


def one_bound(kind, definition, option, *_):
    return exists(kind, definition, option) and option != "each"


# ------------------------------------------------------------------ the model itself


@every_model
def test_fitted_attributes(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    model = case.model
    for key, value in case.shares().items():
        assert model.dependence_[key] == pytest.approx(value, **CLOSE)
    if option == "each":
        for name, column in zip(ATTRIBUTES, case.S.T, strict=True):
            alone = share(case.means, column[:, None], case.mean_weight)
            assert model.unfairness_[name] == pytest.approx(alone, **CLOSE)
        return
    assert model.unfairness_ == pytest.approx(case.bounded(), **CLOSE)
    conditional = share(case.eta, case.S, case.weight, case.C)
    assert attribution(model).total == pytest.approx(conditional, **CLOSE)
    everyone = attribution(model, controls=()).total
    assert everyone == pytest.approx(case.shares()["share_of_eta"], **CLOSE)


@every_model
def test_summaries_say_what_is_bounded(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    text = " ".join(str(case.whole.summary()).split())
    measure = bounded_measure(case.model)
    names = ["sex", "age", "sex × age"] if option == "crossed" else ATTRIBUTES
    assert measure.attributes == tuple(names)
    assert measure.given == (("level",) if "controls" in option else ())
    for value in case.shares().values():
        assert f"{value:.3g}" in text or value < 1e-9
    if option != "each":
        assert f"Bound: {measure.at_most(0.0 if option == 'fairest' else R)} " in text


@pytest.mark.parametrize(
    "kind", [*LINEAR, *(pytest.param(kind, marks=pytest.mark.slow) for kind in STACKS)]
)
def test_models_that_there_are_not_say_why(kind):
    """No combination of options is silently another one."""
    X, y, _, exposure = people()
    given = {"exposure": exposure} if kind.endswith("counts") else {}
    for definition in DEFINITIONS:
        for option, options in OPTIONS.items():
            if exists(kind, definition, option) or (kind in STACKS and "controls" in option):
                continue
            with pytest.raises(ValueError, match=r"definition=|unfairness|means"):
                unfitted(kind, options | {"definition": definition}).fit(X, y[kind], **given)


# ------------------------------------------------------------------ rows, as if they were new


@some(KINDS, 12, one_bound)
def test_reports(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    page = report(case.model, case.rows["X"], case.y, new_rows=True, **case.given)
    shown = {one.key: one for one in page.contents.measures}
    for key, value in case.shares().items():
        assert shown[key].value == pytest.approx(value, **CLOSE)
        assert shown[key].training == pytest.approx(value, **CLOSE)
    if definition == "individual":  # which compares two models
        assert "is not known for other rows" in page.summary
    else:
        assert page.contents.bound_on.value == pytest.approx(case.bounded(), **CLOSE)
    assert page.contents.bound_on.training == pytest.approx(case.model.unfairness_, **CLOSE)
    allowed = bounded_measure(case.model).at_most(0.0 if option == "fairest" else R)
    assert allowed in page.summary


@some(LINEAR[:-1], 12)
def test_fairness_scorers(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    expected = {
        "statistical-parity": case.shares()["share_of_eta"],
        "mean-parity": case.shares()["share_of_means"],
    }
    if kind in ("two", "four"):
        expected |= {
            "mean-opportunity": case.mean_opportunity(),
            "mean-odds": case.mean_odds(),
        }
    for name, value in expected.items():
        scorer = make_fairness_scorer(name, sensitive=case.model.sensitive, adjusted=False)
        assert -scorer(case.model, case.X, case.y, **case.given) == pytest.approx(value, **CLOSE)


def adjusted(value, n, q, c=0, parts=1):
    """Adjust R² for chance, over so many parts of n rows with c controls."""
    return 1.0 - (1.0 - value) * (n - parts * (1 + c)) / (n - parts * (1 + c + q))


@some(LINEAR, 10, one_bound)
def test_cross_validation(kind, definition, option, weights):
    """One fold, of which all rows are training rows and validation rows."""
    case = seen(kind, definition, option, weights)
    everyone = [(np.arange(N), np.arange(N))]
    bound, q = case.model.unfairness, case.S.shape[1]
    found = cross_validate(
        case.model, case.X, case.y, unfairness=[bound], folds=everyone, **case.given
    ).records[0]
    for key, value in case.shares().items():
        constant = (definition, option, kind) == ("mean-odds", "fairest", "four")
        expected = 0.0 if constant else adjusted(value, N, q)
        assert found[key] == pytest.approx(expected, **CLOSE)
    assert found["train_achieved"] == pytest.approx(case.bounded(), **CLOSE)
    c, value = case.C.shape[1], case.bounded()
    expected = {
        # Deviances have no share in other rows: that of the scores stands for it.
        "statistical-parity": lambda: adjusted(
            share(case.eta, case.S, case.weight, case.C), N, q, c
        ),
        "mean-parity": lambda: adjusted(value, N, q, c),
        "mean-opportunity": lambda: (
            adjusted(value, int(case.codes.sum()), q)
            if kind == "two"
            else adjusted(value, N, q, parts=4)
        ),
        "mean-odds": lambda: adjusted(value, N, q, parts=2 if kind == "two" else 4),
    }.get(definition, lambda: value)()
    assert found["achieved"] == pytest.approx(expected, **CLOSE)


@some(LINEAR, 4, one_bound)
def test_comparisons(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(
            case.X,
            case.y,
            sensitive=case.model.sensitive,
            missing=case.model.missing,
            unfairness=case.model.unfairness,
            models=[case.model],
            folds=[(np.arange(N), np.arange(N))],
            **case.given,
        ).records[-1]
    for key, value in case.shares().items():
        constant = (definition, option, kind) == ("mean-odds", "fairest", "four")
        expected = 0.0 if constant else adjusted(value, N, case.S.shape[1])
        assert found[key] == pytest.approx(expected, **CLOSE)
        assert found[f"train_{key}"] == pytest.approx(value, **CLOSE)


@crossed(
    kind=LINEAR, definition=DEFINITIONS, option=tuple(OPTIONS), weights=WEIGHTS, allowed=exists
)
def test_audits(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    found = audited(case)
    shares = case.shares()
    assert found.share_of_eta == pytest.approx(shares["share_of_eta"], **CLOSE)
    if kind == "times":
        assert np.isnan(found.means_share.value)
    else:
        assert found.r_squared == pytest.approx(shares["share_of_means"], **CLOSE)
    if "controls" in option and kind != "times":
        given = share(case.means, case.S, case.mean_weight, case.C)
        assert found.partial_r_squared.value == pytest.approx(given, **CLOSE)


def audited(case, **options):
    """Audit the predictions of a model with all that belongs to them."""
    kind, X = case.kind, case.X
    options = {
        "linear_predictor": case.eta if kind == "four" else case.eta[:, 0],
        "sample_weight": case.rows["sample_weight"],
        "sensitive_features": X[ATTRIBUTES],
        "controls": X[["level"]] if "controls" in case.option else None,
        "intersections": case.option == "crossed",
        "learned": False,
    } | options
    if kind == "times":
        predictions = options.pop("linear_predictor")
    elif kind in ("two", "four"):
        predictions = case.model.predict_proba(X)
    elif kind == "counts":
        options["exposure"] = case.exposure
        predictions = case.model.predict(X, exposure=case.exposure)
    else:
        predictions = case.model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return audit(case.y, predictions, **options)
