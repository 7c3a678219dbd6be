"""Agarwal et al.: the exponentiated gradient, through fairlearn."""

from fairridge.peers.reductions.estimator import ReductionsClassifier

__all__ = ["ReductionsClassifier"]
