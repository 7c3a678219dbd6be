"""What S explains of a blind model on other rows: the move is that of leaving rows out."""

import sys

import numpy as np

from fairridge import FairRidgeClassifier
from fairridge.estimators._training import read_training
from fairridge.inference.optimism import optimism
from simulations.rates import draw_controlled

N, R = 150, 0.1


def model():
    return FairRidgeClassifier(
        R, sensitive=[0], controls=[1], blind=True, definition="mean-parity"
    )  # fmt: skip


def residuals(columns, values):
    return values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]


def left_out(Z, y):
    """κ from refits without one row each: −Σ s_i(t_i − t_i without i)/(n·b)."""
    w = np.column_stack([np.ones(N), Z[:, 1]])
    s = residuals(w, Z[:, 0])
    s /= np.sqrt(np.mean(s * s))
    with_s = np.column_stack([w, s])

    def probabilities(rows):
        return model().fit(Z[rows], y[rows]).predict_proba(Z)[:, 1]

    everyone = np.arange(N)
    f = probabilities(everyone)
    t = residuals(with_s, f)
    moved = [t[i] - residuals(with_s, probabilities(everyone != i))[i] for i in everyone]
    return -np.mean(s * moved) / np.mean(s * f)


def test_it_is_what_leaving_rows_out_shows():
    Z, y = draw_controlled(N, np.random.default_rng(3))
    fitted = model()
    training = read_training(fitted, Z, y, None, None, None)
    problem = fitted._set_up(training)
    (solution,) = problem.solve(np.array([R]))
    found = optimism(problem, solution.fit)
    assert found > 0.0
    np.testing.assert_allclose(found, left_out(Z, y), rtol=0.1)


def test_certificates_are_smaller_for_it(monkeypatch):
    Z, y = draw_controlled(N, np.random.default_rng(3))
    certified = model().set_params(confidence=0.9, unfairness=R)
    with_it = certified.fit(Z, y).certificate_.training_bound
    monkeypatch.setattr(sys.modules["fairridge.inference.certify"], "optimism", lambda *_: 0.0)
    assert with_it < certified.fit(Z, y).certificate_.training_bound
