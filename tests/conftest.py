"""Fixtures shared by all tests."""

import gzip
import io
import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from tests.chromium import Chromium, find_chromium
from tests.zoo import LIBRARIES

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared" / "reference"

os.environ.setdefault("MPLBACKEND", "agg")  # for pictures that nobody looks at
settings.register_profile(
    "fairridge", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairridge")


class Reference:
    """R fairml's answers on real data, kept beside the repository because of their licenses."""

    def json(self, name):
        return json.loads(self._path(name).read_text())

    def task(self, name):
        """Return the description and the frame of a task, with R's level order."""
        task = self.json("tasks.json")[name]
        text = gzip.decompress(self._path(task["file"]).read_bytes()).decode()
        schemas = task["schema"]["columns"].items()
        levels = {name: one["levels"] for name, one in schemas if one["type"] == "factor"}
        # As text: levels such as TRUE would be read as something else.
        frame = pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(levels, str))
        for column, known in levels.items():
            frame[column] = pd.Categorical(frame[column], categories=known)
        return task, frame

    def _path(self, name):
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"reference data are not here: shared/reference/{name}")
        return path


@pytest.fixture(scope="session")
def reference():
    return Reference()


@pytest.fixture(scope="session")
def browser():
    tab = Chromium(find_chromium())
    yield tab
    tab.close()


@pytest.fixture(scope="session")
def people():
    return pd.read_csv(HERE / "reference" / "people.csv")


@pytest.fixture(scope="session")
def people_answers():
    return json.loads((HERE / "reference" / "people_fairml.json").read_text())


@pytest.fixture(scope="session")
def paper_example():
    """The example of the paper's section 2.2: three predictors, three sensitive attributes."""
    rng = np.random.default_rng(2022)
    covariance = np.full((6, 6), 0.3) + 0.7 * np.eye(6)
    # The default, an SVD, has signs that differ between versions of LAPACK.
    Z = rng.multivariate_normal(np.zeros(6), covariance, size=1000, method="cholesky")
    X, S = Z[:, :3], Z[:, 3:]
    y = X @ [2.0, 3.0, 4.0] + S @ [5.0, 6.0, 7.0] + rng.normal(scale=10.0, size=1000)
    return S, X, y


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Name of a frame library."""
    return request.param


@pytest.fixture
def frame_of(library):
    """Return a function from a dict of columns to a frame of each library in turn."""
    return LIBRARIES[library]


@pytest.fixture
def device(tmp_path_factory):
    """Return /dev/null or /dev/full by name: for the superuser, who could replace it, a double."""

    def place(name):
        if os.geteuid() != 0:
            return f"/dev/{name}"
        double = tmp_path_factory.mktemp("device") / name
        number = os.makedev(1, {"null": 3, "full": 7}[name])
        try:
            os.mknod(double, stat.S_IFCHR | 0o666, number)
            open(double, "wb").close()
        except PermissionError:
            pytest.skip("devices cannot be made here")
        return str(double)

    return place
