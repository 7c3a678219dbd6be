"""What a model bounds, measured on any rows: the same number, its interval, and its words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeRegressor, report
from fairridge.metrics.share_interval import explained_share, loss_share, loss_table


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(0), 1_200
    level = rng.integers(1, 6, n)
    sex = np.where(rng.random(n) < 0.3 + 0.08 * level, "m", "f")
    X = pd.DataFrame({"level": level, "sex": sex, "x": rng.normal(size=n)})
    eta = 0.3 * level + 0.4 * (sex == "m") + 0.5 * X["x"].to_numpy() - 1.0
    y = {
        "numbers": 3.0 + eta + 0.5 * rng.normal(size=n),
        "counts": rng.poisson(np.exp(0.4 * eta)),
        "two": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no"),
        "three": np.array(["lo", "mid", "hi"])[np.digitize(eta + rng.normal(size=n), [0.0, 1.0])],
    }
    return X, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.slow
def test_a_report_states_the_interval_of_what_is_bounded_and_names_the_controls(people):
    X, y, _ = people
    model = FairRidgeRegressor(0.02, sensitive="sex", controls="level").fit(X, y["numbers"])
    page = report(model, X, y["numbers"])
    low, high = page.contents.population.lower, page.contents.population.upper
    said = (
        "with 95 % confidence: Among people of the same level, sex explains between "
        f"{100 * low:.2f} % and {100 * high:.2f} % of what is left of the variance of the "
        "predictions."
    )
    assert said in page.summary
    assert said in page.card
    # The plain share is another number, and is said to be that of everyone.
    plain = page.contents.dependence_shares["share_of_means"].training[page.contents.chosen]
    assert plain > high
    assert "Among everyone, " in page.summary


@pytest.mark.slow
@pytest.mark.parametrize("case", ["given controls", "within classes", "loss"])
def test_intervals_cover(case):
    """Of 400 samples 95 % hold the share of the population, up to three Monte Carlo errors."""
    rng, hits, n = np.random.default_rng(2), 0, 400
    for _ in range(400):
        C, noise = rng.normal(size=(n, 2)), rng.standard_t(8, size=n)
        S = 0.8 * C[:, :1] + rng.normal(size=(n, 1))
        f, among = C[:, 0] + 0.2 * S[:, 0] + 0.7 * noise, rng.random(n) < 0.4
        if case == "given controls":
            truth = 0.04 / (0.04 + 0.49 * 8.0 / 6.0)
            found, _ = explained_share([(f[:, None], np.ones(n))], S, C, 0.95)
        elif case == "within classes":
            s = S * (1.0 + among[:, None])
            g = 0.2 * s[:, 0] + 0.7 * noise + among
            by_s = 0.04 * 1.64 * (0.4 * 4.0 + 0.6)
            truth = by_s / (by_s + 0.49 * 8.0 / 6.0)
            parts = [(g[:, None], 1.0 * among), (g[:, None], 1.0 * ~among)]
            found, _ = explained_share(parts, s, S[:, :0], 0.95)
        else:
            steps = rng.exponential(1.0, size=(n, 3)) - np.array([0.0, 0.9, 0.5])
            losses = np.cumsum(steps, axis=1)
            truth = 0.1 / 0.6
            found = loss_share(loss_table(losses, np.ones(n)), 0.95)
        hits += found.low <= truth <= found.high
    assert abs(hits / 400 - 0.95) < 3.0 * np.sqrt(0.95 * 0.05 / 400)
