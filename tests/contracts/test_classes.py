"""Classes are sorted in every surface of a model, whichever of two classes it models.

`positive` says what coefficients, summaries and scores are about, and changes nothing that
is found by the place of a class: columns of probabilities, scores of scikit-learn, audits.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

import fairridge
from fairridge import FairRidgeClassifier, FairStackingClassifier, Monitor, audit, rules
from fairridge.export import reasons, scorecard, to_onnx, to_python, to_sklearn, to_sql
from fairridge.metrics import make_fairness_scorer
from fairridge.peers import BarycenterClassifier, ConvexFairClassifier, ZafarClassifier

LABELS = {"text": ("no", "yes"), "integers": (3, 7), "truth": (False, True)}
CHOICES = {"default": None, "first": 0}


def rows(n, labels, seed=0):
    rng = np.random.default_rng(seed)
    sex, x = rng.choice(["f", "m"], n), rng.normal(size=n)
    better = x + 0.8 * (sex == "m") + rng.logistic(size=n) > 0.4
    X = pd.DataFrame({"sex": sex, "x": x, "z": rng.normal(size=n)})
    return X, np.where(better, labels[1], labels[0])


@pytest.fixture(scope="module", params=LABELS)
def labels(request):
    return LABELS[request.param]


@pytest.fixture(scope="module")
def data(labels):
    return rows(400, labels)


@pytest.fixture(params=CHOICES)
def positive(request, labels):
    place = CHOICES[request.param]
    return None if place is None else labels[place]


@pytest.fixture
def model(positive):
    return FairRidgeClassifier(0.05, sensitive="sex", positive=positive)


@pytest.fixture
def plain():
    """The model that is compared with: of the second class, which is the default."""
    return FairRidgeClassifier(0.05, sensitive="sex")


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def modeled(positive, labels):
    return labels[1] if positive is None else positive


# ---------------------------------------------------------------------- the model


def test_predictions_do_not_depend_on_the_modeled_class(model, plain, data, labels, positive):
    X, y = data
    model, plain = model.fit(X, y), plain.fit(X, y)
    assert model.classes_.tolist() == list(labels)
    assert model.classes_.dtype == y.dtype
    assert model.positive_ == modeled(positive, labels)
    assert type(model.positive_) is type(modeled(positive, labels))
    same(model.predict_proba(X), plain.predict_proba(X))
    same(model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    second = model.predict(X) == labels[1]
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, second)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), second)
    assert model.score(X, y) == plain.score(X, y)
    named = FairRidgeClassifier(0.05, sensitive="sex", positive=labels[1]).fit(X, y)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    ratios = [name for name in plain.group_differences_ if "group_mean" not in name]
    assert len(ratios) > 2
    for name in ratios:  # the others are means of the modeled class
        assert model.group_differences_[name] == pytest.approx(plain.group_differences_[name])


def test_coefficients_are_those_of_the_modeled_class(model, data, labels, positive):
    X, y = data
    indicator = (y == modeled(positive, labels)).astype(int)
    other = FairRidgeClassifier(0.05, sensitive="sex").fit(X, indicator)
    found = model.fit(X, y)
    for name in ("coef_", "intercept_", "alpha_", "beta_", "fair_intercept_"):
        np.testing.assert_allclose(getattr(found, name), getattr(other, name), rtol=1e-12)
    of_class = found.classes_.tolist().index(found.positive_)
    same(found.predict_proba(X)[:, of_class], other.predict_proba(X)[:, 1])
    no, yes = labels if found.positive_ == labels[1] else labels[::-1]
    assert dict(found.summary(details=True).facts)["Probability of"] == f"{yes}, not {no}"
    same(found.inference(X, y).estimate, other.inference(X, indicator).estimate)


@pytest.mark.parametrize(
    "options",
    [
        {"definition": "mean-parity"},
        {"definition": "mean-parity", "blind": True},
        {"definition": "mean-odds"},
        {"definition": "mean-parity", "controls": ["x"]},
        {"definition": "individual"},
        {"class_weight": "balanced"},
        {"predictor_penalty": "cv"},
        {"definition": "mean-parity", "unfairness": {"sex": 0.01}, "sensitive": ["sex"]},
    ],
    ids=str,
)
def test_other_options_have_the_same_columns(options, data, labels):
    X, y = data
    given = {"unfairness": 0.02, "sensitive": "sex"} | options
    models = [FairRidgeClassifier(**given, positive=one).fit(X, y) for one in (None, labels[0])]
    same(*(one.predict_proba(X) for one in models))


def test_weights_of_classes_and_offsets_belong_to_labels_and_scores(data, labels):
    """An offset is added to the linear predictor, which is about the modeled class."""
    X, y = data
    shift = np.random.default_rng(3).normal(size=len(y))
    given = {"unfairness": 0.02, "sensitive": "sex", "class_weight": {labels[0]: 3.0}}
    first = FairRidgeClassifier(**given, positive=labels[0]).fit(X, y, offset=-shift)
    second = FairRidgeClassifier(**given).fit(X, y, offset=shift)
    same(first.predict_proba(X, offset=-shift), second.predict_proba(X, offset=shift))


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_a_tie_is_the_first_class(link, positive, labels):
    """Both classes are equally likely in every cell, so that all coefficients are 0."""
    X = pd.DataFrame({"s": np.repeat(["a", "b"], 20), "x": np.tile(np.repeat([0.0, 1.0], 10), 2)})
    y = np.tile(labels, 20)
    model = FairRidgeClassifier(1.0, sensitive="s", positive=positive, link=link).fit(X, y)
    model.coef_, model.intercept_ = 0.0 * model.coef_, np.array([model.family_.threshold])
    same(model.predict_proba(X), 0.5)
    assert (model.predict(X) == labels[0]).all()
    graph = to_onnx(model)
    assert (onnx_run(graph, X)["prediction"].ravel() == labels[0]).all()
    if link != "probit":
        assert (sql_run(model, X)["prediction"] == labels[0]).all()
    scorer = {}
    exec(to_python(model), scorer)
    assert scorer["predict"](X.iloc[0].to_dict())["prediction"] == labels[0]
    if link == "logit":
        assert (to_sklearn(model).predict(X[["x"]]) == labels[0]).all()


def test_several_classes_have_no_modeled_one(data):
    X, _ = data
    several = np.where(X["x"] > 1.0, "best", np.where(X["x"] < -0.5, "worst", "middle"))
    model = FairRidgeClassifier(0.05, sensitive="sex").fit(X.drop(columns="x"), several)
    assert model.classes_.tolist() == ["best", "middle", "worst"]
    assert model.positive_ is None


@pytest.mark.parametrize(
    "model",
    [
        FairStackingClassifier(
            FairRidgeClassifier(1.0, sensitive=[0]), sensitive="sex", cv=3, random_state=0
        ),
        ZafarClassifier(0.1, sensitive="sex"),
        ConvexFairClassifier(0.1, sensitive="sex"),
        BarycenterClassifier(0.1, sensitive="sex"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_without_the_parameter_are_about_the_second_class(model, data, labels):
    X, y = data
    model.fit(X, y)
    assert model.classes_.tolist() == list(labels)
    assert model.positive_ == labels[1]
    second = model.predict(X) == labels[1]
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, second)


def test_a_learner_of_a_stack_may_model_either_class(positive, data, labels):
    """Scores of learners are found by class."""
    X, y = data
    codes = {None: None, labels[0]: 0, labels[1]: 1}  # learners see these
    learner = FairRidgeClassifier(1.0, sensitive=[1], positive=codes[positive])
    stacks = [
        FairStackingClassifier(one, sensitive="sex", cv=3, random_state=0).fit(X, y)
        for one in (learner, FairRidgeClassifier(1.0, sensitive=[1]))
    ]
    same(*(stack.predict_proba(X) for stack in stacks))


# ------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "neg_brier_score", "accuracy"])
def test_scores_of_scikit_learn_agree(model, plain, data, scoring, labels):
    X, y = data
    if scoring == "neg_brier_score" and isinstance(labels[0], str):
        y = np.asarray(y == labels[1]).astype(int)  # it takes the labels 0 and 1 alone
        model.set_params(positive=None if model.positive is None else int(model.positive == "yes"))
    found, wanted = (cross_val_score(one, X, y, scoring=scoring, cv=2) for one in (model, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    if scoring == "roc_auc":
        assert found.mean() > 0.6


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_scores_of_folds_agree(model, plain, data, method, labels):
    """scikit-learn numbers classes here, and tells a model nothing else of its labels."""
    X, y = data
    if model.positive is not None and labels != LABELS["truth"]:
        with pytest.raises(ValueError, match=r"not a class of y: 0, 1\. \(.*numbers classes"):
            cross_val_predict(model, X, y, method=method)
        model.set_params(positive=labels.index(model.positive))
    found, wanted = (cross_val_predict(one, X, y, method=method) for one in (model, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


# ------------------------------------------------------- what fairridge says of it


def test_an_audit_of_all_columns_agrees(model, plain, data, labels):
    X, y = data
    found, wanted = (
        audit(y, one.fit(X, y).predict_proba(X), sensitive_features=X[["sex"]])
        for one in (model, plain)
    )
    assert found.positive == wanted.positive == labels[1]
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), rtol=1e-6)
    assert found.overall.ranking.auc.value > 0.6


@pytest.mark.slow
def test_cross_validation_and_comparison_agree(model, plain, data, labels, positive):
    X, y = data
    options = {"unfairness": [0.02], "favorable": labels[1], "random_state": 0}
    pair = [
        fairridge.compare(X, y, models={"fair": one}, sensitive="sex", cv=3, **options)
        for one in (model, plain)
    ]
    found, wanted = (one.to_frame().set_index("model") for one in pair)
    numbers = found.select_dtypes("number").columns.difference(["seconds"])
    np.testing.assert_allclose(found[numbers], wanted[numbers], rtol=1e-4, atol=1e-8)
    # The same definition of precision in training, on validation rows, and in a pipeline.
    folds = [
        fairridge.cross_validate({"m": one}, X, y, unfairness=[0.02], cv=3, random_state=0)
        for one in (model, make_pipeline("passthrough", model))
    ]
    each = [one.to_frame()[["precision", "recall", "f1", "auc"]] for one in folds]
    np.testing.assert_allclose(each[0], each[1], rtol=1e-4)


@pytest.mark.slow
def test_a_report_is_about_the_modeled_class(model, data, labels, positive):
    X, y = data
    fitted = model.fit(X, y)
    outcome = str(modeled(positive, labels))
    in_training = fairridge.report(model, X, y, cv=0, bootstrap=0).contents
    assert in_training.subject.outcome == outcome
    new, truth = rows(300, labels, seed=1)
    contents = fairridge.report(fitted, new, truth, new_rows=True).contents
    assert contents.subject.outcome == outcome
    column = fitted.classes_.tolist().index(fitted.positive_)
    by_hand = audit(
        truth, fitted.predict_proba(new)[:, column], sensitive_features=new[["sex"]],
        positive=fitted.positive_,
    )  # fmt: skip
    (found,) = contents.samples[0].audits
    assert found.overall.selection_rate.value == pytest.approx(by_hand.overall.selection_rate.value)
    wanted = by_hand.overall.ranking.auc.value
    assert found.overall.ranking.auc.value == pytest.approx(wanted)


def test_rules_and_monitors_find_classes_by_label(model, plain, data, labels, positive):
    X, y = data
    held = rows(600, labels, seed=2)
    rule = rules.AdverseImpact(0.5, favorable=labels[1])
    bounds = {"unfairness": [0.0, 0.02], "sensitive_features": None}
    found, wanted = (
        fairridge.choose_bound(one, X, y, *held, rule=rule, **bounds) for one in (model, plain)
    )
    assert (found.granted, found.unfairness) == (wanted.granted, wanted.unfairness)
    assert str(found.favorable) == str(wanted.favorable)
    same(*([step["value"] for step in one.steps] for one in (found, wanted)))
    unsaid = fairridge.choose_bound(
        model, X, y, *held, rule=rules.AdverseImpact(0.5), unfairness=[0.0]
    )
    assert unsaid.favorable.label == modeled(positive, labels)
    watches = [
        Monitor(one.set_params(definition="mean-parity").fit(X, y)) for one in (model, plain)
    ]
    same(*(watch.update(held[0]).wealth for watch in watches))


def test_opportunity_is_among_the_modeled_class(model, data, labels, positive):
    X, y = data
    model.set_params(definition="mean-opportunity").fit(X, y)
    named = Monitor(model)
    assert named.watches.endswith(f"among people of class {modeled(positive, labels)}")
    scorer = make_fairness_scorer("mean-opportunity", sensitive="sex", adjusted=False)
    assert -scorer(model, X, y) == pytest.approx(model.unfairness_, rel=1e-5)


# ------------------------------------------------------------------------ exports


def sql_run(model, X):
    import duckdb

    with duckdb.connect() as connection:
        connection.register("data", X)
        return connection.execute(to_sql(model)).df()


def onnx_run(graph, X):
    import onnxruntime

    session = onnxruntime.InferenceSession(graph.SerializeToString())
    given = {one.name: one for one in session.get_inputs()}
    if "X" in given:
        inputs = {"X": X.select_dtypes("number").to_numpy(float)}
    else:
        inputs = {
            name: X[[name]].to_numpy(object if "string" in one.type else float)
            for name, one in given.items()
        }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


@pytest.mark.parametrize("link", ["logit", "cloglog"])
def test_exports_agree(model, data, labels, positive, link):
    X, y = data
    model.set_params(link=link).fit(X, y)
    wanted, about = model.predict_proba(X), modeled(positive, labels)
    column = labels.index(about)
    found = sql_run(model, X)
    same(found[f"probability_{about}"], wanted[:, column])
    assert found["prediction"].tolist() == model.predict(X).tolist()
    graph = to_onnx(model)
    facts = {one.key: json.loads(one.value) for one in graph.metadata_props}
    assert facts == {"classes": list(labels), "positive": about}
    outputs = onnx_run(graph, X)
    same(outputs["probabilities"], wanted)
    assert outputs["prediction"].ravel().tolist() == model.predict(X).tolist()
    scorer = {}
    exec(to_python(model), scorer)
    assert list(scorer["CLASSES"]) == list(labels)
    each = [scorer["predict"](row) for row in X.head(50).to_dict("records")]
    same([one[f"probability_{about}"] for one in each], wanted[:50, column])
    assert [one["prediction"] for one in each] == model.predict(X)[:50].tolist()


def test_reasons_and_points_are_about_the_modeled_class(model, data, labels, positive):
    X, y = data
    fitted, about = model.fit(X, y), modeled(positive, labels)
    eta = (
        fitted.intercept_[0] + np.column_stack([X["sex"] == "m", X["x"], X["z"]]) @ fitted.coef_[0]
    )
    other = labels[1 - labels.index(about)]
    for label, sign in ((None, 1.0), (about, 1.0), (other, -1.0)):
        found = reasons(fitted, X, sensitive=True, label=label)
        same(found.linear_predictor, sign * eta)
    points = scorecard(fitted, rounded=False)
    assert points.favorable == about
    column = labels.index(about)
    same(points.probability(points.score(X)), fitted.predict_proba(X)[:, column])


# -------------------------------------------------------------------------- files


def test_files_agree(model, data, tmp_path):
    X, y = data
    fitted = model.fit(X, y)
    fairridge.save(fitted, tmp_path / "model.json")
    again = fairridge.load(tmp_path / "model.json")
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert again.positive_ == fitted.positive_
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_files_of_earlier_versions_have_their_classes_sorted(model, data, labels, tmp_path):
    """There the modeled one of two classes was the last, and nothing else said which it is."""
    from fairridge.export.model_file import write_document

    X, y = data
    fitted, path = model.fit(X, y), tmp_path / "model.json"
    fairridge.save(fitted, path)
    document = json.loads(path.read_text())
    learned, about = document["fitted"], document["fitted"].pop("positive_")
    learned["classes_"]["values"].sort(key=lambda label: label == about)
    del learned["family_"]["tie"], document["checksum"]
    write_document(document, path)
    again = fairridge.load(path)
    assert again.classes_.tolist() == list(labels)
    assert again.positive_ == fitted.positive_
    assert again.family_ == fitted.family_
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize(
    ("place", "value"),
    [("positive_", "maybe"), ("positive_", None), ("classes_", ["yes", "no"])],
)
def test_files_whose_classes_do_not_fit_together_are_refused(place, value, tmp_path):
    from fairridge.export.model_file import write_document

    X, y = rows(200, LABELS["text"])
    path = tmp_path / "model.json"
    fairridge.save(FairRidgeClassifier(0.05, sensitive="sex").fit(X, y), path)
    document = json.loads(path.read_text())
    if place == "classes_":
        document["fitted"]["classes_"]["values"] = value
    else:
        document["fitted"][place] = value
    del document["checksum"]
    write_document(document, path)
    with pytest.raises(ValueError, match=place):
        fairridge.load(path)
