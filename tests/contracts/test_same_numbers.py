"""Every surface that shows a number shows the same one: that of an independent computation."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from fairridge import (
    Monitor,
    attribution,
    audit,
    choose_bound,
    compare,
    cross_validate,
    proxies,
    report,
    rules,
)
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
    Seen,
    exists,
    interval_of_share,
    parts_of_share,
    people,
    seen,
    share,
    unfitted,
)
from tests.zoo import crossed, pairwise

# Of large shares twelve digits are compared, of small ones as many as solvers promise.
CLOSE = {"rel": 1e-7, "abs": 3e-8}


def weighted_or_plain(kind, definition, option, weights):
    """Equal weights are weights of one: a single option has them, too."""
    return exists(kind, definition, option) and (weights == "weighted" or option == "plain")


ALL = {"definition": DEFINITIONS, "option": tuple(OPTIONS), "weights": WEIGHTS}
every_model = crossed(kind=KINDS, **ALL, allowed=weighted_or_plain)


def some(kinds, n, allowed=exists):
    """Parametrize by pairs of options; the quick tests have n of these, spread over all."""
    rows = pairwise(kinds, DEFINITIONS, tuple(OPTIONS), WEIGHTS, allowed=allowed)
    quick = {rows[int(k)] for k in np.linspace(0, len(rows) - 1, n)}
    params = [pytest.param(*r, marks=() if r in quick else pytest.mark.slow) for r in rows]
    return pytest.mark.parametrize(("kind", "definition", "option", "weights"), params)


def one_bound(kind, definition, option, *_):
    return exists(kind, definition, option) and option != "each"


def one_parity(kind, definition, option, *_):
    """Measures of a comparison are the same ones under every definition."""
    return one_bound(kind, definition, option) and definition.endswith("-parity")


# ------------------------------------------------------------------ the model itself


@every_model
def test_fitted_attributes(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    model = case.model
    for key, value in case.shares().items():
        # Of scores that are constant but for rounding S explains any share.
        if case.eta.std(axis=0).max() > 1e-10:
            assert model.dependence_[key] == pytest.approx(value, **CLOSE)
    if option == "each":
        for name, column in zip(ATTRIBUTES, case.S.T, strict=True):
            alone = share(case.means, column[:, None], case.mean_weight)
            assert model.unfairness_[name] == pytest.approx(alone, **CLOSE)
        return
    assert model.unfairness_ == pytest.approx(case.bounded(), **CLOSE)
    if case.eta.std(axis=0).max() <= 1e-10:
        return
    conditional = share(case.eta, case.S, case.weight, case.C)
    assert attribution(model).total == pytest.approx(conditional, **CLOSE)
    everyone = attribution(model, controls=()).total
    assert everyone == pytest.approx(case.shares()["share_of_eta"], **CLOSE)


@every_model
def test_summaries_say_what_is_bounded(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    text = " ".join(str(case.whole.summary(details=True)).split())
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
    assert_reported(page, case)


def assert_reported(page, case):
    definition, option = case.definition, case.option
    shown = {one.key: one for one in page.contents.measures}
    for key, value in case.shares().items():
        assert shown[key].value == pytest.approx(value, **CLOSE)
        assert shown[key].training == pytest.approx(value, **CLOSE)
    if definition == "individual":  # which compares two models
        assert "is not known for other rows" in page.summary
    else:
        assert page.contents.bounds[0].found.value == pytest.approx(case.bounded(), **CLOSE)
    assert page.contents.bounds[0].found.training == pytest.approx(case.model.unfairness_, **CLOSE)
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


@some(LINEAR, 4, one_parity)
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


@crossed(kind=LINEAR, **ALL, allowed=weighted_or_plain)
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
    if kind == "gamma":
        options["kind"] = "amounts"
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


# ------------------------------------------------------------------ groups


def members(case, attribute, group):
    """Return which rows are in a group, by its label."""
    if attribute == "sex":
        sex = case.X["sex"]
        return (sex.isna() if group == "(missing)" else sex == group).to_numpy()
    low, high = (float(end) for end in group[1:-1].split(","))
    age = case.X["age"].to_numpy()
    return ((age >= low) if group[0] == "[" else (age > low)) & (age <= high)


def in_both(case, attribute, group):
    """Return which rows are in a group of one attribute, or of two crossed."""
    pairs = zip(attribute.split(" × "), group.split(" × "), strict=True)
    return np.logical_and.reduce([members(case, *pair) for pair in pairs])


def mean_of(values, weight, rows):
    return float(np.average(values[rows], weights=weight[rows]))


def chosen_class(case):
    """Return the class that is predicted for each row, by number."""
    return case.means.argmax(axis=1) if case.kind == "four" else (case.eta[:, 0] > 0.0).astype(int)


def response_of(case):
    """Return what predictions are compared with: a rate, a number, or the class yes."""
    if case.kind == "counts":
        return np.asarray(case.y) / case.exposure
    return case.codes.astype(float) if case.kind == "two" else np.asarray(case.y, dtype=float)


grouped = crossed(
    kind=LINEAR[:4],
    definition=("statistical-parity", "mean-parity"),
    option=("plain", "blind", "controls", "crossed", "missing", "fairest"),
    weights=WEIGHTS,
    allowed=weighted_or_plain,
)


@grouped
def test_groups_of_audits(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    found = audited(case, positive="yes", favorable="yes") if kind == "two" else audited(case)
    y, means, weight = response_of(case), case.means[:, 0], case.mean_weight
    names = [part.attribute for part in found.attributes]
    assert names == ATTRIBUTES + (["sex × age"] if option == "crossed" else [])
    selected = means > 0.5
    for part in found.attributes:
        rates = {}
        for group in part.groups:
            rows = in_both(case, part.attribute, group.group)
            assert group.count == rows.sum()
            assert group.share == pytest.approx(weight[rows].sum() / weight.sum(), **CLOSE)
            mean, seen_mean = mean_of(means, weight, rows), mean_of(y, weight, rows)
            assert group.mean_prediction.value == pytest.approx(mean, **CLOSE)
            assert group.mean_response.value == pytest.approx(seen_mean, **CLOSE)
            assert group.calibration.value == pytest.approx(seen_mean - mean, rel=1e-6, abs=1e-7)
            if kind != "gaussian":
                ratio = mean / seen_mean
                assert group.predicted_over_observed.value == pytest.approx(ratio, **CLOSE)
            if kind == "two":
                rates[group.group] = mean_of(selected, weight, rows)
                assert group.selection_rate.value == pytest.approx(rates[group.group], **CLOSE)
                assert group.true_positive_rate.value == pytest.approx(
                    mean_of(selected, weight, rows & (y == 1.0)), **CLOSE
                )
        if kind == "two":
            large = [rates[group.group] for group in part.groups if not group.small]
            gap = max(large) - min(large)
            assert part.parity_difference.value == pytest.approx(gap, **CLOSE)
            assert part.parity_ratio.value == pytest.approx(min(large) / max(large), **CLOSE)


@grouped
def test_groups_of_fitted_models(kind, definition, option, weights):
    case = seen(kind, definition, option, weights)
    model, means, weight = case.model, case.means[:, 0], case.mean_weight
    shown = model.group_differences_
    levels = ["f", "m"] + ["(missing)"] * (option == "missing")
    of_sex = [members(case, "sex", level) for level in levels]
    group_means = [mean_of(means, weight, rows) for rows in of_sex]
    assert shown["lowest_group_mean"] == pytest.approx(min(group_means), **CLOSE)
    assert shown["highest_group_mean"] == pytest.approx(max(group_means), **CLOSE)
    correlations = [
        max(share(means[:, None], column[:, None].astype(float), weight), 0.0) ** 0.5
        for column in (*of_sex, case.X["age"].to_numpy())
        if option != "fairest" or definition != "mean-parity"
    ]
    assert shown["max_correlation"] == pytest.approx(max(correlations, default=0.0), abs=1e-7)
    for name, found in model.total_ratios_.items():
        attribute, _, group = name.partition(": ")
        rows = in_both(case, attribute, group) if group else np.ones(N, dtype=bool)
        ratio = mean_of(means, weight, rows) / mean_of(response_of(case), weight, rows)
        assert found["ratio"] == pytest.approx(ratio, **CLOSE)
    assert (kind == "gaussian") == (not model.total_ratios_)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_numbers_are_cut_where_rates_are_compared(weights):
    """Groups of ages have equal parts of weights times exposure, on every surface."""
    case = seen("counts", "mean-parity", "plain", weights)
    age, weight = case.X["age"].to_numpy(), case.mean_weight
    order = np.argsort(age, kind="stable")
    below = np.cumsum(weight[order]) / weight.sum()
    cuts = [age[order][np.searchsorted(below, share)] for share in (0.25, 0.5, 0.75)]
    names = [group.group for group in audited(case)["age"].groups]
    assert [float(name[1:-1].split(", ")[1]) for name in names[:3]] == cuts
    page = report(case.model, case.X, case.y, new_rows=True, **case.given)
    assert [g.group for g in page.contents.main.audits[0].attributes[1].groups] == names
    known = [key for key in case.model.total_ratios_ if key.startswith("age: ")]
    assert known == [f"age: {name}" for name in names]
    everyone = [(np.arange(N), np.arange(N))]
    record = cross_validate(
        case.model, case.X, case.y, unfairness=[R], folds=everyone, threshold=2.0, **case.given
    ).records[0]
    selected = case.means[:, 0] > 2.0
    groups = [("sex", level) for level in ("f", "m")] + [("age", name) for name in names]
    rates = {one: mean_of(selected, weight, members(case, *one)) for one in groups}
    gaps = [max(own) - min(own) for own in (
        [rate for (key, _), rate in rates.items() if key == name] for name in ATTRIBUTES
    )]  # fmt: skip
    assert record["decision_gap"] == pytest.approx(max(gaps), **CLOSE)


@pytest.mark.parametrize("kind", ["two", pytest.param("four", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "option",
    [
        "missing",
        pytest.param("plain", marks=pytest.mark.slow),
        pytest.param("blind", marks=pytest.mark.slow),
        "crossed",
    ],
)
def test_gaps_of_decisions(kind, option):
    """The largest gap of a class between groups of an attribute."""
    case = seen(kind, "mean-parity", option, "weighted")
    decided, gaps = chosen_class(case), []
    for attribute in ATTRIBUTES:
        groups = [in_both(case, attribute, g.group) for g in audited(case)[attribute].groups]
        large = [rows for rows in groups if rows.sum() >= 30]
        for code in range(case.codes.max() + 1):
            rates = [mean_of(decided == code, case.weight, rows) for rows in large]
            gaps.append(max(rates) - min(rates))
    page = report(case.model, case.X, case.y, new_rows=True, **case.given)
    shown = {one.key: one for one in page.contents.measures}["decision_gap"]
    everyone = [(np.arange(N), np.arange(N))]
    validated = cross_validate(
        case.model, case.X, case.y, unfairness=[R], folds=everyone, **case.given
    ).records[0]
    found = [shown.value, validated["decision_gap"], case.model.dependence_["decision_gap"]]
    assert found == pytest.approx([max(gaps)] * 3, **CLOSE)


# ------------------------------------------------------------------ reports on training rows


# A page takes seconds: what it has of the bound, of shares and of words is looked at together.
PAGES = (
    ("gaussian", "statistical-parity", "controls"),
    ("counts", "statistical-parity", "controls"),
    ("two", "mean-opportunity", "plain"),
    ("four", "mean-parity", "crossed"),
    ("times", "statistical-parity", "blind, controls"),
    ("stacked two", "mean-parity", "missing"),
    ("gamma", "individual", "fairest"),
)
UNEXPLAINED = re.compile("linear predictor|bounded quantity|conditional.parity", re.IGNORECASE)


@pytest.mark.parametrize(
    ("kind", "definition", "option"),
    [pytest.param(*page, marks=() if not k else pytest.mark.slow) for k, page in enumerate(PAGES)],
)
def test_reports_on_training_rows(kind, definition, option):
    case = seen(kind, definition, option, "weighted")
    page = report(case.model, case.rows["X"], case.y, cv=0, bootstrap=0, **case.given)
    new = report(case.model, case.rows["X"], case.y, new_rows=True, **case.given)
    contents, chosen = page.contents, page.contents.chosen
    assert contents.achieved[chosen] == pytest.approx(case.bounded(), **CLOSE)
    for key, value in case.shares().items():
        assert contents.dependence_shares[key].training[chosen] == pytest.approx(value, **CLOSE)
    card, allowed = (
        page.text("card"),
        bounded_measure(case.model).at_most(contents.unfairness[chosen]),
    )
    texts = [" ".join(str(case.whole.summary()).split()), page.summary, new.summary, card]
    texts += [readable(page.html), readable(new.html)]
    for text in texts:
        assert allowed in text
        assert not UNEXPLAINED.search(text)


def readable(page):
    """Return the words of a page."""
    seen_only = re.sub("<(script|style).*?</\\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(seen_only).split())


# ------------------------------------------------------------------ intervals, and rules

INTERVALS = (
    ("gaussian", "statistical-parity", "plain"),
    ("gaussian", "statistical-parity", "controls"),
    ("counts", "mean-parity", "plain"),
    ("counts", "mean-parity", "controls"),
    ("two", "mean-parity", "crossed"),
    ("two", "statistical-parity", "blind, controls"),
    ("four", "mean-parity", "missing"),
    ("times", "statistical-parity", "blind"),
)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("kind", "definition", "option"), INTERVALS)
def test_intervals_of_what_is_bounded(kind, definition, option, weights):
    """Audits, and reports on new rows, have the interval of an independent computation."""
    case = seen(kind, definition, option, weights)
    bounded = {
        "mean-parity": (case.means, case.S, case.mean_weight, case.C),
        "statistical-parity": (case.eta, case.S, case.weight, case.C),
    }[definition]
    ends = pytest.approx(interval_of_share(*bounded), rel=1e-6, abs=1e-9)
    page = report(case.model, case.X, case.y, new_rows=True, **case.given)
    found = page.contents.bounds[0].found
    assert (found.low, found.high) == ends
    measured = audited(case)
    if definition == "statistical-parity" and kind != "gaussian":
        found = measured.eta_share if "controls" not in option else found
    else:
        found = measured.partial_r_squared if "controls" in option else measured.means_share
    assert (found.low, found.high) == ends


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("page", INTERVALS[:2] + INTERVALS[-1:])
def test_inference_of_what_is_bounded(page, weights):
    """The share, and the influence of rows on its odds, are those of least squares."""
    case = seen(*page, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = case.model.inference(case.X, case.y, covariance="HC0", **case.given).population
    value = share(case.eta, case.S, case.weight, case.C)
    assert found.odds == pytest.approx(value / (1.0 - value), rel=1e-6)
    h, e, rest = parts_of_share(case.eta, case.S, case.weight, case.C)
    influence = (h**2 + 2.0 * h * e - found.odds * e**2).sum(axis=1) / rest
    w = case.weight / case.weight.sum()
    spread = float(((w * influence) ** 2).sum()) / (4.0 * found.odds)
    assert found.spread == pytest.approx(spread, rel=1e-6)


@pytest.mark.filterwarnings("ignore:the guarantee leaves out groups")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("two", rules.AdverseImpact(0.1)),
        ("two", rules.OpportunityGap(0.99)),
        ("two", rules.MeanGap(0.9)),
        ("four", rules.AdverseImpact(0.01, favorable="d")),
        ("gaussian", rules.MeanGap(50.0)),
        ("counts", rules.MeanGap(50.0)),
    ],
)
def test_choices_of_bounds(kind, rule, weights):
    """Rules see the decisions of models fitted to the training rows, on these and on others."""
    X, y, weight, exposure = people()
    y, own, held = y[kind], np.arange(N) < N // 2, np.arange(N) >= N // 2
    given = {"sample_weight": weight} if weights == "weighted" else {}
    given |= {"exposure": exposure} if kind == "counts" else {}
    model = unfitted(kind, {"definition": "mean-parity"})
    found = choose_bound(
        model, X[own], y[own], X[held], y[held], rule=rule, unfairness=[0.05], confidence=0.5,
        untested="ignore",
        **{k: v[own] for k, v in given.items()}, **{f"{k}_held": v[held] for k, v in given.items()},
    )  # fmt: skip
    fitted = model.fit(X[own], y[own], **{k: v[own] for k, v in given.items()})
    (step,) = found.steps
    for key, rows in (("train_value", own), ("value", held)):
        case = Seen(kind, "mean-parity", "plain", fitted, {"X": X[rows], "y": y[rows]}, X, fitted)
        assert step[key] == pytest.approx(by_rule(case, rule, rows, weight, given), rel=1e-9)


def by_rule(case, rule, rows, weight, given):
    """Return what a rule compares, of the two groups that come nearest to breaking it."""
    X, y = case.X[rows], np.asarray(case.y)
    n = len(X)
    weight = weight[rows] if "sample_weight" in given else np.ones(n)
    if "exposure" in given:
        weight = weight * given["exposure"][rows]
    eta = np.asarray(case.model._linear_predictor(X, None, None)).reshape(n, -1)
    if case.kind in ("two", "four"):
        P, label = case.model.predict_proba(X), rule.favorable or "yes"
        score = P[:, case.model.classes_.tolist().index(label)]
        among = y == label if isinstance(rule, rules.OpportunityGap) else np.ones(n, dtype=bool)
        if not isinstance(rule, rules.MeanGap):
            score = (score > 0.5).astype(float)
    else:
        score, among = (np.exp(eta) if case.kind == "counts" else eta)[:, 0], True
    found = []
    for groups in (X["sex"].to_numpy(), quarters(X["age"].to_numpy(), weight)):
        means = [
            np.average(score[inside], weights=weight[inside])
            for inside in ((groups == name) & among for name in np.unique(groups))
            if weight[inside].sum() ** 2 / (weight[inside] ** 2).sum() >= 30
        ]
        found.append((min(means), max(means)))
    if isinstance(rule, rules.AdverseImpact):
        return min(low / high for low, high in found)
    return max(high - low for low, high in found)


def quarters(values, weight):
    """Return the quarter of each value, by weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order]) / weight.sum()
    cuts = [values[order][np.searchsorted(below, part)] for part in (0.25, 0.5, 0.75)]
    return np.searchsorted(cuts, values)


