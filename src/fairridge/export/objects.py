"""Objects of other libraries, in a file beside the JSON of a model: by skops or joblib.

JSON executes nothing when it is loaded, but it cannot hold learners and steps of any library.
These are in a second file, whose digest the JSON has. One of skops says what types it needs
before it makes any of them; one of joblib is a pickle, which can run anything.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairridge.export.model_file import RefusedError
from fairridge.outputs import writing

FORMATS = ("skops", "joblib")
# Types of fairridge, of the default learner and of standard steps, beside those that skops trusts.
OWN_TYPES = (
    "fairridge.stacking.learners.Categories",
    "functools.partial",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)
# Splitters of scikit-learn, which `cv` of a stacked model may be.
SPLITTERS = "sklearn.model_selection._split."


def write_objects(objects: Any, path: Any, learners: str, ending: str = "") -> dict[str, Any]:
    """Write objects beside a JSON file; return what that says of them, for `read_objects`."""
    content, beside = _dumped(objects, learners), f"{os.fspath(path)}{ending}.{learners}"
    with writing(beside) as file:
        file.write(content)
    return {
        "file": os.path.basename(beside),
        "format": learners,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def read_objects(
    kept: dict[str, Any], path: Any, trusted: bool | Sequence[str], what: str = "learners"
) -> Any:
    """Read what `write_objects` wrote, if it is the same file and its types are trusted."""
    learners, beside = str(kept["format"]), Path(path).parent / Path(str(kept["file"])).name
    if learners not in FORMATS:
        raise ValueError(f"its {what} have the unknown format {learners!r}.")
    if not beside.exists():
        raise RefusedError(f"has its {what} in {beside.name!r}, which is not beside it.")
    content = beside.read_bytes()
    if hashlib.sha256(content).hexdigest() != kept["sha256"]:
        raise RefusedError(f"has its {what} in {beside.name!r}, which is not the file it names.")
    if learners == "joblib" and trusted is not True:
        raise RefusedError(
            f"has its {what} in {beside.name!r}, a pickle, which can run any code when it is "
            "loaded. If you know where it comes from, pass trusted=True."
        )
    needed = _needed_types(content, learners)
    unknown = [name for name in needed if not name.startswith(SPLITTERS)]
    strange = unknown if isinstance(trusted, bool) else sorted(set(unknown).difference(trusted))
    if strange and trusted is not True:
        raise RefusedError(
            f"has {what} of types that are not known to be harmless: {', '.join(strange)}. If "
            f"you trust them, pass trusted={strange!r}."
        )
    return _made(content, learners, needed)


def require_writable(value: Any, learners: str) -> None:
    """Write an object and read it again, which fails for functions without a name."""
    content = _dumped(value, learners)
    _made(content, learners, _needed_types(content, learners))


def _dumped(objects: Any, learners: str) -> bytes:
    """Return what the file of some objects holds."""
    if learners == "joblib":
        import joblib

        buffer = io.BytesIO()
        joblib.dump(objects, buffer, compress=3)
        return buffer.getvalue()
    return bytes(_skops("save").dumps(objects))


def _made(content: bytes, learners: str, needed: list[str]) -> Any:
    """Make the objects of a file that is trusted."""
    if learners == "joblib":
        import joblib

        return joblib.load(io.BytesIO(content))
    return _skops("load").loads(content, trusted=[*OWN_TYPES, *needed])


def _needed_types(content: bytes, learners: str) -> list[str]:
    """Return the types of a file of skops that neither it nor we know to be harmless."""
    if learners == "joblib":
        return []
    return sorted(set(_skops("load").get_untrusted_types(data=content)).difference(OWN_TYPES))


def _skops(purpose: str) -> Any:
    try:
        import skops.io as skops
    except ImportError as error:
        raise ImportError(
            f"{purpose} of a stacked model or a Pipeline needs skops: pip install "
            "'fairridge[stacking]'" + (", or pass learners='joblib'." if purpose == "save" else ".")
        ) from error
    return skops
