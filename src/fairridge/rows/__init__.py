"""Rows that are not in memory: Parquet files, Dask, Spark, and parties that share no rows."""

from fairridge.rows._dask import DaskRows, dask
from fairridge.rows._frame import FrameRows, frame
from fairridge.rows._parquet import ParquetPredictions, ParquetRows, parquet
from fairridge.rows._spark import SparkRows, spark
from fairridge.rows.federated import RowMoments, moments, survey
from fairridge.rows.source import RowSource
from fairridge.rows.surveys import Survey

__all__ = [
    "DaskRows",
    "FrameRows",
    "ParquetPredictions",
    "ParquetRows",
    "RowMoments",
    "RowSource",
    "SparkRows",
    "Survey",
    "dask",
    "frame",
    "moments",
    "parquet",
    "spark",
    "survey",
]
