"""Bad parameters are refused at fit, by name; good ones come in every numeric type."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fairridge
from fairridge import FairRidgeClassifier, FairRidgeRegressor, cross_validate, load, save
from fairridge.exceptions import BoundWarning
from fairridge.export import reasons, scorecard
from fairridge.fairness import StatisticalParity
from fairridge.families import Gaussian
from fairridge.metrics import audit
from fairridge.penalties import Ridge

BOUNDS = [-1e-12, 1.1, np.nan, True, "0.1", None, [0.05], np.array([0.05]), 0.1 + 0j]


@pytest.mark.parametrize("unfairness", BOUNDS, ids=str)
def test_a_bound_is_one_number_from_zero_to_one(numbers, unfairness):
    model = FairRidgeRegressor(unfairness, sensitive=[0])
    with pytest.raises(ValueError, match="unfairness"):
        model.fit(numbers.Z, numbers.y)
    path = model.set_params(unfairness=0.1).path(numbers.Z, numbers.y, unfairness=[0.1])
    with pytest.raises(ValueError, match="unfairness"):
        path.at(unfairness)


@pytest.mark.parametrize("unfairness", [np.float32(0.25), Fraction(1, 4), 0, 1])
def test_a_bound_may_have_any_numeric_type(numbers, unfairness):
    model = FairRidgeRegressor(unfairness, sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    if unfairness == 1:
        assert model.status_ == "inactive"
        return
    assert model.unfairness_ == pytest.approx(float(unfairness), abs=1e-10)
    assert f"{float(unfairness):g}" in str(model.summary(details=True))


@pytest.mark.parametrize("unfairness", [[0.1, 1.2], [np.nan], [0.1, True], ["a"], [], [[0.1, 0.2]]])
def test_the_bounds_of_a_path_are_numbers_from_zero_to_one(numbers, unfairness):
    with pytest.raises(ValueError, match="unfairness"):
        FairRidgeRegressor(sensitive=[0]).path(numbers.Z, numbers.y, unfairness=unfairness)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("predictor_penalty", -1.0),
        ("predictor_penalty", np.inf),
        ("predictor_penalty", None),
        ("tol", 0.0),
        ("tol", np.nan),
        ("max_iter", 0),
        ("max_iter", "many"),
        ("standardize", "yes"),
        ("blind", "yes"),
        ("missing", "drop"),
        ("unknown", "x"),
        ("definition", "statistical_parity"),
        ("penalty", None),
        ("penalty", Ridge),
        ("family", "x"),
        ("family", Gaussian),
    ],
    ids=str,
)
def test_a_bad_parameter_is_an_error_that_names_it(numbers, parameter, value):
    model = FairRidgeRegressor(sensitive=[0], **{parameter: value})
    with pytest.raises(ValueError, match=f"{parameter}="):
        model.fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match=f"{parameter}="):
        model.path(numbers.Z, numbers.y, unfairness=[0.1])


@pytest.mark.parametrize("definition", [None, ["individual"]])
def test_a_definition_that_is_none_is_an_error(numbers, definition):
    with pytest.raises(TypeError, match="definition="):
        FairRidgeRegressor(sensitive=[0], definition=definition).fit(numbers.Z, numbers.y)


def test_parameters_are_kept_as_given_and_checked_at_fit_only():
    sensitive, definition = ["a"], object()
    model = FairRidgeRegressor(-3, sensitive=sensitive, definition=definition, unknown=7)
    assert model.unfairness == -3
    assert model.sensitive is sensitive
    assert model.definition is definition
    assert model.unknown == 7


@pytest.mark.parametrize(("family", "penalty"), [("gaussian", Ridge()), (Gaussian(), "ridge")])
def test_names_and_objects_mean_the_same(numbers, family, penalty):
    model = FairRidgeRegressor(sensitive=[0, 1], family=family, penalty=penalty)
    plain = FairRidgeRegressor(sensitive=[0, 1]).fit(numbers.Z, numbers.y)
    np.testing.assert_array_equal(model.fit(numbers.Z, numbers.y).coef_, plain.coef_)
    with pytest.raises(TypeError, match="positional"):  # all but the bound are named
        FairRidgeRegressor(0.1, ["sex"])


@pytest.mark.parametrize(
    ("standardize", "predictor_penalty"), [(True, np.float32(8.0)), (False, 0), (False, 0.5)]
)
def test_options_are_solved_as_written(
    numbers, oracle, assert_solves, standardize, predictor_penalty
):
    options = {"standardize": standardize, "predictor_penalty": predictor_penalty}
    model = FairRidgeRegressor(0.1, sensitive=[0, 1], **options).fit(numbers.Z, numbers.y)
    assert_solves(model, oracle(numbers.S, numbers.X, numbers.y, 0.1, **options))


def test_too_few_steps_are_said_in_a_warning(numbers):
    model = FairRidgeRegressor(1e-6, sensitive=[0, 1], max_iter=1)
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as record:
        model.fit(numbers.Z, numbers.y)
    assert len(record) == 1
    assert (model.status_, model.converged_) == ("not-converged", False)


def test_a_bound_out_of_reach_is_said_in_a_warning_that_points_at_the_call(numbers):
    model = FairRidgeRegressor(0.1, sensitive=[0, 1], definition=lambda fit: 0.5)
    with pytest.warns(BoundWarning, match=r"stays at 0\.5") as record:
        model.fit(numbers.Z, numbers.y)
    assert (model.status_, model.converged_) == ("infeasible", False)
    assert [warning.filename for warning in record] == [__file__]


@pytest.mark.parametrize("value", ["yes", 1])
def test_flags_are_true_or_false(numbers, value):
    """What merely looks true may mean the opposite: "no" is true in Python."""
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y)
    label = FairRidgeClassifier(sensitive=[0]).fit(numbers.Z, np.arange(len(numbers.y)) % 2)
    with pytest.raises(ValueError, match="center="):
        StatisticalParity(center=value)
    with pytest.raises(ValueError, match="intersections="):
        audit(numbers.y, numbers.y, sensitive_features=numbers.Z[:, 0], intersections=value)
    with pytest.raises(ValueError, match="rounded="):
        scorecard(label, rounded=value)
    with pytest.raises(ValueError, match="progress="):
        cross_validate(model, numbers.Z, numbers.y, unfairness=[0.1], cv=2, progress=value)
    with pytest.raises(ValueError, match="sensitive="):
        reasons(model, numbers.Z, sensitive=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv=1"),
        ({"cv": 2.5}, "cv=2.5"),
        ({"bootstrap": -1}, "bootstrap=-1"),
        ({"threshold": np.nan}, "threshold=nan"),
        ({"threshold": "high"}, "threshold='high'"),
    ],
)
def test_options_of_reports_are_checked(numbers, options, message):
    model = FairRidgeRegressor(sensitive=[0]).fit(numbers.Z, numbers.y)
    with pytest.raises(ValueError, match=message):
        fairridge.report(model, numbers.Z, numbers.y, **({"cv": 0, "bootstrap": 0} | options))


@pytest.mark.parametrize("threshold", [np.inf, "high", True])
def test_the_threshold_of_an_audit_is_finite(numbers, threshold):
    with pytest.raises(ValueError, match="threshold="):
        audit(numbers.y, numbers.y, sensitive_features=numbers.Z[:, 0], threshold=threshold)


@pytest.mark.slow
def test_random_state_seeds_what_is_drawn(tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 4))
    y = Z @ [0.5, 1.0, -1.0, 0.2] + rng.normal(size=200)
    halves = {"confidence": 0.5, "certification": "held-out", "sensitive": [0]}
    first, again, other = (
        FairRidgeRegressor(0.3, random_state=seed, **halves).fit(Z, y) for seed in (0, 0, 1)
    )
    assert (first.coef_ == again.coef_).all()
    assert not np.allclose(first.coef_, other.coef_)
    folds = {"family": "poisson", "predictor_penalty": "cv", "sensitive": [0]}
    counts = rng.poisson(np.exp(0.3 * Z[:, 1]))
    chosen = {
        FairRidgeRegressor(0.3, random_state=k, **folds).fit(Z, counts).predictor_penalty_
        for k in range(4)
    }
    assert len(chosen) > 1
    with pytest.raises(ValueError, match="random_state=-1"):
        FairRidgeRegressor(0.3, random_state=-1, sensitive=[0]).fit(Z, y)
    save(first, tmp_path / "model.json")
    assert load(tmp_path / "model.json").random_state == 0
