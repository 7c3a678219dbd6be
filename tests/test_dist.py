"""What is published: sdist and wheel, in an environment that has nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import fairridge

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def run(*command, cwd, **settings):
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=inherited | settings, capture_output=True, text=True,
        timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder that `make dist` has filled, or one filled in the same way."""
    if "FAIRRIDGE_DIST" in os.environ:
        return ROOT / os.environ["FAIRRIDGE_DIST"]
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--directory", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """A fresh environment with a wheel made from the sdist, and its dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("fairridge-*")
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "wheels",
        cwd=unpacked,
    )  # fmt: skip
    (wheel,) = (folder / "wheels").glob("*.whl")
    run(sys.executable, "-m", "venv", "environment", cwd=folder)
    binaries = folder / "environment" / "bin"
    run(
        binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--constraint", ROOT / "constraints.txt", f"{wheel}[cli,plot]",
        cwd=folder,
    )  # fmt: skip
    return binaries


def test_the_wheel_has_types_data_and_nothing_beside_the_package(dist):
    (wheel,) = dist.glob("*.whl")
    assert wheel.name == f"fairridge-{fairridge.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "fairridge", f"fairridge-{fairridge.__version__}.dist-info",
    }  # fmt: skip
    assert "fairridge/py.typed" in names
    assert any("german_credit" in name for name in names)


def test_the_description_for_a_package_index_needs_no_repository(dist):
    (wheel,) = dist.glob("*.whl")
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("METADATA")]
    metadata = message_from_bytes(zipfile.ZipFile(wheel).read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = metadata.get_payload(decode=True).decode("utf-8")
    assert "# fairridge" in description
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", description)
    assert targets
    assert not [one for pair in targets for one in pair if one and not one.startswith("https://")]
    assert "<!--" not in description


def test_the_sdist_has_what_its_tests_need(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    wanted = {"src", "tests", "docs", "Makefile", "constraints.txt", "README.md", "LICENSE"}
    assert wanted <= top
    assert not top & {"site", "dist", ".git", "demo-output"}


def test_the_readme_runs(installed, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    shown = run(installed / "python", "-c", code, cwd=tmp_path, MPLBACKEND="Agg")
    assert "age and sex explain" in shown
    assert "Validation of a model for income" in (tmp_path / "report.html").read_text(
        encoding="utf-8"
    )


def test_the_demonstration_runs(installed, tmp_path):
    shown = run(installed / "fairridge", "demo", cwd=tmp_path)
    assert "demo-output" in shown.replace("\n", "")  # long paths are broken at the end of a line
    assert len([*tmp_path.glob("demo-output/*.html")]) == 2


def test_the_version_is_the_same_everywhere(installed, tmp_path):
    shown = run(installed / "fairridge", "--version", cwd=tmp_path)
    assert shown.split() == ["fairridge", fairridge.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{fairridge.__version__}] - " in changes
