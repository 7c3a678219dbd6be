"""The files of fairml's data sets: a folder, a checksum, one download.

The R package fairml is not on PyPI; its source package on CRAN holds one
``.rda`` file per data set. The data sets have other owners, so that this package
does not ship the files.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

VARIABLE = "FAIRRIDGE_DATA"

# A release leaves the first address for the second one when the next appears.
URLS = (
    "https://cloud.r-project.org/src/contrib/fairml_0.8.tar.gz",
    "https://cloud.r-project.org/src/contrib/Archive/fairml/fairml_0.8.tar.gz",
)

# The files of fairml 0.8. Its health.retirement is left out: the owner of the
# survey does not allow copies.
SHA256 = {
    "adult": "2b111fe89665a1bb49630ba8f90ab92c07981e618135cdb80ded1b309ca85b32",
    "bank": "a7bfc5897d7e76eb0d5586906d0e43047d638d2093aea38aad142df370b6db61",
    "communities.and.crime": "e877e4ba53d51d386be39b1c50ddbb3e6b656820a2e8f51dff64afdd5a612437",
    "compas": "d79bf5bf760746177b43bc838bc50b361c585cb1e0a021297f90d31c11ebf374",
    "drug.consumption": "190ca8b3838f93b5d41571fc2690dcdbd5062579ec217a6807e538d1b3572a80",
    "german.credit": "b13b8d3d37bceed77751c0e77bdb8a5041f9c044761f8d84328090f78edab3b7",
    "law.school.admissions": "d270972df4787b2da3650f01e9176be53cdbcef2fd3032c8045a2a8d029c4308",
    "national.longitudinal.survey": (
        "55f24894ec3a091de48ed67218bdef93199f2a0c7917b9ff8af31ef744a727e7"
    ),
    "obesity.levels": "7e5ed2b45a5da58a877bcf48cb994b508d34bffacedfbd91b88484898a6fc353",
    "vu.test": "2e0e423ac8c30dc7e700038d30b2c1120fa721f3dd630a23ca23ca693048850a",
}


class DataUnavailableError(RuntimeError):
    """A data set is unavailable: no network and no file, or a file that is not the right one.

    See Also
    --------
    fetch_fairml : Raises it.

    References
    ----------
    .. [1] docs/datasets.md.

    Examples
    --------
    >>> from fairridge.datasets import DataUnavailableError
    >>> print(issubclass(DataUnavailableError, OSError))
    False
    """


def find_file(name: str, data_home: str | os.PathLike[str] | None, progress: bool) -> Path:
    """Return the checked ``.rda`` file of a data set, downloading it if it is missing."""
    # The folder is by default that of the environment variable FAIRRIDGE_DATA, or else the user's
    # cache folder.
    chosen = data_home or os.environ.get(VARIABLE)
    folder = Path(chosen or require("pooch").os_cache("fairridge") / "fairml-0.8").expanduser()
    path = folder / f"{name}.rda"
    if not path.is_file():
        _download(path, progress)
    advice = "Replace it by the right one, or delete it to have it downloaded."
    _check(path.read_bytes(), name, f"in {folder}", advice)
    return path


def unpack(archive: Path, folder: Path) -> None:
    """Copy the data files out of fairml's source package, each after its checksum."""
    with tarfile.open(archive) as package, TemporaryDirectory(dir=folder) as partial:
        for name in SHA256:
            member = package.extractfile(f"fairml/data/{name}.rda")
            content = b"" if member is None else member.read()
            _check(content, name, "in the downloaded source package", "It was not kept.")
            file = Path(partial, f"{name}.rda")
            file.write_bytes(content)
            file.replace(folder / file.name)  # at once, so that no reader sees half a file


def _download(path: Path, progress: bool) -> None:
    """Fetch the source package and unpack its data files next to `path`."""
    bar = progress and find_spec("tqdm") is not None
    fetch = require("pooch").HTTPDownloader(progressbar=bar, timeout=30)
    try:
        url = next((url for url in URLS if fetch(url, None, None, check_only=True)), URLS[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            archive = Path(folder, "fairml.tar.gz")
            fetch(url, str(archive), None)
            unpack(archive, path.parent)
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as problem:
        raise DataUnavailableError(
            f"{path.name} is not in {path.parent} and could not be downloaded "
            f"({type(problem).__name__}). There are two ways to get it. With a network: try again; "
            f"fairml 0.8 is fetched once from {URLS[0]}. Without: copy {path.name} from the data "
            f"folder of fairml's source package into a folder of your own, and name that folder by "
            f"data_home= or by the environment variable {VARIABLE}."
        ) from problem


def _check(content: bytes, name: str, where: str, advice: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise DataUnavailableError(
            f"{name}.rda {where} has the wrong SHA-256 checksum: {digest}, but {SHA256[name]} in "
            f"fairml 0.8. {advice}"
        )


def require(package: str) -> Any:
    """Import a package of the extra ``data``."""
    if find_spec(package) is None:
        raise ImportError(f"fairml's data sets need {package}: pip install 'fairridge[data]'.")
    return import_module(package)
