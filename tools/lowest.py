"""The lowest versions that pyproject.toml allows, as constraints for pip: `make test-lowest`.

`name>=version` becomes `name==version` for the dependencies of the library and of
its extras, and for the libraries of frames that users bring. Tools that only
tests need are left to pip, which finds versions of them that work with the rest.
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("cli", "plot", "data", "fairlearn", "onnx", "parquet", "dask", "stacking")
FRAMES = ("pandas>", "polars>")
LOWER_BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9][0-9.]*)$")


def lowest_versions(project: dict) -> dict[str, str]:
    """Return the lower bound of every dependency of the library and of its extras, by name."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    wanted += [line for line in extras["dev"] if line.startswith(FRAMES)]
    bounds = [LOWER_BOUND.match(line) for line in wanted]
    unbounded = [line for line, bound in zip(wanted, bounds, strict=True) if bound is None]
    if unbounded:
        raise SystemExit(f"pyproject.toml gives no lower bound, name>=version, for {unbounded}")
    return dict(bound.groups() for bound in bounds if bound)


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    sys.stdout.writelines(
        f"{name}=={version}\n" for name, version in lowest_versions(project).items()
    )
