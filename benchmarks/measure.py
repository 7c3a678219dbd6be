"""Peak memory of one call."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.problems import Problem

Case = Callable[..., object]


def peak_megabytes() -> float:
    """Return the peak memory of this process alone; `getrusage` would start from its parent's."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return float("nan") if found is None else int(found[1]) / 1024


def peak_memory(case: Case, problem: Problem) -> float:
    """Return the peak memory of a fresh process, as a multiple of the input."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (case, problem))


def _peak(case: Case, problem: Problem) -> float:
    from fairridge import FairRidgeRegressor

    FairRidgeRegressor(sensitive=[0]).fit([[0.0, 1.0], [1.0, 0.5], [0.5, 3.0]], [0.0, 1.0, 2.0])
    libraries = peak_megabytes()
    Z, y = problem.data
    size = Z.nbytes + y.nbytes
    case(problem)
    return 2**20 * (peak_megabytes() - libraries) / size
