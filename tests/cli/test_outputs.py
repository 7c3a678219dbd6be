"""Where commands write: never onto what they read, and CSV that spreadsheets do not execute."""

import os
import shlex
from pathlib import Path

import pandas as pd
import pytest

import fairridge
from fairridge import FairRidgeRegressor


@pytest.fixture
def files(folder):
    """Data, a model, and other names for both."""
    table = pd.DataFrame(
        {"y": [1, 2, 3, 4, 5, 0.5], "s": list("ababab"), "x": [2, 1, 4, 3, 7, 2.5]}
    )
    table.to_csv("d.csv", index=False)
    os.mkdir("parts")
    table[:3].to_parquet("parts/1.parquet")
    table[3:].to_parquet("parts/2.parquet")
    os.symlink("d.csv", "link.csv")
    os.link("d.csv", "hard.csv")
    os.link("parts/1.parquet", "hard.parquet")
    os.symlink("parts", "folder")
    fairridge.save(FairRidgeRegressor(sensitive=["s"]).fit(table[["s", "x"]], table["y"]), "m.json")
    os.symlink("m.json", "model-link.json")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "fit d.csv -y y -s s -o d.csv",
        "path d.csv -y y -s s --plot hard.csv",
        "report d.csv -y y -m m.json -o model-link.json",
        "predict d.csv -m m.json -o ./d.csv",
        "audit d.csv -p x -y y -s s -o link.csv",
        "compare d.csv -y y -s s -o hard.csv",
        "fit 'parts/*.parquet' -y y -s s -o hard.parquet",
        "predict parts --stream -m m.json -o folder/1.parquet",
        # It would be one of the inputs of the next run.
        "predict parts --stream -m m.json -o folder/new.parquet",
    ],
)
def test_inputs_are_not_overwritten(run, files, command):
    def contents():
        places = sorted(item for item in files.rglob("*") if item.is_file())
        return {item: (item.is_symlink(), item.read_bytes()) for item in places}

    before = contents()
    shown = run(*shlex.split(command))
    assert shown.code == 2
    assert shown.error.count("\n") == 1
    assert "input" in shown.error
    assert contents() == before


@pytest.mark.parametrize(
    ("command", "out"),
    [
        ("fit d.csv -y y -s s -o", "o.json"),
        ("report d.csv -y y -s s --cv 0 --bootstrap 0 -o", "o.html"),
        ("predict d.csv -m m.json -o", "o.csv"),
        ("predict d.csv -m m.json -o", "o.parquet"),
    ],
)
def test_links_stay_and_permissions_too(run, files, command, out):
    place = Path(f"real-{out}")
    place.write_text("old")
    place.chmod(0o640)
    Path(out).symlink_to(place)
    shown = run(*shlex.split(command), out)
    assert shown.code == 0, shown.error
    assert Path(out).is_symlink()
    assert place.read_bytes() != b"old"
    assert place.stat().st_mode & 0o777 == 0o640
    assert not [item for item in os.listdir() if item.startswith(".")]


def test_two_outputs_need_two_files(run, files):
    shown = run("path", "d.csv", "-y", "y", "-s", "s", "-o", "a", "--plot", "./a")
    assert shown.code == 2
    assert "--out and --plot name the same file" in shown.error


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "fit d.csv -y y -s s -o",
        "report d.csv -y y -s s --cv 0 --bootstrap 0 -o",
    ],
)
def test_devices_are_written_to(run, files, device, command):
    null, full = device("null"), device("full")
    assert run(*shlex.split(command), null).code == 0
    shown = run(*shlex.split(command), full)
    assert (shown.code, shown.out) == (2, "")
    last = shown.error.splitlines()[-1]
    assert last == f"fairridge: {full}: no space is left on the device."
    assert Path(null).is_char_device()
    assert Path(full).is_char_device()


FORMULAS = ["=1+1", "+1", "-1", "@sum", "\tx", "plain", "a=b", "'quoted", None]


def test_safe_csv(run, files):
    """Text that a spreadsheet would execute gets an apostrophe; numbers do not."""
    pd.DataFrame({"s": list("ababababa"), "x": [-2, 1, 4, 3, 7, 2.5, 1, 1, 0], "=cell": FORMULAS})\
        .to_parquet("new.parquet")  # fmt: skip
    run("predict", "new.parquet", "-m", "m.json", "-o", "plain.csv")
    run("predict", "new.parquet", "-m", "m.json", "-o", "safe.csv", "--safe-csv")
    plain, safe = (pd.read_csv(f"{name}.csv", keep_default_na=False) for name in ("plain", "safe"))
    assert list(safe) == ["s", "x", "'=cell", "prediction"]
    assert plain["=cell"].tolist() == [text or "" for text in FORMULAS]
    assert safe["'=cell"].tolist() == [
        "'=1+1", "'+1", "'-1", "'@sum", "'\tx", "plain", "a=b", "'quoted", "",
    ]  # fmt: skip
    assert safe["x"].tolist() == plain["x"].tolist()
    assert safe["prediction"].tolist() == plain["prediction"].tolist()
    shown = run("predict", "new.parquet", "-m", "m.json", "--safe-csv").out
    assert shown == Path("safe.csv").read_bytes().decode()


def test_every_command_that_writes_csv_can_be_safe(run, files):
    pd.read_csv("d.csv").replace({"s": {"a": "=a"}}).to_csv("e.csv", index=False)
    for command in (
        "path e.csv -y y -s s --bounds 0,1",
        "audit e.csv -p x -y y -s s",
        "compare e.csv -y y -s s --models FRRM --cv 2",
        "datasets rossi",
    ):
        shown = run(*shlex.split(command), "--out", "o.csv", "--safe-csv")
        assert shown.code == 0, shown.error
    run("audit", "e.csv", "-p", "x", "-y", "y", "-s", "s", "--out", "o.csv", "--safe-csv")
    assert "'=a" in pd.read_csv("o.csv")["group"].tolist()


def test_compressed_csv(run, files):
    pd.read_csv("d.csv").to_csv("d.csv.gz", index=False)
    plain, packed = (run("fit", name, "-y", "y", "-s", "s") for name in ("d.csv", "d.csv.gz"))
    assert packed.code == 0, packed.error
    assert packed.out == plain.out
