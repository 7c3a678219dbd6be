"""Audit predictions for many rows under a limit: small folder, large folder, bytes."""

import os
import re
import resource
import sys
from pathlib import Path

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # other pools reserve more than they use

from fairridge import FairRidgeClassifier, audit, sources

ROLES = {"response": "label", "sensitive": ["s1", "s2"], "predictors": ["x1", "x2", "x3"]}


def used():
    return 1024 * int(re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def main(small, large, allowed):
    # Threads, pools and libraries take their memory first; a small audit wakes them.
    few = sources.parquet(small, **ROLES)
    model = FairRidgeClassifier(0.05).fit(few)
    audit(few, model.predict_proba(few))
    limit = used() + int(allowed)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    source = sources.parquet(large, **ROLES)
    found = audit(source, model.predict_proba(source), intersections=True)
    auc, errors = found.overall.ranking.auc.value, found.score_bins
    print(found.overall.count, len(found.attributes[-1].groups), auc, errors.auc)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
