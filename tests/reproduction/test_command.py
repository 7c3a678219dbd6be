"""The command line, as a real process on the data that ship and on the synthetic examples."""

import csv
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest

from reproduction.__main__ import main

SMALL = ("definitions", "--runs", "30")


def tables(folder):
    return {path.name: path.read_bytes() for path in (folder / "tables").glob("*.csv")}


def parts(folder):
    return sorted((folder / "cache").rglob("output.pkl"))


@pytest.mark.slow
def test_quick_mode_offline(reproduce, tmp_path):
    code, said, warned = reproduce("all", "--quick", jobs="2")
    assert code == 0, warned
    out = tmp_path / "out"
    written = {path.stem for path in (out / "tables").iterdir()}
    always = {"bias", "profiles", "ridge", "definitions", "fgrrm", "f1"}
    assert always <= written
    assert not {"rmse", "training-rmse", "steinberg"} & written
    for name in always:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / "figures" / f"{name}.svg").read_bytes()
    # What needs fetched data says so, with that word.
    assert "linear on COMPAS: skipped" in warned
    assert "steinberg on LSAC, race: skipped" in warned
    page = (out / "index.md").read_text(encoding="utf-8")
    assert "`linear`: skipped on C&C, COMPAS, NLSY, LSAC, GCR" in page
    assert "`profiles`: skipped on vu.test" in page
    assert "data:image/png;base64," in (out / "index.html").read_text(encoding="utf-8")
    with (out / "claims.csv").open(encoding="utf-8") as file:
        claims = {row["claim"]: row for row in csv.DictReader(file)}
    steinberg = claims["frrm_below_steinberg"]
    assert claims["frrm_below_nclm"]["verdict"] == steinberg["verdict"] == "not computed"
    assert "compas.rda" in steinberg["measured"]
    assert "communities.and.crime.rda" not in steinberg["measured"]
    assert claims["frrm_beta_constant"]["verdict"] == "holds"
    assert claims["quasi_binomial_beta_constant"]["verdict"] == "does not hold"
    found = pd.read_csv(out / "tables" / "f1.csv")
    assert found["case"].unique().tolist() == ["ADULT", "ADULT, isolated"]
    assert "statements: " in said
    # Nothing is computed or written again where nothing has changed.
    written = (out / "index.html").stat().st_mtime_ns
    code, said, warned = reproduce("all", "--quick", jobs="2")
    assert code == 0, warned
    assert said.startswith("Nothing has changed.")
    assert (out / "index.html").stat().st_mtime_ns == written
    # The page alone is written from what is there.
    before = {path: path.stat().st_mtime_ns for path in parts(out)}
    (out / "index.html").unlink()
    code, _, warned = reproduce("page", "--quick")
    assert code == 0, warned
    assert (out / "index.html").exists()
    assert {path: path.stat().st_mtime_ns for path in parts(out)} == before


