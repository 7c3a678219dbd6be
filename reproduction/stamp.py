"""Whether anything that the written files rest on has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

STAMP = "stamp.json"


def digest_of(asked: Mapping[str, Any], folder: Path) -> str:
    """Digest what was asked for, the code of this package, and the results that are kept."""
    found = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(source.read_bytes())
    for kept in sorted((folder / "cache").rglob("output.pkl")):
        state = kept.stat()
        found.update(f"{kept}{state.st_size}{state.st_mtime_ns}".encode())
    return found.hexdigest()


def is_written(digest: str, folder: Path) -> bool:
    """Whether all files were written from the same, and are still there."""
    try:
        found = json.loads((folder / STAMP).read_bytes())
        return found["digest"] == digest and all(Path(name).exists() for name in found["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def keep(digest: str, files: Iterable[Path], folder: Path) -> None:
    """Keep what the files were written from."""
    text = json.dumps(
        {"digest": digest, "files": [str(file.resolve()) for file in files]}, indent=2
    )
    (folder / STAMP).write_text(text + "\n", encoding="utf-8")
