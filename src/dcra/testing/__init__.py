"""Contract checks to run on your own loss.

    from dcra.testing import check_loss
    check_loss(MyLoss())

Each property is one small function of a `Subject`; a new property is a new function and a line in
`LOSS_PROPERTIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcra._array import Array
from dcra.losses import as_loss
from dcra.testing import convexity, declared, interface, proximal
from dcra.testing.subject import Subject, make_subject

__all__ = ["check_loss"]

LOSS_PROPERTIES: tuple[Callable[[Subject], None], ...] = (
    interface.types_and_shapes_are_kept,
    interface.inputs_are_left_alone,
    interface.batch_equals_loop,
    proximal.prox_beats_rivals,
    proximal.separable_prox_beats_grid,
    proximal.slope_matches_prox,
    proximal.envelope_lies_below_value,
    declared.positive_holds,
    declared.lipschitz_holds,
    declared.curvature_holds,
    interface.separable_holds,
    interface.array_steps_broadcast,
    convexity.value_is_midpoint_convex,
    convexity.prox_is_firmly_nonexpansive,
    convexity.slope_is_a_subgradient,
    convexity.conjugate_obeys_fenchel_young,
    proximal.slope_is_finite_difference,
)


def check_loss(
    loss: Any, *, rows: int = 5, seed: int = 0, rtol: float | None = None, like: Array | None = None
) -> None:
    """Check that a loss is what it says it is.

    Parameters
    ----------
    loss : str, Loss, object with `value` and `prox`, or PyProximal operator
    rows : int
        Length of the residuals that are tried.
    seed : int
        Residuals and perturbations are random, and the same for the same seed.
    rtol : float, optional
        Relative tolerance; by default the square root of the float type's precision.
    like : array, optional
        An array whose library, device and float type are used; by default NumPy in float64.

    Raises
    ------
    AssertionError
        With the name of the first property that does not hold, and the numbers.
    """
    subject = make_subject(as_loss(loss), rows, seed, rtol, like)
    for holds in LOSS_PROPERTIES:
        holds(subject)
