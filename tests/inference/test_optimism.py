"""What S explains of a blind model on other rows: the move is that of leaving rows out."""

import numpy as np
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.estimators._training import read_training
from fairridge.inference.optimism import optimism
from fairridge.inference.scores import explained_scores
from simulations.rates import draw_controlled

N, R = 150, 0.1


def model():
    return FairRidgeClassifier(
        R, sensitive=[0], controls=[1], blind=True, definition="mean-parity"
    )  # fmt: skip


def residuals(columns, values):
    return values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]


def left_out(scores, w, s):
    """κ from refits without one row each: −Σ s_i(t_i − t_i without i)/(n·b)."""
    s = residuals(w, s)
    s /= np.sqrt(np.mean(s * s))
    with_s = np.column_stack([w, s])
    everyone = np.arange(len(s))
    f = scores(everyone)
    t = residuals(with_s, f)
    moved = [t[i] - residuals(with_s, scores(everyone != i))[i] for i in everyone]
    return -np.mean(s * moved) / np.mean(s * f)


def optimism_of(fitted, Z, y):
    _, problem = fitted._set_up(read_training(fitted, Z, y, None, None, None))
    (solution,) = problem.solve(np.array([R]))
    linear = isinstance(fitted, FairRidgeRegressor)
    means = None if linear else problem.definition.means(solution.fit)
    (seen,) = explained_scores([solution.fit], problem.engine, means)
    return np.linalg.norm(optimism(problem, solution.fit, seen)) / np.linalg.norm(seen.coefficients)


@pytest.mark.slow
def test_it_is_what_leaving_rows_out_shows():
    Z, y = draw_controlled(N, np.random.default_rng(3))
    found = optimism_of(model(), Z, y)

    def probabilities(rows):
        return model().fit(Z[rows], y[rows]).predict_proba(Z)[:, 1]

    assert found > 0.0
    known = left_out(probabilities, np.column_stack([np.ones(N), Z[:, 1]]), Z[:, 0])
    np.testing.assert_allclose(found, known, rtol=0.03)
