"""From what a user passes as `loss` to a `Loss`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import isnan
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, to_numpy
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
)
from dcra.messages import suggest

NAMES: dict[str, type[Loss]] = {
    "l1": L1,
    "squared": SquaredL2,
    "huber": Huber,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "logistic": Logistic,
    "linear": Linear,
    "capped_l1": CappedL1,
    "l2": L2Norm,
    "linf": LInf,
}


@dataclass(frozen=True)
class VectorLoss(Loss):
    """A loss made of two functions of one vector, such as a PyProximal operator's."""

    value_of: Callable[[Any], Any]
    prox_of: Callable[[Any, float], Any]
    convex: bool = False  # type: ignore[misc]
    label: str = "vector loss"

    def value(self, z: Array) -> Array:
        flat = [self._number(self.value_of(row)) for row in _rows(z)]
        return from_numpy(np.asarray(flat).reshape(z.shape[:-1]), z)

    def prox(self, z: Array, step: Array | float) -> Array:
        flat = np.stack([np.asarray(self.prox_of(row, float(step))) for row in _rows(z)])
        if flat.size != np.prod(z.shape) or np.isnan(flat).any():
            raise ValueError(
                f"`prox` of the loss {self.label} must return a vector of numbers like the one it is given; "
                f"got {'NaN' if np.isnan(flat).any() else f'shape {flat.shape[1:]}'}"
            )
        return from_numpy(flat.reshape(z.shape), z)

    def _number(self, value: Any) -> float:
        if str(getattr(value, "dtype", type(value).__name__)).endswith("bool"):  # True is inside, not a cost
            raise ValueError(
                f"`value` of the loss {self.label} returned {bool(value)}; it must return finite numbers for "
                f"every vector of residuals. What is not allowed belongs into `constraints`"
            )
        number = float(value)
        if isnan(number):
            raise ValueError(
                f"`value` of the loss {self.label} returned NaN; it must return a number for every vector of "
                f"residuals"
            )
        return number


def _rows(z: Array) -> Host:
    """The vectors of a batch, on the host and in memory of their own."""
    return np.array(to_numpy(z)).reshape(-1, z.shape[-1])


def from_pyproximal(operator: Any, *, convex: bool = False) -> VectorLoss:
    """A PyProximal operator as a loss; say `convex=True` where it is, to get lower bounds."""
    return VectorLoss(operator, operator.prox, convex, type(operator).__name__)


def parse_loss(text: str) -> Loss:
    """The loss behind a word: "l1", or with an option, "huber:threshold=2.0"."""
    name, _, rest = text.partition(":")
    if name not in NAMES:
        raise ValueError(suggest("loss", name, NAMES))
    kind = NAMES[name]
    allowed = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    options = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in allowed:
            known = f"options {', '.join(allowed)}" if allowed else "no options"
            raise ValueError(f"loss {name!r} has {known}; got {part!r}")
        try:
            options[key] = _plain(value)
        except ValueError:
            raise ValueError(f"option {key!r} of loss {name!r} must be a number; got {value!r}") from None
    return kind(**options)


def _plain(number: str) -> float:
    """A number as files may hold it: neither underscores nor digits of other scripts."""
    if "_" in number or not number.isascii():
        raise ValueError
    return float(number)


def as_loss(loss: Any) -> Loss:
    """A `Loss` from a word, a loss, an object with `value` and `prox`, or a PyProximal operator."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return parse_loss(loss)
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise TypeError(f"`loss` must be an instance, not a class; write {loss.__name__}()")
    prox = getattr(loss, "prox", None)
    value = getattr(loss, "value", loss)
    if not (callable(prox) and callable(value)):
        raise TypeError(
            "`loss` must be a name, a dcra.losses.Loss, or an object with `value(z)` and `prox(z, step)`; "
            f"got {type(loss).__name__}"
        )
    return VectorLoss(value, prox, bool(getattr(loss, "convex", False)), type(loss).__name__)
