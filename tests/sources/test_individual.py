"""Individual fairness without pairs of rows in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fairridge import FairRidgeClassifier, FairRidgeRegressor, FairRidgeSurvival, sources
from fairridge.estimators._training import read_training
from fairridge.exceptions import DataWarning
from fairridge.fairness import (
    AbsoluteDifference,
    ClassDifference,
    Closeness,
    IndividualFairness,
    SameOutcome,
)
from fairridge.families.distances import ChangedColumns
from fairridge.sources import streamed_pairs

from .conftest import COLUMNS, SENSITIVE, assert_same_model, columns_of

ROLES = {"response": "y", "sensitive": ["a", "b"], "predictors": ["x"], "weight": "w"}


def problem(n=900, seed=0, y=None):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.integers(0, 3, n).astype(float)
    x = rng.normal(size=n) + 0.5 * a
    y = x + a + 0.3 * b + rng.standard_t(3, size=n) if y is None else y(rng, x + a)
    return pd.DataFrame({"a": a, "b": b, "x": x, "y": y, "w": rng.integers(0, 3, n) * 0.7})


def forms(frame, distance, batch_rows=100):
    """M from batches, with what was said about it, and M from all rows."""
    source = sources.frame(frame, **ROLES, batch_rows=batch_rows)
    streamed = read_training(FairRidgeRegressor(), source, *[None] * 4).engine
    kept = frame[frame["w"] > 0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        M = streamed.pairwise(distance, ChangedColumns(np.zeros(2), np.eye(2)))
    S, y, w = kept[["a", "b"]].to_numpy(), kept[["y"]].to_numpy(), kept["w"].to_numpy()
    return M, [str(one.message) for one in said], distance.form(S.copy(), y, w)


def stated_error(said):
    assert len(said) == 1
    return float(said[0].split("share of ")[1].split(" at most")[0])


def relative_error(M, exact):
    root = np.linalg.inv(np.linalg.cholesky(exact))
    return np.abs(np.linalg.eigvalsh(root @ (M - exact) @ root.T)).max()


def test_equal_outcomes_are_exact():
    M, said, exact = forms(problem(y=lambda rng, eta: np.round(eta)), SameOutcome())
    assert said == []
    np.testing.assert_allclose(M, exact, rtol=1e-11)
    with pytest.raises(ValueError, match="no two rows have the same y"):
        forms(problem(n=300), SameOutcome())


SQUARED = {
    "gaussian": (FairRidgeRegressor(0.3), "wage"),
    "tweedie": (FairRidgeRegressor(0.3, family="tweedie"), "cost"),
    "multinomial": (FairRidgeClassifier(0.3), "job"),
}


@pytest.mark.parametrize("family", SQUARED)
@pytest.mark.slow
def test_squared_differences_are_exact(home, people, family):
    model, response = SQUARED[family]
    model = clone(model).set_params(definition=IndividualFairness("squared"))
    frame = people[columns_of(response, "weight")]
    ours = clone(model).fit(home(frame, response=response, sensitive=SENSITIVE, weight="weight"))
    theirs = model.set_params(sensitive=SENSITIVE).fit(
        people[COLUMNS], people[response], sample_weight=people["weight"]
    )
    assert_same_model(ours, theirs)


@pytest.mark.slow
def test_squared_differences_of_times_are_exact(people):
    # Far from 0, where −log time, the target of the moments, would be a bad center.
    frame = people[[*COLUMNS, "weight"]].assign(
        time=1000.0 + 50.0 * people["cost"], event=people["visits"] > 0
    )
    frame = frame.sort_values("time", ascending=False, ignore_index=True)
    model = FairRidgeSurvival(0.3, definition=IndividualFairness("squared"))
    source = sources.frame(
        frame, response=["time", "event"], sensitive=SENSITIVE, weight="weight", batch_rows=700
    )
    ours = clone(model).fit(source)
    theirs = model.set_params(sensitive=SENSITIVE).fit(
        frame[COLUMNS], frame[["time", "event"]], sample_weight=frame["weight"]
    )
    assert ours.lambda_ > 0.0
    assert_same_model(ours, theirs)


@pytest.mark.parametrize(("groups", "transform"), [(64, None), (256, np.arctan)])
def test_the_stated_error_holds(monkeypatch, groups, transform):
    monkeypatch.setattr(streamed_pairs, "MAX_RESPONSE_GROUPS", groups)
    M, said, exact = forms(problem(n=20_000), AbsoluteDifference(transform), batch_rows=3000)
    bound, true = stated_error(said), relative_error(M, exact)
    assert true <= bound * 1.05  # the message rounds
    # Errors fall with the square of the number of groups; tails of y cost a little more.
    assert bound < 40.0 / groups**2


def test_a_sample_decides_about_the_groups(monkeypatch):
    monkeypatch.setattr(streamed_pairs, "RESPONSE_SAMPLE_ROWS", 500)
    monkeypatch.setattr(streamed_pairs, "MAX_RESPONSE_GROUPS", 100)
    M, said, exact = forms(problem(n=20_000), AbsoluteDifference(), batch_rows=700)
    assert relative_error(M, exact) <= stated_error(said) < 0.05
    again, _, _ = forms(problem(n=20_000), AbsoluteDifference(), batch_rows=20_000)
    np.testing.assert_allclose(M, again, rtol=1e-12)  # whatever the batches


def test_pairs_that_no_stream_can_see(people):
    source = sources.frame(people[columns_of("wage")], response="wage", sensitive=SENSITIVE)
    general = IndividualFairness(lambda a, b: np.abs(a - b) ** 1.5)
    with pytest.raises(ValueError, match="PairwiseDistance looks at pairs of rows"):
        FairRidgeRegressor(0.3, definition=general).fit(source)
    with pytest.raises(ValueError, match="Closeness looks at pairs of rows, which are not in mem"):
        FairRidgeRegressor(0.3, definition=IndividualFairness(Closeness())).fit(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamed_pairs, "MAX_COUNTED_LEVELS", 100)
        with pytest.raises(ValueError, match="more than 100 different responses"):
            FairRidgeRegressor(0.3, definition=IndividualFairness(ClassDifference())).fit(source)


def test_constant_sensitive_columns_leave_nothing_to_compare():
    frame = problem().assign(a=1.0, b=2.0)
    source = sources.frame(frame, **ROLES)
    model = FairRidgeRegressor(definition="individual")
    with pytest.warns(DataWarning, match="are constant"):
        model.fit(source)
    assert model.unfairness_ == 0.0
