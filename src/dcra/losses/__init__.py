"""Losses f of the residual u = Ax - b."""

from dcra.losses.adapt import NAMES, VectorLoss, as_loss, from_pyproximal
from dcra.losses.base import Loss
from dcra.losses.special import CappedL1, L2Norm, LInf, Logistic
from dcra.losses.table import (
    L1,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Linear,
    Quantile,
    SquaredHinge,
    SquaredL2,
    Table,
    TableLoss,
)

__all__ = [
    "L1",
    "NAMES",
    "CappedL1",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "L2Norm",
    "LInf",
    "Linear",
    "Logistic",
    "Loss",
    "Quantile",
    "SquaredHinge",
    "SquaredL2",
    "Table",
    "TableLoss",
    "VectorLoss",
    "as_loss",
    "from_pyproximal",
]
