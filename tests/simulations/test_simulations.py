"""The simulations run, go on where they stopped, and know their populations."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from fairridge import FairRidgeClassifier, FairRidgeRegressor, audit
from fairridge.exceptions import BoundWarning
from simulations import (
    audits,
    certificates,
    coverage,
    decisions,
    intervals,
    monitoring,
    rates,
    runner,
    stacking,
)
from simulations.__main__ import main
from simulations.populations import (
    GAUSSIAN,
    SENSITIVE,
    LogisticPopulation,
    draw,
    population_rows,
    share,
)

STREAM = [{"stream": "skewed", "reached": 0.12, "rows": 1000, "many": 20_000}]


def test_the_gaussian_population_is_known_exactly():
    rows = population_rows("gaussian", 400_000)
    model = FairRidgeRegressor(0.1, sensitive=SENSITIVE).fit(rows.Z, rows.y)
    assert GAUSSIAN.share(model.coef_) == pytest.approx(0.1, abs=0.003)
    assert GAUSSIAN.loss(model.coef_) == pytest.approx(model.deviance_ / 400_000, rel=0.01)
    assert share(model.predict(rows.Z), rows.Z[:, SENSITIVE]) == pytest.approx(0.1, abs=1e-6)


def test_the_binomial_population_is_measured_as_predictions_are():
    rows = population_rows("binomial", 5000)
    model = FairRidgeClassifier(0.1, sensitive=SENSITIVE).fit(rows.Z, rows.y)
    reached, loss = LogisticPopulation.of(rows).judged(model.intercept_[0], model.coef_[0])
    probability = model.predict_proba(rows.Z)[:, 1]
    assert reached == pytest.approx(share(probability, rows.Z[:, SENSITIVE]), rel=1e-9)
    assert loss == pytest.approx(log_loss(rows.y, probability), rel=1e-9)


def test_errors_that_take_u_and_lambda_as_given_are_least_squares_without_a_bound():
    rows = draw("gaussian", 500, np.random.default_rng(0))
    model = FairRidgeRegressor(1.0, sensitive=SENSITIVE).fit(rows.Z, rows.y)
    Z = np.column_stack([np.ones(500), rows.Z])
    residual = rows.y - model.predict(rows.Z)
    inverse = np.linalg.inv(Z.T @ Z)
    expected = np.sqrt(np.diag(inverse @ (Z.T * residual**2) @ Z @ inverse))[1:]
    found = coverage.naive(model, rows, "gaussian")
    # The coefficients of X are those of least squares, B being estimated or not.
    np.testing.assert_allclose([found[f"raw {k}"] for k in range(3, 7)], expected[3:], rtol=1e-8)


@pytest.mark.slow
def test_samples_say_what_tables_count():
    found = pd.DataFrame(certificates.sample(0, family="gaussian", n=1000, bound=0.05))
    assert found["way"].tolist() == list(certificates.WAYS)
    plain, certified = (found.iloc[k] for k in (0, 1))
    assert plain["training_bound"] == pytest.approx(0.05)
    assert certified["training_bound"] < 0.04
    assert certified["loss"] > plain["loss"]
    rows = pd.DataFrame(coverage.sample(0, family="gaussian", n=200, many=20_000))
    assert set(rows["method"]) == {"HC1", "HC3", "λ and U as given", "bootstrap"}
    assert monitoring.exceeds(monitoring.model_of(0.12, 50_000), draw_rows(20_000))
    assert not monitoring.exceeds(monitoring.model_of(0.03, 50_000), draw_rows(20_000))
    assert set(decisions.draw(400, np.random.default_rng(1))[1]) == {"yes", "no"}


def test_lognormal_scores_have_the_share_that_they_are_drawn_for():
    rng = np.random.default_rng(0)
    s = (rng.random(400_000) < 0.4).astype(float)
    # Variances within groups are known; squares are too heavy-tailed to be averaged.
    for reached in (0.03, 0.12):
        gap = monitoring.lognormal_gap(reached)
        means = np.exp(0.5 + gap * s)
        variance = np.exp(1.0 + 2 * gap * s) * (np.e - 1.0)
        assert means.var() / (means.var() + variance.mean()) == pytest.approx(reached, rel=0.02)


@pytest.mark.parametrize("stream", ["change", "opportunity", "controls", "lognormal"])
def test_streams_are_watched_to_their_end(stream):
    reached, rows = (0.12, 14_000) if stream == "change" else (0.03, 2000)
    (found,) = monitoring.sample(0, stream=stream, reached=reached, rows=rows, many=20_000)
    assert found["alarm"] == (stream == "change")


@pytest.mark.slow
def test_a_third_group_breaks_the_rule_and_is_not_granted():
    (X, y), third = decisions.many_rows(50_000, 0.02), {"third": 0.02, "many": 20_000}
    model = FairRidgeClassifier(0.0, sensitive=["group"], definition="mean-parity").fit(X, y)
    rates = pd.Series(model.predict_proba(X)[:, 1] > 0.5).groupby(X["group"].to_numpy()).mean()
    assert 0.3 < rates["c"] / rates.max() < 0.5
    with pytest.warns(BoundWarning):
        found = decisions.sample(0, rule="impact ratio ≥ 0.8", n=600, held=600, **third)
    ways = {one["way"]: one["granted"] for one in found}
    assert not ways["tested in sequence"]


@pytest.mark.slow
def test_intervals_of_unfairness_have_a_width():
    for setting in intervals.SETTINGS:
        (row,) = intervals.sample(0, **setting)
        assert 0.0 < row["width"] < 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairridge.exceptions.BoundWarning")
def test_stacked_models_are_made_in_every_way():
    found = pd.DataFrame(stacking.sample(0, n=300, blind=False, many=1024))
    assert found["way"].tolist()[:4] == [
        "learners of other rows",
        "split",
        "out-of-fold",
        "average",
    ]
    bounds = found.set_index("way")["training_bound"]
    assert bounds["out-of-fold"] == pytest.approx(bounds["average"], abs=1e-6)
    assert bounds["split"] < bounds["out-of-fold"] < stacking.BOUND
    # Points of the sequence stand for many more rows.
    many, _ = stacking.people(np.random.default_rng(0).random((2**18, 5)))
    assert np.abs(stacking.many_rows(2**12).mean(axis=0) - many.mean(axis=0)).max() < 0.01


def test_worst_groups_are_those_of_an_audit():
    rng, share = np.random.default_rng(3), np.array([0.5, 0.3, 0.4])
    found = audits.audited(share, 20, np.random.default_rng(3))
    chosen = rng.random((3, 20)) < share[:, None]
    scores = np.where(chosen, 0.9, 0.1).ravel()
    y, group = np.tile([0, 1], 30), np.repeat(["a", "b", "c"], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the scores rank nobody
        theirs = audit(y, scores, sensitive_features=group[:, None], small=1, favorable=1)
    for ours, named in zip(found[:2], (theirs.parity_ratio, theirs.parity_difference), strict=True):
        assert ours[1] == named


def draw_rows(n):
    return draw("gaussian", n, np.random.default_rng(5)).Z


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    """Small settings: the page has a plot for each experiment, and a table beside it."""
    monkeypatch.setattr(certificates, "SETTINGS", [{"family": "gaussian", "n": 200, "bound": 0.05}])
    monkeypatch.setattr(monitoring, "SETTINGS", STREAM)
    options = ["certificates", "monitoring", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    assert main(options) == 0
    assert "simulations.md" in capsys.readouterr().out
    page = (tmp_path / "simulations.md").read_text(encoding="utf-8")
    for name in ("certificates", "monitoring"):
        assert (tmp_path / f"img/simulations/{name}.png").stat().st_size > 5000
        assert f"(img/simulations/{name}.png)" in page
        assert f"(img/simulations/{name}.csv)" in page
    table = (tmp_path / "img/simulations/certificates.csv").read_text(encoding="utf-8")
    share = r"\d+\.\d % \(\d+\.\d %\)"
    assert re.search(rf"^gaussian,200,0.05,{share},{share},", table, re.MULTILINE)
    (chunk,) = (tmp_path / "quick" / "certificates").iterdir()
    before = chunk.read_bytes()

    def never(*args, **options):
        raise AssertionError("samples are drawn again")

    monkeypatch.setattr(certificates, "sample", never)
    monkeypatch.setattr(monitoring, "sample", never)
    assert main(options) == 0
    assert chunk.read_bytes() == before
    (tmp_path / "file").write_text("")
    assert main(["--out", str(tmp_path / "file")]) == 2


def test_chunks_cover_every_seed_once():
    for name, module in runner.EXPERIMENTS.items():
        chunks = runner.chunks_of(name, quick=False)
        each = {}
        for chunk in chunks:
            each.setdefault(str(chunk.setting), []).extend(range(chunk.start, chunk.stop))
        assert len(each) == len(module.SETTINGS)
        assert all(sorted(seeds) == list(range(len(seeds))) for seeds in each.values())
        assert min(len(seeds) for seeds in each.values()) >= 100
        assert len({chunk.path(runner.Path("x")) for chunk in chunks}) == len(chunks)


def test_rates_are_judged_in_a_population_of_exposures():
    (found,) = rates.sample(0, model=rates.RATES, n=1000, many=20_000)
    assert found["total"] == pytest.approx(1.0, abs=1e-10)
    assert found["training_bound"] < rates.BOUND
    Z, _, exposure, truth = rates.population(20_000)
    means = np.exp(truth[0] + Z @ truth[1:])
    assert rates.share(means, Z[:, 0], exposure) == pytest.approx(rates.BOUND, abs=1e-10)


def test_partial_shares_in_the_population_are_known():
    Z, y = rates.draw_controlled(100_000, np.random.default_rng(0))
    model = FairRidgeClassifier(
        0.05, sensitive=[0], controls=[1], definition="mean-parity", blind=True
    ).fit(Z, y)
    known = rates.controlled_share(float(model.intercept_[0]), np.append(0.0, model.coef_))
    assert known == pytest.approx(0.05, abs=4 * 0.2 * np.sqrt(0.95 / 100_000) * 2)


def test_coverage_is_that_of_rates_alone():
    rows = [
        {"seed": 0, "model": rates.RATES, "n": 9, "granted": True, "exceeds": True,
         "reached": 0.06, "training_bound": 0.04, "intercept": True, "s": False, "x1": True,
         "x2": True},
        {"seed": 0, "model": rates.BLIND, "n": 9, "granted": True, "exceeds": False,
         "reached": 0.03, "training_bound": 0.04},
    ]  # fmt: skip
    found = rates.table(pd.DataFrame(rows)).set_index("model")
    assert found.loc[rates.RATES, ["violated", "s", "x1"]].tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(found.loc[rates.BLIND, "s"])
