"""The command line, as a real process on the data that ship and on the synthetic examples."""

import csv
import signal
import time

import psutil
import pytest

from reproduction.__main__ import main


def tables(folder):
    return {path.name: path.read_bytes() for path in (folder / "tables").glob("*.csv")}


def parts(folder):
    return sorted((folder / "cache").rglob("output.pkl"))


@pytest.mark.slow
def test_quick_mode_offline(reproduce, tmp_path):
    names = (
        "bias",
        "profiles",
        "logistic-profiles",
        "definitions",
        "checks",
        "linear",
        "steinberg",
    )
    process = reproduce(*names, "--quick", jobs="2")
    said, warned = process.communicate(timeout=300)
    assert process.returncode == 0, warned
    out = tmp_path / "out"
    written = {path.stem for path in (out / "tables").iterdir()}
    always = {"bias", "profiles", "ridge", "definitions", "fgrrm"}
    assert always <= written
    assert not {"rmse", "training-rmse", "steinberg"} & written
    for name in always:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / "figures" / f"{name}.svg").read_bytes()
    # What needs fetched data says so, with that word.
    assert "linear on COMPAS: skipped" in warned
    page = (out / "index.md").read_text(encoding="utf-8")
    assert "`linear`: skipped on C&C, COMPAS, NLSY, LSAC, GCR" in page
    assert "data:image/png;base64," in (out / "index.html").read_text(encoding="utf-8")
    with (out / "claims.csv").open(encoding="utf-8") as file:
        claims = {row["claim"]: row for row in csv.DictReader(file)}
    assert claims["frrm_below_steinberg"]["verdict"] == "not computed"
    assert "compas.rda" in claims["frrm_below_steinberg"]["measured"]
    assert claims["frrm_beta_constant"]["verdict"] == "holds"
    assert claims["quasi_binomial_beta_constant"]["verdict"] == "does not hold"
    # Nothing is computed or written again where nothing has changed.
    said, _ = reproduce(*names, "--quick").communicate(timeout=300)
    assert said.startswith("Nothing has changed.")


@pytest.mark.slow
def test_a_stopped_run_leaves_no_workers_and_goes_on(reproduce, tmp_path):
    process = reproduce("definitions", "--runs", "12", out="broken", jobs="2")
    broken = tmp_path / "broken"
    end = time.monotonic() + 60
    while len(parts(broken)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGTERM)
    _, warned = process.communicate(timeout=30)
    assert process.returncode == 130
    assert not psutil.wait_procs(workers, timeout=10)[1]
    done = parts(broken)
    assert f"Interrupted: {len(done)} of 12 parts are kept." in warned
    assert "The same command goes on from here." in warned
    assert not (broken / "tables").exists()
    options = ["definitions", "--runs", "12", "--jobs", "1"]
    before = {path: path.stat().st_mtime_ns for path in done}
    assert main([*options, "--out", str(broken)]) == 0
    assert {path: path.stat().st_mtime_ns for path in done} == before
    assert main([*options, "--out", str(tmp_path / "whole")]) == 0
    assert tables(broken) == tables(tmp_path / "whole")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--list"], 0, "logistic-profiles"),
        (["lineal"], 2, "no experiment 'lineal'; there are datasets, bias"),
        (["bias", "--runs", "0"], 2, "0 is not a positive number"),
        (["bias", "--out", __file__], 2, "cannot hold results"),
    ],
)
def test_usage(capsys, arguments, code, said):
    try:
        found = main(arguments)
    except SystemExit as stop:
        found = stop.code
    assert found == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
