"""What R's fairml answers on its own data, beside the exact optimum."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from fairridge import FairRidgeRegressor, KomiyamaRegressor
from reproduction.data import load
from reproduction.settings import Settings

CASES = ("vu.test", "COMPAS", "C&C")
MODELS = {"FRRM": FairRidgeRegressor, "NCLM": KomiyamaRegressor}


def answers() -> pd.DataFrame:
    """Return the recorded answers: one row per data set, model and bound."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return pd.DataFrame(json.loads(text)["answers"])


def fairml_part(case: str, run: int, settings: Settings) -> pd.DataFrame:
    """Residual sum of squares and R²_S on all rows: fairml's and ours, at the same bounds."""
    data = load(case, settings)
    rows = answers().query("case == @case").drop(columns="case")
    parts = []
    for name, theirs in rows.groupby("model", sort=False):
        model = MODELS[str(name)](sensitive=data.sensitive)
        path = model.path(data.frame, data.labels, unfairness=theirs["r"].to_numpy())
        parts.append(theirs.assign(exact_rss=path.deviance, exact_share=path.achieved))
    return pd.concat(parts)
