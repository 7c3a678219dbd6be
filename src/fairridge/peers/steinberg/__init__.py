"""Steinberg et al.: a penalty on mutual information."""

from fairridge.peers.steinberg.estimator import SteinbergRegressor

__all__ = ["SteinbergRegressor"]
