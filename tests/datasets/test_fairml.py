"""fairml's data sets: the folder, the checksum, the download, and the paper's frames."""

import functools
import http.server
import json
import sys
import tarfile
import threading

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from fairridge.datasets import FAIRML_NAMES, DataUnavailableError, cache, fetch_fairml

# Task in the reference results, data set, arguments that choose it.
TASKS = [
    ("adult.sexage", "adult", {}),
    ("bank", "bank", {}),
    ("communities", "communities.and.crime", {}),
    ("compas", "compas", {}),
    ("compas.bin", "compas", {"family": "binomial"}),
    ("drug.meth", "drug.consumption", {}),
    ("drug.heroin3", "drug.consumption", {"response": "Heroin"}),
    ("german", "german.credit", {}),
    ("german.bin", "german.credit", {"family": "binomial"}),
    ("german.rate", "german.credit", {"response": "Installment_rate"}),
    ("lsac", "law.school.admissions", {}),
    ("nlsy", "national.longitudinal.survey", {}),
    ("obesity", "obesity.levels", {}),
    ("vu.gaussian", "vu.test", {}),
    ("vu.binomial", "vu.test", {"family": "binomial"}),
    ("vu.poisson", "vu.test", {"family": "poisson"}),
    ("vu.multinomial", "vu.test", {"family": "multinomial"}),
    ("vu.cox", "vu.test", {"family": "cox"}),
]


@pytest.fixture
def no_network(monkeypatch):
    """Send every request to a port where nobody listens."""
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
        monkeypatch.setenv(variable.lower(), "http://127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy", cache.VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "name", "choice"), TASKS, ids=[task for task, *_ in TASKS])
def test_frame_is_that_of_the_paper(reference, rda, no_network, task, name, choice):
    data = fetch_fairml(name, data_home=rda, backend="pandas", **choice)
    expected = json.loads((reference / "tasks.json").read_text())[task]
    assert data.family == expected["kind"]
    # The reference renames the one sensitive attribute of this task.
    rename = {"S1": "age"} if task == "bank" else {}
    assert set(data.sensitive) == {rename.get(s, s) for s in expected["sensitive"]}
    response = [data.response] if isinstance(data.response, str) else list(data.response)
    assert response == np.atleast_1d(expected["response"]).tolist()
    values = pd.read_csv(reference / "tasks" / f"{task}.csv.gz", dtype=str, keep_default_na=False)
    values = values.rename(columns=rename)
    assert set(data.frame.columns) == set(values.columns)
    for column, schema in expected["schema"]["columns"].items():
        ours, theirs = data.frame[rename.get(column, column)], values[rename.get(column, column)]
        if schema["type"] == "factor":
            assert list(ours.cat.categories) == schema["levels"]
            assert ours.cat.ordered == schema["ordered"]
            assert ours.tolist() == theirs.tolist()
        else:
            np.testing.assert_allclose(ours, theirs.astype(float), rtol=1e-13, atol=0)


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_other_backends(rda, no_network, backend):
    data = fetch_fairml("national_longitudinal_survey", data_home=rda, backend=backend)
    frame = nw.from_native(data.frame)
    assert str(type(data.frame)).startswith(f"<class '{backend}.")
    assert data.name == "national.longitudinal.survey"
    expected = fetch_fairml("national.longitudinal.survey", data_home=rda, backend="pandas").frame
    assert frame.get_column("grade90").to_list() == expected["grade90"].to_list()


def test_folder_by_environment_variable(rda, no_network, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(rda))
    assert fetch_fairml("compas").frame.shape == (5855, 16)


def test_offline_error_says_both_ways(tmp_path, no_network):
    pytest.importorskip("rdata", reason="the extra `data` is not installed")
    with pytest.raises(DataUnavailableError) as error:
        fetch_fairml("compas", data_home=tmp_path)
    message = str(error.value)
    for part in ("compas.rda", str(tmp_path), "r-project.org", "data_home=", "FAIRRIDGE_DATA"):
        assert part in message
    assert list(tmp_path.iterdir()) == []


def test_wrong_checksum_names_the_file(rda, no_network, tmp_path):
    content = bytearray((rda / "compas.rda").read_bytes())
    content[-1] ^= 1
    (tmp_path / "compas.rda").write_bytes(content)
    with pytest.raises(
        DataUnavailableError, match=r"compas\.rda in .* wrong SHA-256 checksum.*delete"
    ):
        fetch_fairml("compas", data_home=tmp_path)


@pytest.mark.parametrize("package", ["rdata", "pooch"])
def test_missing_package_names_the_extra(tmp_path, no_network, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)  # Python's way to say: not installed
    with pytest.raises(ImportError, match=rf"{package}: pip install 'fairridge\[data\]'"):
        fetch_fairml("compas", data_home=tmp_path)


def test_unknown_name_and_task():
    with pytest.raises(ValueError, match=r"no data set 'health\.retirement'; it has adult"):
        fetch_fairml("health.retirement")
    with pytest.raises(ValueError, match=r"compas is not used with family='cox'.*gaussian"):
        fetch_fairml("compas", family="cox")


# The download, from a server of our own


@pytest.fixture
def package(rda, tmp_path):
    """Fairml's source package, in the folder for old releases, with a file we must not keep."""
    folder = tmp_path / "site" / "Archive"
    folder.mkdir(parents=True)
    secret = tmp_path / "health.retirement.rda"
    secret.write_bytes(b"not to be copied")
    with tarfile.open(folder / "fairml_0.8.tar.gz", "w:gz") as archive:
        for file in (*(rda / f"{name}.rda" for name in FAIRML_NAMES), secret):
            archive.add(file, f"fairml/data/{file.name}")
    return folder / "fairml_0.8.tar.gz"


@pytest.fixture
def server(package, monkeypatch):
    site = package.parents[1]

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{running.server_port}"
        urls = (f"{address}/fairml_0.8.tar.gz", f"{address}/Archive/fairml_0.8.tar.gz")
        monkeypatch.setattr(cache, "URLS", urls)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.slow
def test_download_fills_the_cache_once(server, tmp_path, monkeypatch, capfd):
    home = tmp_path / "home"
    data = fetch_fairml("compas", data_home=home)
    assert data.frame.shape == (5855, 16)
    assert "100%" in capfd.readouterr().err
    assert {file.name for file in home.iterdir()} == {f"{name}.rda" for name in FAIRML_NAMES}
    monkeypatch.setattr(cache, "URLS", ())
    assert fetch_fairml("obesity.levels", data_home=home).frame.shape == (2111, 17)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["another page", "empty", "cut off"])
def test_something_else_than_the_package(server, package, tmp_path, kind):
    half = package.read_bytes()[:100_000]
    package.write_bytes({"another page": b"<html></html>", "empty": b"", "cut off": half}[kind])
    with pytest.raises(DataUnavailableError, match="could not be downloaded"):
        fetch_fairml("compas", data_home=tmp_path / "home", progress=False)


@pytest.mark.slow
def test_changed_file_in_the_package(server, package, tmp_path):
    wrong = tmp_path / "compas.rda"
    wrong.write_bytes(b"changed")
    with tarfile.open(package, "w:gz") as archive:
        for name in FAIRML_NAMES:
            archive.add(wrong, f"fairml/data/{name}.rda")
    home = tmp_path / "home"
    with pytest.raises(DataUnavailableError, match=r"adult\.rda in the downloaded.*wrong"):
        fetch_fairml("compas", data_home=home, progress=False)
    assert list(home.iterdir()) == []
