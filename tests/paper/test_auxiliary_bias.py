"""The figure of the paper's section 2.2: a ridge in the auxiliary regression."""

import numpy as np
import pandas as pd
import pytest

from fairridge import KomiyamaRegressor
from fairridge.exceptions import DataWarning
from fairridge.peers import auxiliary_ridge_bias

PENALTIES = [0.0, 1.0, 30.0, 100.0, 500.0, 1000.0, 1e9]


@pytest.fixture(scope="module")
def bias(paper_example):
    S, X, y = paper_example
    with pytest.warns(DataWarning, match="not what it is bounded to be"):
        return auxiliary_ridge_bias(X, y, penalties=PENALTIES, sensitive_features=S)


def by_rows(S, X, y, penalty, r):
    """The model on explicit Ũ, which takes S and Ũ for orthogonal."""
    S, X, y = S - S.mean(0), X - X.mean(0), y - y.mean()
    U = X - S @ np.linalg.solve(S.T @ S + penalty * np.eye(S.shape[1]), S.T @ X)
    alpha = np.linalg.lstsq(S, y, rcond=None)[0]
    beta = np.linalg.lstsq(U, y, rcond=None)[0]
    a, b = np.linalg.norm(S @ alpha), np.linalg.norm(U @ beta)
    t = np.sqrt(r) * a + np.sqrt(1 - r) * b
    return S @ alpha * (np.sqrt(r) * t / a), U @ beta * (np.sqrt(1 - r) * t / b)


def test_variances_are_those_of_the_rows(paper_example, bias):
    S, X, y = paper_example
    for i, penalty in enumerate(PENALTIES):
        for j, r in enumerate(bias.unfairness):
            of_S, of_U = by_rows(S, X, y, penalty, r)
            assert bias.sensitive[i, j] == pytest.approx(of_S.var(), rel=1e-9)
            assert bias.predictors[i, j] == pytest.approx(of_U.var(), rel=1e-9)
            expected = np.mean(of_S * of_U)
            assert bias.covariance[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-9)
            # +2COV: this is what a share of VAR(Sα + Ũβ) is.
            assert bias.actual[i, j] == pytest.approx(of_S.var() / (of_S + of_U).var(), rel=1e-9)


def test_the_model_believes_that_it_meets_the_bound(bias):
    np.testing.assert_allclose(bias.nominal, np.tile(bias.unfairness, (len(PENALTIES), 1)))
    np.testing.assert_allclose(bias.actual[0], bias.unfairness, rtol=1e-12)
    assert (np.diff(bias.actual / bias.nominal, axis=0) < 0.0).all()


def test_leakage_goes_from_nothing_to_everything(paper_example, bias):
    S, X, _ = paper_example
    everything = (S - S.mean(0)).T @ (X - X.mean(0)) / len(S)
    np.testing.assert_array_equal(bias.leakage[0], 0.0)
    np.testing.assert_allclose(bias.leakage[-1], everything, rtol=1e-5)
    sizes = np.abs(bias.leakage).max(axis=(1, 2))
    assert (np.diff(sizes) > 0.0).all()


def test_the_percentages_of_the_paper_need_its_wrong_sign(bias):
    # The range of λ within one standard error ends near 1000 in this example.
    k = PENALTIES.index(500.0)
    printed = bias.printed[k : k + 2] / bias.nominal[k : k + 2] - 1.0
    actual = bias.actual[k : k + 2] / bias.nominal[k : k + 2] - 1.0
    small, large = printed[:, 0], printed[:, 3]
    assert small[0] == pytest.approx(0.0305, abs=0.002)
    assert small[1] == pytest.approx(0.0494, abs=0.002)
    assert large[0] < 0.16 < large[1]
    # With the right sign the share of S is overestimated instead, by less.
    assert (actual < 0.0).all()
    assert (np.abs(actual) < printed).all()


def test_without_a_ridge_it_is_the_model_itself(paper_example, bias):
    S, X, y = paper_example
    for j, r in enumerate(bias.unfairness):
        model = KomiyamaRegressor(r).fit(X, y, sensitive_features=S)
        assert bias.sensitive[0, j] == pytest.approx(np.var(S @ model.alpha_), rel=1e-10)


def test_it_becomes_a_frame(paper_example, bias):
    frame = bias.to_frame(pd)
    assert len(frame) == len(PENALTIES) * 4
    assert {"penalty", "unfairness", "nominal", "actual", "printed", "ratio"} <= set(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalties": [-1.0]}, "penalties=-1.0 must be a number at least 0"),
        ({"penalties": [1.0], "unfairness": [0.0]}, "leaves no share to compare"),
        ({"penalties": [1.0], "unfairness": [2.0]}, "unfairness=2.0 is not a bound"),
    ],
)
def test_bad_arguments_are_named(paper_example, options, message):
    S, X, y = paper_example
    with pytest.raises(ValueError, match=message):
        auxiliary_ridge_bias(X, y, sensitive_features=S, **options)
