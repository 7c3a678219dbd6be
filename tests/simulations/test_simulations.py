"""The simulations run, go on where they stopped, and know their populations."""

import pytest

from fairridge import FairRidgeRegressor
from simulations import (
    certificates,
    monitoring,
)
from simulations.__main__ import main
from simulations.populations import (
    GAUSSIAN,
    SENSITIVE,
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


@pytest.mark.parametrize("stream", ["change", "opportunity"])
def test_streams_are_watched_to_their_end(stream):
    reached, rows = (0.12, 14_000) if stream == "change" else (0.03, 2000)
    (found,) = monitoring.sample(0, stream=stream, reached=reached, rows=rows, many=20_000)
    assert found["alarm"] == (stream == "change")


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
    (chunk,) = (tmp_path / "quick" / "certificates").iterdir()
    before = chunk.read_bytes()

    def never(*args, **options):
        raise AssertionError("samples are drawn again")

    monkeypatch.setattr(certificates, "sample", never)
    monkeypatch.setattr(monitoring, "sample", never)
    assert main(options) == 0
    assert chunk.read_bytes() == before