# ------------------------------------------------------------------ what is promised and watched


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gaussian", {"controls": "level"}),
        ("counts", {"definition": "mean-parity"}),
        ("two", {"definition": "mean-parity", "controls": "level"}),
        ("four", {"definition": "mean-parity", "blind": True}),
        ("times", {}),
    ],
)
def test_certificates(kind, options):
    """What a certificate says was reached in training is the share in training."""
    X, y, weight, exposure = people()
    given = {"sample_weight": weight} | ({"exposure": exposure} if kind == "counts" else {})
    model = unfitted(kind, options | {"unfairness": 0.15, "confidence": 0.9}).fit(
        X, y[kind], **given
    )
    option = "controls" if "controls" in options else "plain"
    definition = options.get("definition", "statistical-parity")
    case = Seen(kind, definition, option, model, {"X": X, "y": y[kind]} | given, X, model)
    certificate = model.certificate_
    assert certificate.granted
    assert model.unfairness_ == pytest.approx(case.bounded(), **CLOSE)
    assert case.bounded() <= certificate.training_bound * (1.0 + 1e-9)
    if model.status_ == "converged":
        assert case.bounded() == pytest.approx(certificate.training_bound, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "definition", "option"),
    [
        ("gaussian", "statistical-parity", "controls"),
        ("counts", "mean-parity", "plain"),
        ("two", "mean-opportunity", "plain"),
        ("two", "mean-parity", "crossed"),
        ("times", "statistical-parity", "blind, controls"),
        ("stacked counts", "mean-parity", "missing"),
        ("two", "mean-odds", "plain"),
        ("four", "mean-parity", "plain"),
        ("four", "statistical-parity", "blind, controls"),
        ("four", "mean-opportunity", "missing"),
        ("four", "mean-odds", "crossed"),
    ],
)
def test_monitors(kind, definition, option):
    """A monitor watches what is bounded, and says so in the same words."""
    case = seen(kind, definition, option, "equal")
    monitor = Monitor(case.model)
    assert monitor.watches == bounded_measure(case.model).words
    given = {key: value for key, value in case.given.items() if key == "exposure"}
    S = case.given.get("sensitive_features")
    state = monitor.update(case.rows["X"], S, case.y, **given)
    assert (state.n_rows, state.alarm) == (N, False)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("gaussian", "controls"),
        pytest.param("gaussian", "plain", marks=pytest.mark.slow),
        pytest.param("two", "controls", marks=pytest.mark.slow),
    ],
)
def test_proxies_are_given_the_controls(kind, option):
    case = seen(kind, "statistical-parity", option, "weighted")
    found = proxies(case.model, case.X)
    assert found.predictors == (("hours", "x") if option == "controls" else ("level", "hours", "x"))
    for name, explained in zip(found.predictors, found.explained, strict=True):
        column = case.X[[name]].to_numpy(float)
        assert explained == pytest.approx(share(column, case.S, case.weight, case.C), **CLOSE)


