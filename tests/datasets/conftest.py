from pathlib import Path

import pytest

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


@pytest.fixture
def reference():
    if not REFERENCE.is_dir():
        pytest.skip("the reference results of fairml are not next to the repository")
    return REFERENCE


@pytest.fixture
def rda(reference):
    pytest.importorskip("rdata", reason="the extra `data` is not installed")
    return reference / "rda"
