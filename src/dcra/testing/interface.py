"""What every loss does with arrays: types, shapes, batches, rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcra._array import Array, namespace
from dcra.losses import Loss
from dcra.testing.subject import STEPS, Subject, host


def types_and_shapes_are_kept(s: Subject) -> None:
    """Library, float type and shape of z carry over to the results."""
    for z in (s.to(s.z), s.to(s.z[0]), s.to(s.z[None])):
        for name, call in _methods(s.loss):
            result = call(z)
            want = z.shape if name in ("prox", "envelope_grad") else z.shape[:-1]
            s.require(
                tuple(result.shape) == tuple(want),
                f"`{name}` has the right shape",
                z=tuple(z.shape),
                got=tuple(result.shape),
                expected=tuple(want),
            )
            s.require(
                result.dtype == z.dtype and namespace(result) is namespace(z),
                f"`{name}` keeps library and float type",
                z=f"{type(z).__name__} of {z.dtype}",
                got=f"{type(result).__name__} of {result.dtype}",
            )


def inputs_are_left_alone(s: Subject) -> None:
    """No method writes to its arguments."""
    for name, call in _methods(s.loss):
        z = s.to(s.z)
        call(z)
        fine = (host(z) == s.z).all(axis=-1)
        s.require(fine, f"`{name}` leaves its argument unchanged", before=s.z, after=host(z))


def batch_equals_loop(s: Subject) -> None:
    """Leading axes are a batch: the result is that of each vector on its own."""
    for name, call in (
        ("value", s.value),
        ("prox", lambda z: s.prox(z, 1.0)),
        ("envelope_grad", lambda z: s.slope(z, 1.0)),
    ):
        looped = np.stack([call(z) for z in s.z])
        s.close(call(s.z), looped, f"`{name}` of a batch equals the loop over it", z=s.z)
        deep = call(s.z.reshape(2, -1, s.z.shape[-1])).reshape(looped.shape)
        s.close(deep, looped, f"`{name}` of a batch of batches equals the loop over it", z=s.z)


def separable_holds(s: Subject) -> None:
    """f is a sum over rows, its prox is row by row, and each row may have a step of its own."""
    if not s.loss.separable:
        return
    s.close(
        s.values(s.z).sum(axis=-1),
        s.value(s.z),
        "the value is the sum of `values` (declared separable)",
        z=s.z,
    )
    alone = np.stack([s.value(s.z[:, i : i + 1]) for i in range(s.z.shape[-1])], axis=-1)
    s.close(s.values(s.z), alone, "`values` are those of each row alone (declared separable)", z=s.z)
    for step in STEPS:
        rows = [s.prox(s.z[:, i : i + 1], step) for i in range(s.z.shape[-1])]
        s.close(
            s.prox(s.z, step), np.concatenate(rows, axis=-1), "prox is row by row (declared separable)", z=s.z
        )


def array_steps_broadcast(s: Subject) -> None:
    """A separable loss takes one step per row, or per entry."""
    if not s.loss.separable:
        return
    choice = np.asarray(s.rng().integers(len(STEPS), size=s.z.shape))
    single = np.stack([s.prox(s.z, step) for step in STEPS])
    for pick in (choice, choice[0], choice[:, :1]):
        full = np.broadcast_to(pick, s.z.shape)
        want = np.take_along_axis(single, full[None], axis=0)[0]
        steps = np.asarray(STEPS)[pick]
        s.close(
            s.prox(s.z, steps),
            want,
            f"prox takes steps of shape {steps.shape} (declared separable)",
            z=s.z,
            steps=np.asarray(STEPS)[full],
        )


def _methods(loss: Loss) -> tuple[tuple[str, Callable[[Array], Array]], ...]:
    return (
        ("value", loss.value),
        ("prox", lambda z: loss.prox(z, 1.0)),
        ("envelope", lambda z: loss.envelope(z, 1.0)),
        ("envelope_grad", lambda z: loss.envelope_grad(z, 1.0)),
    )
