import os
import subprocess
import sys

import pytest

from fairridge.experiments.settings import Settings


@pytest.fixture(scope="session")
def settings():
    return Settings(runs=2, folds=5)


@pytest.fixture
def offline(tmp_path):
    """An environment without fairml's data, and without a way to get them."""
    empty = tmp_path / "empty"
    empty.mkdir()
    nowhere = "http://127.0.0.1:9"
    return os.environ | {
        "FAIRRIDGE_DATA": str(empty),
        "http_proxy": nowhere,
        "https_proxy": nowhere,
        "no_proxy": "",
    }


@pytest.fixture
def reproduce(offline, tmp_path):
    """Run the command as a process; return what it said."""
    started = []

    def run(*arguments, out="out", wait=True, jobs="1"):
        command = [sys.executable, "-W", "error", "-m", "fairridge.experiments", *arguments]
        command += ["--out", str(tmp_path / out), "--jobs", jobs]
        options = {"env": offline, "text": True, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, **options)
        started.append(process)
        if not wait:
            return process
        said, warned = process.communicate(timeout=300)
        return process.returncode, said, warned

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()
