"""Families of responses, one per file."""

from fairridge.families.gaussian import Gaussian

__all__ = ["Gaussian"]