# ------------------------------------------------------------------ stacks as wholes


def new_rows_of(case):
    """Return the same people as rows that the stack was not fitted to."""
    given = {k: v for k, v in case.rows.items() if k in ("y", "sample_weight", "exposure")}
    exposure = {"exposure": given["exposure"]} if "exposure" in given else {}
    return replace(case, rows=given | case.whole.layer_inputs(case.X, **exposure))


@pytest.mark.parametrize(
    ("kind", "definition", "key"),
    [
        ("stacked numbers", "mean-parity", "share_of_means"),
        ("stacked four", "mean-parity", "share_of_means"),
        ("stacked two", "mean-parity", "share_of_eta"),
        ("stacked two", "mean-opportunity", "achieved"),
        ("stacked counts", "mean-parity", "share_of_means"),
    ],
)
def test_validation_of_stacks(kind, definition, key):
    case = seen(kind, definition, "plain", "weighted")
    new = new_rows_of(case)
    given = {k: v for k, v in new.given.items() if k != "sensitive_features"}
    everyone = [(np.arange(N), np.arange(N))]
    found = cross_validate(case.whole, case.X, new.y, unfairness=[R], folds=everyone, **given)
    rows = int(case.codes.sum()) if definition == "mean-opportunity" else N
    value = new.bounded() if key == "achieved" else new.shares()[key]
    expected = adjusted(value, rows, case.S.shape[1])
    assert found.records[0][key] == pytest.approx(expected, **CLOSE)
