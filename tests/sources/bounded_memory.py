"""Fit a path, write and audit predictions under a limit: small file, large file, output, bytes."""

import os
import re
import resource
import sys
from pathlib import Path

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # other pools reserve more than they use

import pyarrow.parquet as pq

from fairridge import FairRidgeRegressor, audit, sources

ROLES = {"response": "y", "sensitive": ["s1", "s2"], "predictors": [f"x{k}" for k in range(1, 25)]}


def used():
    return 1024 * int(re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def main(small, large, output, allowed):
    # Threads, pools and libraries take their memory first; a small problem wakes them.
    few = sources.parquet(small, **ROLES, batch_rows=5000)
    audit(few, FairRidgeRegressor().fit(few).predict(few))
    limit = used() + int(allowed)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    source = sources.parquet(large, **ROLES)
    model = FairRidgeRegressor().path(source).at(0.05)
    model.predict(source).write(output)
    found = audit(source, model.predict(source), intersections=True)
    print(model.n_rows_, pq.read_metadata(output).num_rows, found.overall.count)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
