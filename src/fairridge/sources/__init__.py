"""Rows that are not in memory: Parquet files, Dask, Spark, and parties that share no rows."""

from fairridge.sources._dask import DaskRows, dask
from fairridge.sources._frame import FrameRows, frame
from fairridge.sources._parquet import ParquetPredictions, ParquetRows, parquet
from fairridge.sources._spark import SparkRows, spark
from fairridge.sources.federated import RowMoments, count_levels, moments
from fairridge.sources.level_counts import LevelCounts
from fairridge.sources.source import RowSource

__all__ = [
    "DaskRows",
    "FrameRows",
    "LevelCounts",
    "ParquetPredictions",
    "ParquetRows",
    "RowMoments",
    "RowSource",
    "SparkRows",
    "count_levels",
    "dask",
    "frame",
    "moments",
    "parquet",
    "spark",
]
