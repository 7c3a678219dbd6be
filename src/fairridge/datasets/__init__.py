"""Data sets: some ship with the library, the paper's own are fetched."""

from fairridge.datasets.cache import DataUnavailableError
from fairridge.datasets.dataset import Dataset
from fairridge.datasets.fairml import FAIRML_NAMES, fetch_fairml
from fairridge.datasets.shipped import (
    DatasetInfo,
    available,
    load,
    load_adult,
    load_bank,
    load_communities_crime,
    load_contraceptive_choice,
    load_german_credit,
    load_health_insurance,
    load_rossi,
)

__all__ = [
    "FAIRML_NAMES",
    "DataUnavailableError",
    "Dataset",
    "DatasetInfo",
    "available",
    "fetch_fairml",
    "load",
    "load_adult",
    "load_bank",
    "load_communities_crime",
    "load_contraceptive_choice",
    "load_german_credit",
    "load_health_insurance",
    "load_rossi",
]
