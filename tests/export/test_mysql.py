"""Queries for MySQL, run by a server: MariaDB, which has another name for one collation."""

import shutil
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from fairridge import FairRidgeClassifier, FairRidgeRegressor
from fairridge.export import to_sql

pymysql = pytest.importorskip("pymysql", reason="the client of MySQL is not installed")
SERVER = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SERVER is None, reason="no MariaDB server is installed"),
]
# Compare bytes, blanks at the end included: MySQL's name and MariaDB's.
COLLATIONS = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
LEVELS = ["a", "it's", "back\\slash", "100%", "ä", "semi;--", 'quo"te', "日本", "%s", "A "]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A server of its own, on a socket in an empty folder, without accounts."""
    folder = tmp_path_factory.mktemp("db")
    (folder / "data").mkdir()
    socket = folder / "s"
    command = [
        SERVER, "--no-defaults", f"--datadir={folder / 'data'}", f"--socket={socket}",
        f"--pid-file={folder / 'pid'}", "--skip-networking", "--skip-grant-tables", "--user=root",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            cursor = _connected(socket, server)
            yield cursor
            cursor.connection.close()
        finally:
            server.terminate()


def _connected(socket, server):
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        if not socket.exists():  # it is made when the server listens
            time.sleep(0.2)
            continue
        cursor = pymysql.connect(unix_socket=str(socket), charset="utf8mb4").cursor()
        cursor.execute("CREATE DATABASE t CHARACTER SET utf8mb4")
        cursor.execute("USE t")
        return cursor
    pytest.skip("the MariaDB server does not start here")


def run(cursor, model, rows):
    kinds = ["DOUBLE" if rows[name].dtype.kind in "iuf" else "VARCHAR(100)" for name in rows]
    names = ["`{}`".format(name.replace("`", "``")) for name in rows]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    cursor.execute("DROP TABLE IF EXISTS data")
    cursor.execute(f"CREATE TABLE data (`id` INT, {columns})")
    places = ", ".join(["%s"] * (1 + len(names)))
    values = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    cursor.executemany(
        f"INSERT INTO data VALUES ({places})", [(k, *row) for k, row in enumerate(values)]
    )
    cursor.execute(to_sql(model, "mysql", keep=["id"]).replace(*COLLATIONS))
    found = pd.DataFrame(cursor.fetchall(), columns=[one[0] for one in cursor.description])
    return found.sort_values("id", ignore_index=True)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 200),
            "we`ird \"n' \\me%": rng.normal(size=200),
            "level": rng.choice(LEVELS, 200),
        }
    )
    eta = X.iloc[:, 1] + (X["sex"] == "m") + 0.3 * rng.normal(size=200)
    return X, eta.to_numpy()


@pytest.mark.parametrize("family", ["gaussian", "poisson", "quasi-binomial"])
def test_numbers(database, people, family):
    X, eta = people
    y = {"gaussian": eta, "poisson": np.exp(eta).round(), "quasi-binomial": (eta > 0) * 0.8 + 0.1}
    model = FairRidgeRegressor(0.05, family=family, sensitive="sex").fit(X, y[family])
    found = run(database, model, X)
    np.testing.assert_allclose(found["prediction"].astype(float), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(("classes", "link"), [(2, "logit"), (2, "cloglog"), (3, "logit")])
def test_classes(database, people, classes, link):
    X, eta = people
    y = np.where(eta > 1, "c", np.where(eta > 0, "b", "b" if classes == 2 else "a"))
    model = FairRidgeClassifier(0.05, sensitive="sex", link=link, predictor_penalty=1.0).fit(X, y)
    found, expected = run(database, model, X), model.predict_proba(X)
    assert (found["prediction"] == model.predict(X)).all()
    for k, label in list(enumerate(model.classes_))[1 if classes == 2 else 0 :]:
        ours = found[f"probability_{label}"].astype(float)
        np.testing.assert_allclose(ours, expected[:, k], rtol=1e-12)


def test_what_cannot_be_predicted_is_null(database, people):
    X, eta = people
    model = FairRidgeRegressor(0.05, sensitive="sex").fit(X, eta)
    rows = X.head(5).copy()
    rows.iloc[0, 1] = np.nan
    rows.loc[1, "level"] = "a "  # not "a"
    rows.loc[2, "level"] = "A"  # nor this
    found = run(database, model, rows)["prediction"]
    assert found.isna().tolist() == [True, True, True, False, False]
