"""Shapley values of the features of paths by Gauss-Legendre quadrature; see `contributions`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.decision.paths import Path

LEAST_SHARE: Final = 1e-100
"""Stands for a share of 0, so that a factor can be divided out again."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Quadrature:
    """P paths that read the same number M of features.

    Parameters
    ----------
    shares : ndarray of shape (M, P), float64
        Share of the training rows that took the path at the splits on each feature.
    obeyed, broken : ndarray of shape (M, points, P), float64
        The factor of each feature at each point, for a row that obeys it and for one that does not.
    weights : ndarray of shape (points, P), float64
        The value of the leaf times the weight of the point.
    """

    shares: FloatArray
    obeyed: FloatArray
    broken: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "Quadrature":
        """Tabulate the factors that are the same for every row."""
        length = len(paths[0].features)
        points, weights = np.polynomial.legendre.leggauss((length + 1) // 2)
        t = (points + 1)[:, np.newaxis] / 2
        shares = np.stack([path.shares for path in paths], axis=1)
        broken = (1 - t) * np.maximum(shares, LEAST_SHARE)[:, np.newaxis, :]
        return cls(
            shares=shares,
            obeyed=broken + t,
            broken=broken,
            weights=np.array([path.value for path in paths]) * (weights / 2)[:, np.newaxis],
        )

    def values(self, obeys: BoolArray) -> FloatArray:
        """Return what each feature of each path adds to the margin.

        Parameters
        ----------
        obeys : ndarray of shape (M, P) or (M, 1), bool
            Whether the row obeys every split on the feature along the path.

        Returns
        -------
        ndarray of shape (P, M), float64
        """
        factors = np.where(obeys[:, np.newaxis, :], self.obeyed, self.broken)
        products = self.weights * np.multiply.reduce(factors, axis=0)
        integrals: FloatArray = np.add.reduce(products / factors, axis=1)
        values: FloatArray = ((obeys - self.shares) * integrals).T
        return values
