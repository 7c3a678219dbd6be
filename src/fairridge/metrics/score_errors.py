"""How far measures of binned scores may be off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BinErrors:
    """How far measures of binned scores may be from those of the scores themselves, at most.

    Attributes
    ----------
    bins : int
        Bins with rows.
    auc, ks_of_classes, kolmogorov_smirnov, wasserstein : float
        The largest error in any group.
    """

    bins: int
    auc: float = 0.0
    ks_of_classes: float = 0.0
    kolmogorov_smirnov: float = 0.0
    wasserstein: float = 0.0

    @property
    def words(self) -> str:
        """Say it in one sentence; measures without an error are those of the rows themselves."""
        named = {
            "AUC": self.auc,
            "KS of classes": self.ks_of_classes,
            "KS": self.kolmogorov_smirnov,
            "Wasserstein": self.wasserstein,
        }
        errors = [f"{name} {error:.1e}" for name, error in named.items() if error > 0.0]
        known = f"off by at most: {', '.join(errors)}" if errors else "exact"
        return f"measures of sorted predictions come from {self.bins:,} bins; {known}"
