"""Combinations of coefficients, and what each row adds to each of them."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.families import NegativeBinomial
from tests.zoo import LateModule, model_of, responses

sm = LateModule("statsmodels.api")
SENSITIVE = ["sex", "race", ("sex", "race")]
FAMILIES = sorted(responses(np.zeros(9), 0))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    n = 240
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["A", "B"], n),
            "age": rng.normal(size=n),
            "hours": rng.normal(size=n),
        }
    )
    frame["hours"] += frame["sex"] == "M"
    return frame


@pytest.fixture(scope="module")
def every_response(people):
    eta = 0.8 * (people["sex"] == "M") + 0.5 * (people["race"] == "B") + people["age"]
    return responses(eta, 1)


@pytest.fixture(scope="module")
def weight(people):
    return np.random.default_rng(4).integers(0, 3, len(people)).astype(float)


def asked(model, people, y, weight=None, **options):
    model.fit(people, y, sample_weight=weight)
    return model.inference(people, y, sample_weight=weight, **options)


def coefficients(model):
    if np.ndim(model.coef_) == 1:
        intercept = [model.intercept_] if model.family_.has_intercept else []
        return np.concatenate([intercept, model.coef_])
    return np.column_stack([model.intercept_, model.coef_]).ravel()


@pytest.mark.parametrize("family", FAMILIES)
def test_influence_is_how_coefficients_move_with_the_weight_of_a_row(
    people, every_response, weight, family
):
    y = every_response[family]
    # The dispersion of a negative binomial is taken as given.
    known = NegativeBinomial(0.4) if family == "negative-binomial" else family
    model = model_of(known, 0.02, sensitive=SENSITIVE, tol=1e-13, max_iter=300)
    found = asked(model, people, y, weight, covariance="HC0").influence()
    assert found.shape == (len(people), len(model.inference(people, y, sample_weight=weight).names))
    assert not found[weight == 0.0].any()
    row, step = int(np.flatnonzero(weight == 2.0)[5]), 1e-3
    moved = []
    for change in (-step, step):
        other = weight.copy()
        other[row] *= 1.0 + change
        moved.append(coefficients(copy.deepcopy(model).fit(people, y, sample_weight=other)))
    numeric = (moved[1] - moved[0]) / (2.0 * step)
    np.testing.assert_allclose(found[row], numeric, atol=2e-5 * np.abs(numeric).max())


@pytest.mark.parametrize("family", ["gaussian", "multinomial", "cox"])
def test_squares_of_influences_are_variances_of_every_combination(people, every_response, family):
    found = asked(
        model_of(family, 0.0, sensitive=SENSITIVE),
        people,
        every_response[family],
        covariance="HC0",
    )
    rows, names = found.influence(), found.names
    assert np.abs(rows.sum(axis=0)).max() < 1e-9 * np.abs(rows).sum(axis=0).max()
    weights = dict(zip(names[-3:], [1.0, -2.0, 0.5], strict=True))
    one = found.contrast(weights, 0.9)
    errors = rows[:, -3:] @ [1.0, -2.0, 0.5]
    assert one.standard_error == pytest.approx(np.sqrt((errors**2).sum()), rel=1e-8)
    assert one.estimate == pytest.approx(found.estimate[-3:] @ [1.0, -2.0, 0.5])
    assert one.upper - one.estimate == pytest.approx(1.6448536 * one.standard_error)


def test_one_coefficient_is_a_row_of_the_table(people, every_response):
    found = asked(model_of("poisson", sensitive=SENSITIVE), people, every_response["poisson"])
    row = found.to_frame(exponentiate=True).set_index("term").loc["age"]
    one = found.contrast({"age": 1}, exponentiate=True)
    assert (one.estimate, one.lower, one.upper) == pytest.approx(
        (row["rate_ratio"], row["lower"], row["upper"])
    )
    assert (one.standard_error, one.p_value) == pytest.approx(
        (row["standard_error"], row["p_value"])
    )


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_without_a_bound_contrasts_are_those_of_statsmodels(people, every_response, family):
    y = every_response[family]
    found = asked(model_of(family, 1.0, sensitive=SENSITIVE), people, y, covariance="HC0")
    codes = pd.get_dummies(people, drop_first=True, dtype=float)
    codes["both"] = codes["sex_M"] * codes["race_B"]
    Z = sm.add_constant(codes[["sex_M", "both", "age"]].assign(race_B=codes["race_B"]))
    Z["hours"] = people["hours"]
    numbers = (y == "yes").astype(float) if family == "binomial" else y
    theirs = sm.GLM(numbers, Z, family=getattr(sm.families, family.capitalize())()).fit(
        cov_type="HC0", tol=1e-12
    )
    test = theirs.t_test("sex_M + both - 2 * age = 0")
    ours = found.contrast({"sex[M]": 1, "sex[M] × race[B]": 1, "age": -2})
    assert ours.estimate == pytest.approx(test.effect[0], rel=1e-6)
    assert ours.standard_error == pytest.approx(test.sd.item(), rel=1e-6)
    assert ours.p_value == pytest.approx(test.pvalue.item(), rel=1e-5)
    assert (ours.lower, ours.upper) == pytest.approx(test.conf_int()[0], rel=1e-5)


def test_without_a_bound_influences_are_those_of_statsmodels(people):
    y = people["age"] + (people["sex"] == "M") + np.random.default_rng(0).normal(size=len(people))
    found = asked(FairRidgeRegressor(1.0, sensitive="sex"), people.drop(columns="race"), y)
    Z = sm.add_constant(people[["age", "hours"]].assign(sex=people["sex"] == "M").astype(float))
    theirs = sm.OLS(y, Z[["const", "sex", "age", "hours"]]).fit().get_influence()
    left = 1.0 - theirs.hat_matrix_diag[:, None]
    # Leaving a row out moves a coefficient by its influence over 1 − h.
    np.testing.assert_allclose(found.influence() / left, theirs.dfbeta, atol=1e-10)


def test_rows_aside_and_rows_of_isolated_levels_have_no_influence(people, every_response):
    y = every_response["binomial"].copy()
    jobs = people.assign(job=np.where(np.arange(len(people)) < 2, "rare", "common"))
    y[:2] = "no"
    found = asked(FairRidgeClassifier(0.02, sensitive="sex"), jobs, y).influence()
    assert not np.nan_to_num(found[:2]).any()
    assert np.nan_to_num(found[2:]).any(axis=1).all()
    assert np.isnan(found).any(axis=0).sum() == 1


def test_what_cannot_be_combined_is_refused(people, every_response):
    found = asked(FairRidgeRegressor(0.02, sensitive=SENSITIVE), people, every_response["gaussian"])
    with pytest.raises(ValueError, match=r"there is no coefficient 'Age'. Did you mean 'age'\?"):
        found.contrast({"Age": 1})
    with pytest.raises(TypeError, match="'age' is not a mapping of names to weights"):
        found.contrast("age")
    with pytest.raises(ValueError, match="name at least one coefficient"):
        found.contrast({})
    with pytest.raises(ValueError, match=r"weights\['age'\]='1' must be a finite number"):
        found.contrast({"age": "1"})
    with pytest.raises(ValueError, match="are no ratios"):
        found.contrast({"age": 1}, exponentiate=True)
    classes = asked(
        model_of("multinomial", 0.0, sensitive=SENSITIVE), people, every_response["multinomial"]
    )
    with pytest.raises(ValueError, match="this combination is fixed"):
        classes.contrast({f"age → {label}": 1 for label in range(3)})


def test_influences_stay_with_the_rows(people, every_response):
    y = every_response["gaussian"]
    model = FairRidgeRegressor(0.02, sensitive=SENSITIVE)
    found = asked(model, people, y)
    stored = pickle.loads(pickle.dumps(found))
    assert stored.contrast({"age": 1}) == found.contrast({"age": 1})
    with pytest.raises(ValueError, match="Influences need the rows in memory"):
        stored.influence()
