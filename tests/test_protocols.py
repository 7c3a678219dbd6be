"""Every implementation satisfies its protocol.

mypy reads this file and checks the assignments; the tests check that none is missing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest

from fairridge import engines, families, penalties, sources
from fairridge.engines import (
    DeviceEngine,
    Engine,
    MemoryEngine,
    PrecomputedMoments,
)
from fairridge.engines.blocked_matrix import BlockGroup, DenseBlock, MatrixBlock, SplitBlock
from fairridge.engines.coded import CodedBlock
from fairridge.engines.device_rows import DeviceBlock
from fairridge.families import (
    Binomial,
    Cox,
    Family,
    Gamma,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    QuasiBinomial,
    QuasiPoisson,
    Tweedie,
)
from fairridge.families.base import ClassFamily
from fairridge.families.cox import CoxDistance
from fairridge.families.distances import (
    AbsoluteDifference,
    ClassDifference,
    Closeness,
    Distance,
    PairwiseDistance,
    SameOutcome,
    SquaredDifference,
)
from fairridge.penalties import ElasticNet, Lasso, Penalty, Radial, Ridge
from fairridge.sources.stream import StreamEngine

Matches = Callable[[type], bool]

FAMILIES: tuple[type[Family], ...] = (
    Binomial,
    Cox,
    Gamma,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    QuasiBinomial,
    QuasiPoisson,
    Tweedie,
)
CLASS_FAMILIES: tuple[type[ClassFamily], ...] = (Binomial, Multinomial)
DISTANCES: tuple[type[Distance], ...] = (
    AbsoluteDifference,
    ClassDifference,
    Closeness,
    CoxDistance,
    PairwiseDistance,
    SameOutcome,
    SquaredDifference,
)
PENALTIES: tuple[type[Penalty], ...] = (ElasticNet, Lasso, Radial, Ridge)
ENGINES: tuple[type[Engine], ...] = (
    DeviceEngine,
    PrecomputedMoments,
    MemoryEngine,
    StreamEngine,
)
BLOCKS: tuple[type[MatrixBlock], ...] = (
    BlockGroup,
    CodedBlock,
    DenseBlock,
    DeviceBlock,
    SplitBlock,
)


def classes_of(package: ModuleType, matches: Matches) -> set[type]:
    """All concrete public and private classes below a package that `matches` accepts."""
    modules = [
        import_module(found.name)
        for found in walk_packages(package.__path__, f"{package.__name__}.")
        if not found.name.endswith("triton_kernels")  # functions only, and they need Triton
    ]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
        and not getattr(value, "_is_protocol", False)
        and matches(value)
    }


def has(*names: str) -> Matches:
    return lambda found: all(hasattr(found, name) for name in names)


@pytest.mark.parametrize(
    ("listed", "package", "matches"),
    [
        (FAMILIES, families, has("loglik", "pearson", "completed")),
        (CLASS_FAMILIES, families, has("likeliest", "probabilities")),
        (DISTANCES, families, has("form")),
        (PENALTIES, penalties, has("quadratic")),
        (ENGINES, engines, has("moments", "pairwise")),
        (ENGINES, sources, has("moments", "pairwise")),
        (BLOCKS, engines, has("gram", "times")),
    ],
)
def test_every_implementation_is_listed(
    listed: tuple[type, ...], package: ModuleType, matches: Matches
) -> None:
    found = classes_of(package, matches)
    assert found
    # A class that inherits from one that is checked is checked as an override.
    assert not {
        one
        for one in found
        if not any(issubclass(one, known) or issubclass(known, one) for known in listed)
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_the_parameters_that_it_documents(family: type[Family]) -> None:
    described = (inspect.getdoc(family) or "").partition("\nSee Also\n")[0]
    documented = re.findall(r"^(\w+) : ", described, re.MULTILINE)
    assert list(inspect.signature(family).parameters) == documented
