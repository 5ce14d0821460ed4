"""A loss in a word: its name, and its options where they are not the usual ones.

l1   huber:threshold=2.0   quantile:q=0.9
"""

from __future__ import annotations

from dataclasses import fields

from dcra.losses import NAMES, Loss
from dcra.losses.adapt import parse_loss

__all__ = ["loss_text", "parse_loss"]


def loss_text(loss: Loss) -> str:
    """The word for a loss of `dcra.losses`."""
    name = next((name for name, kind in NAMES.items() if type(loss) is kind), None)
    if name is None:
        raise ValueError(f"the loss {type(loss).__name__} has no name and cannot be written to a file")
    options = [
        f"{field.name}={float(getattr(loss, field.name))!r}"
        for field in fields(loss)  # type: ignore[arg-type]
        if getattr(loss, field.name) != field.default
    ]
    return f"{name}:{','.join(options)}" if options else name