@pytest.mark.slow
def test_a_killed_run_goes_on(reproduce, tmp_path):
    whole = reproduce(*SMALL, out="whole")
    assert whole[0] == 0, whole[2]
    process = reproduce(*SMALL, out="broken", wait=False)
    broken = tmp_path / "broken"
    _wait_for(lambda: len(parts(broken)) >= 2, process)
    process.kill()
    process.communicate()
    done = parts(broken)
    assert 2 <= len(done) < 30
    assert not (broken / "tables").exists()
    before = {path: path.stat().st_mtime_ns for path in done}
    code, _, warned = reproduce(*SMALL, out="broken")
    assert code == 0
    assert f"/{30 - len(done)} [" in warned
    assert {path: path.stat().st_mtime_ns for path in done} == before
    assert tables(broken) == tables(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_what_is_kept(reproduce, tmp_path, name):
    process = reproduce(*SMALL, wait=False)
    out = tmp_path / "out"
    _wait_for(lambda: len(parts(out)) >= 1, process)
    process.send_signal(name)
    _, warned = process.communicate(timeout=30)
    assert process.returncode == 130
    kept = len(parts(out))
    assert f"Interrupted: {kept} of 30 parts are kept." in warned
    assert "The same command goes on from here." in warned
    assert "Traceback" not in warned


@pytest.mark.slow
def test_a_terminated_run_leaves_no_workers(reproduce, tmp_path):
    process = reproduce("bias", "--runs", "30", wait=False, jobs="2")
    _wait_for(lambda: len(parts(tmp_path / "out")) >= 1, process)
    workers = [child for child in psutil.Process(process.pid).children() if child.is_running()]
    assert len(workers) >= 2
    process.send_signal(signal.SIGTERM)
    _, warned = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command goes on from here." in warned
    assert not psutil.wait_procs(workers, timeout=10)[1]


@pytest.mark.slow
def test_a_damaged_part_is_computed_again(tmp_path, capsys):
    options = ["--runs", "2", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["definitions", *options]) == 0
    whole = tables(tmp_path)
    for name, then in (("definitions", "computed again"), ("profiles", "left out")):
        broken = parts(tmp_path)[1]
        broken.write_bytes(broken.read_bytes()[:-100])
        capsys.readouterr()
        assert main([name, *options]) == 0
        assert re.search(rf"definitions, example, [01] cannot be read, and is {then}\n",
                         capsys.readouterr().err)  # fmt: skip
        assert (tables(tmp_path)["definitions.csv"] == whole["definitions.csv"]) == (
            name == "definitions"
        )
    assert main(["definitions", *options]) == 0
    assert {name: tables(tmp_path)[name] for name in whole} == whole


@pytest.mark.parametrize("option", ["--out", "--docs"])
def test_a_file_instead_of_a_folder_is_refused(tmp_path, capsys, option):
    (tmp_path / "file").write_text("mine")
    options = ["--out", str(tmp_path / "out"), option, str(tmp_path / "file")]
    assert main(["definitions", "--runs", "1", "--jobs", "1", *options]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{tmp_path / 'file'} " in said
    assert f"by {option}" in said


def _wait_for(condition, process):
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("option", ["--out", "--docs"])
def test_the_folder_of_the_data_is_not_written_to(tmp_path, capsys, option):
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "link").symlink_to(data)
    options = {"--out": tmp_path / "out"} | {option: tmp_path / "link"}
    given = [str(item) for pair in options.items() for item in pair]
    assert main(["bias", "--data", str(data), *given]) == 2
    assert "folder of the data" in capsys.readouterr().err
    assert not list(data.iterdir())


@pytest.mark.slow
def test_results_depend_on_the_seed_alone(reproduce, tmp_path, capsys):
    def run(out, *options):
        return main(["definitions", "--runs", "3", "--out", str(tmp_path / out), *options])

    assert run("one", "--jobs", "1") == 0
    assert reproduce("definitions", "--runs", "3", out="two", jobs="2")[0] == 0
    assert run("other", "--jobs", "1", "--seed", "7") == 0
    assert tables(tmp_path / "one") == tables(tmp_path / "two")
    assert tables(tmp_path / "one") != tables(tmp_path / "other")
    assert run("other", "--seed", "8") == 2
    assert "results of other settings (seed: 7 there, 8 now)" in capsys.readouterr().err


@pytest.mark.slow
def test_docs_get_the_page_and_its_figures(tmp_path):
    docs = tmp_path / "docs"
    options = ["--runs", "1", "--jobs", "1", "--out", str(tmp_path / "out"), "--docs", str(docs)]
    assert main(["definitions", *options]) == 0
    page = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert "(img/reproduction/definitions.png)" in page
    assert (docs / "img" / "reproduction" / "definitions.png").exists()


@pytest.mark.slow
def test_earlier_results_stay_on_the_page(tmp_path):
    options = ["--runs", "1", "--jobs", "1", "--out", str(tmp_path)]
    for name in ("definitions", "profiles"):
        assert main([name, *options]) == 0
    assert {"definitions.csv", "profiles.csv"} <= set(tables(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--list"], 0, "logistic-profiles"),
        (["lineal"], 2, "no experiment 'lineal'; there are datasets, bias"),
        (["bias", "--runs", "0"], 2, "0 is not a positive number"),
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


@pytest.mark.parametrize("option", ["--help", "--list"])
def test_what_there_is_needs_no_extra(option):
    """Drawing, formulas and progress are blocked, as after a plain install."""
    code = (
        "import runpy, sys\n"
        "for name in ('matplotlib', 'latex2mathml', 'markdown_it', 'tqdm', 'fairlearn'):\n"
        "    sys.modules[name] = None\n"
        f"sys.argv = ['reproduction', {option!r}]\n"
        "runpy.run_module('reproduction', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--list" in done.stdout or "linear" in done.stdout
