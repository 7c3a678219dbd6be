"""The version, which the build reads from this file."""

__all__ = ["__version__"]

__version__ = "0.2.0"
