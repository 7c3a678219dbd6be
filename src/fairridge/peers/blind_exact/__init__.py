"""Least squares on X alone with the least training error under a bound on R² of its fit on S."""

from fairridge.peers.blind_exact.estimator import BlindExactRegressor

__all__ = ["BlindExactRegressor"]
