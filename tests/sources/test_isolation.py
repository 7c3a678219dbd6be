"""Levels that decide the response, in rows that are somewhere else."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor

from .conftest import SENSITIVE, assert_same_model

PREDICTORS = ["skill", "years", "town"]
COLUMNS = [*SENSITIVE, *PREDICTORS]
RARE = 9


def with_town(people, response, outcome):
    """Return people of whom nine, in different batches, live in a town of one outcome."""
    frame = people[[*SENSITIVE, "skill", "years", response]].copy()
    rare = np.arange(len(frame)) % 450 == 3
    assert rare.sum() == RARE
    frame["town"] = np.where(rare, "isle", np.where(frame["skill"] > 0.3, "port", "hill"))
    frame.loc[rare, response] = outcome
    return frame


CASES = {
    "hired": (FairRidgeClassifier, {}, "no"),
    "job": (FairRidgeClassifier, {}, "smith"),
    "visits": (FairRidgeRegressor, {"family": "poisson"}, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("response", CASES)
def test_isolated_rows_elsewhere_are_those_in_memory(home, people, response):
    make, options, outcome = CASES[response]
    frame = with_town(people, response, outcome)
    source = home(frame, response=response, sensitive=SENSITIVE)
    ours = make(0.02, **options).fit(source)
    theirs = make(0.02, sensitive=SENSITIVE, **options).fit(frame[COLUMNS], frame[response])
    assert ours.isolated_ == theirs.isolated_ == {"town[isle]": RARE}
    assert_same_model(ours, theirs, tolerance=1e-7)
    assert ours.dependence_ == pytest.approx(theirs.dependence_, rel=1e-6)
    assert ours.group_differences_ == pytest.approx(theirs.group_differences_, rel=1e-5)


@pytest.mark.slow
def test_levels_elsewhere_are_refused_on_demand(home, people):
    source = home(with_town(people, "hired", "no"), response="hired", sensitive=SENSITIVE)
    with pytest.raises(ValueError, match=r"all rows of 'town\[isle\]' have the same outcome"):
        FairRidgeClassifier(0.02, separation="error").fit(source)
