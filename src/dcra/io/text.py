"""A loss in a word: its name, and its options where they are not the usual ones.

l1   huber:threshold=2.0   quantile:q=0.9
"""

from __future__ import annotations

from dataclasses import fields

from dcra.io.numbers import real
from dcra.losses import NAMES, Loss
from dcra.messages import suggest


def loss_text(loss: Loss) -> str:
    """The word for a loss of `dcra.losses`."""
    name = next((name for name, kind in NAMES.items() if type(loss) is kind), None)
    if name is None:
        raise ValueError(f"the loss {type(loss).__name__} has no name and cannot be written to a file")
    options = [
        f"{field.name}={getattr(loss, field.name)!r}"
        for field in fields(loss)  # type: ignore[arg-type]
        if getattr(loss, field.name) != field.default
    ]
    return f"{name}:{','.join(options)}" if options else name


def parse_loss(text: str) -> Loss:
    """The loss behind a word."""
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
            options[key] = real(value)
        except ValueError:
            raise ValueError(f"option {key!r} of loss {name!r} must be a number; got {value!r}") from None
    return kind(**options)
