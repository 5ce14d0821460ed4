"""Contract checks to run on your own loss.

    from dcra.testing import check_loss
    check_loss(MyLoss())

Each property is one small function of a `Subject`; a new property is a new function and a line in
`LOSS_PROPERTIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from dcra._array import Array, from_numpy, is_numpy, namespace, to_numpy
from dcra.losses import Loss, as_loss

STEPS = (0.1, 1.0, 7.0)
"""Steps at which proximal maps are checked."""

Host = np.ndarray[Any, Any]


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


@dataclass(frozen=True)
class Subject:
    """A loss seen from the host: its methods take and return float64 NumPy arrays."""

    loss: Loss
    z: Host
    """Residuals to try, (k, rows): several sizes, zeros and the kinks of common losses."""
    rtol: float
    like: Array
    seed: int

    @property
    def eps(self) -> float:
        return float(namespace(self.like).finfo(self.like.dtype).eps)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed + 1)

    def to(self, z: Host) -> Array:
        """`z` in the library, float type and writeability of `like`."""
        array = from_numpy(np.array(z), self.like)
        if is_numpy(array):
            array.flags.writeable = self.like.flags.writeable
        return array

    def round(self, z: Host) -> Host:
        return _host(self.to(z))

    def value(self, z: Host) -> Host:
        return _host(self.loss.value(self.to(z)))

    def values(self, z: Host) -> Host:
        return _host(self.loss.values(self.to(z)))

    def prox(self, z: Host, step: float | Host) -> Host:
        return _host(self.loss.prox(self.to(z), self._step(step)))

    def slope(self, z: Host, step: float) -> Host:
        return _host(self.loss.envelope_grad(self.to(z), step))

    def envelope(self, z: Host, step: float) -> Host:
        return _host(self.loss.envelope(self.to(z), step))

    def prox_objective(self, y: Host, z: Host, step: float) -> Host:
        """f(y) + |z - y|^2 / (2 step), which the proximal map minimises."""
        y = self.round(y)
        apart: Host = np.sum((z - y) ** 2, axis=-1)
        return self.value(y) + apart / (2 * step)

    def _step(self, step: float | Host) -> Array | float:
        return step if isinstance(step, float) else self.to(step)

    def require(self, holds: Any, prop: str, **numbers: Any) -> None:
        """Raise with the first case in which `holds` is false; `numbers` are one per case, or shared."""
        fine = np.atleast_1d(np.asarray(holds, bool))
        if fine.all():
            return
        case = int(np.argmin(fine))
        shown = ", ".join(f"{name} = {_shown(x, case, fine.size)}" for name, x in numbers.items())
        raise AssertionError(f"{type(self.loss).__name__}: {prop} does not hold: {shown}")

    def close(self, got: Host, want: Host, prop: str, **numbers: Any) -> None:
        """Require equality to `rtol`, case by case."""
        got, want = np.broadcast_arrays(np.atleast_1d(got), np.atleast_1d(want))
        with np.errstate(invalid="ignore"):  # inf - inf, where both are infinite
            near = np.isfinite(got) & (np.abs(got - want) <= self.slack(want))
        fine = (near | (got == want)).reshape(len(got), -1).all(axis=-1)
        self.require(fine, prop, got=got, expected=want, **numbers)

    def slack(self, *sizes: Any) -> Any:
        """What rounding may do to a comparison of numbers of these sizes."""
        return self.rtol * (1 + np.sum(np.abs(np.broadcast_arrays(*sizes)), axis=0))


def make_subject(loss: Loss, rows: int, seed: int, rtol: float | None, like: Array | None) -> Subject:
    """Draw the residuals on which a loss is tried."""
    rng = np.random.default_rng(seed)
    like = np.zeros(1) if like is None else like
    sizes = np.array([0.01, 0.3, 1.0, 1.0, 3.0, 30.0])[:, None]
    points = [
        sizes * rng.standard_normal((sizes.size, rows)),
        np.zeros((1, rows)),
        np.ones((1, rows)),
        -np.ones((1, rows)),
        rng.integers(-2, 3, (3, rows)),
        rng.permuted(np.eye(2, rows) * 5 - 1, axis=1),
    ]
    eps = float(namespace(like).finfo(like.dtype).eps)
    z = _host(from_numpy(np.concatenate(points), like))
    return Subject(loss, z, eps**0.5 if rtol is None else rtol, like, seed)


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
        fine = (_host(z) == s.z).all(axis=-1)
        s.require(fine, f"`{name}` leaves its argument unchanged", before=s.z, after=_host(z))


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


def prox_beats_rivals(s: Subject) -> None:
    """No point near prox(z), on the line from z to it, or far away has a smaller objective."""
    rng = s.rng()
    k, rows = s.z.shape
    for step in STEPS:
        p = s.prox(s.z, step)
        best = s.prox_objective(p, s.z, step)
        away = rng.standard_normal((12, k, rows)) * np.geomspace(1e-3, 10, 12)[:, None, None]
        alone = rng.standard_normal((8, k, 1)) * np.eye(rows)[rng.integers(rows, size=(8, k))]
        line = np.linspace(-1, 2, 13)[:, None, None] * (s.z - p)
        rivals = np.concatenate([p + away, p + alone, p + line, 0 * p[None]])
        objective = s.prox_objective(rivals, s.z, step)
        nearest = np.argmin(objective, axis=0)
        least = objective[nearest, np.arange(k)]
        s.require(
            best <= least + s.slack(best),
            f"prox(z, {step}) minimises f(y) + |z - y|^2 / (2 step)",
            z=s.z,
            prox=p,
            objective=best,
            rival=rivals[nearest, np.arange(k)],
            rival_objective=least,
        )


def separable_prox_beats_grid(s: Subject) -> None:
    """Row by row, no point of a fine grid has a smaller objective."""
    if not s.loss.separable:
        return
    grid = s.round(np.linspace(-40, 40, 3201))
    values = s.values(grid)
    for step in STEPS:
        z = np.unique(s.z)
        p = s.prox(z, step)
        best = s.values(p) + (z - p) ** 2 / (2 * step)
        rivals = np.min(values + (z[:, None] - grid) ** 2 / (2 * step), axis=-1)
        s.require(
            best <= rivals + s.slack(best),
            f"prox(z, {step}) beats a grid",
            z=z,
            prox=p,
            objective=best,
            grid_objective=rivals,
        )


def prox_is_firmly_nonexpansive(s: Subject) -> None:
    """|p - q|^2 <= <p - q, z - w> for p = prox(z), q = prox(w); convex losses only."""
    if not s.loss.convex:
        return
    z, w = s.z, np.roll(s.z, 1, axis=0)
    for step in STEPS:
        apart = s.prox(z, step) - s.prox(w, step)
        left, right = np.sum(apart**2, axis=-1), np.sum(apart * (z - w), axis=-1)
        s.require(
            left <= right + s.slack(left),
            f"prox(., {step}) is firmly nonexpansive (the loss is declared convex)",
            z=z,
            w=w,
            squared_distance=left,
            inner_product=right,
        )


def value_is_midpoint_convex(s: Subject) -> None:
    """f((z + w)/2) <= (f(z) + f(w))/2; convex losses only."""
    if not s.loss.convex:
        return
    for shift in (1, 2, 5):
        w = np.roll(s.z, shift, axis=0)
        middle, mean = s.value((s.z + w) / 2), (s.value(s.z) + s.value(w)) / 2
        s.require(
            middle <= mean + s.slack(mean),
            "the value is convex at midpoints (the loss is declared convex)",
            z=s.z,
            w=w,
            middle=middle,
            mean=mean,
        )


def slope_is_a_subgradient(s: Subject) -> None:
    """f(w) >= f(p) + <y, w - p> for y = (z - p)/step: what lower bounds stand on; convex losses only."""
    if not s.loss.convex:
        return
    for step in STEPS:
        p, y = s.prox(s.z, step), s.slope(s.z, step)
        for shift in (1, 3, 4):
            w = np.roll(s.z, shift, axis=0)
            low = s.value(p) + np.sum(y * (w - p), axis=-1)
            s.require(
                low <= s.value(w) + s.slack(low),
                "the envelope gradient is a subgradient at the prox (the loss is declared convex)",
                z=s.z,
                step=step,
                w=w,
                value=s.value(w),
                tangent=low,
            )


def conjugate_obeys_fenchel_young(s: Subject) -> None:
    """f(p) + f*(y) = <p, y> at y = (z - p)/step for convex losses, f(w) + f*(y) >= <w, y> for all."""
    try:
        s.loss.conjugate(s.to(s.z))
    except NotImplementedError:
        return
    for step in STEPS:
        y = s.slope(s.z, step)
        conjugate = _host(s.loss.conjugate(s.to(y)))
        for w in (s.z, 0 * s.z, np.roll(s.z, 1, axis=0)):
            least = np.sum(w * y, axis=-1) - s.value(w)
            s.require(
                conjugate >= least - s.slack(least),
                "f*(y) >= <w, y> - f(w)",
                y=y,
                w=w,
                conjugate=conjugate,
                least=least,
            )
        if s.loss.convex:
            p = s.prox(s.z, step)
            want = np.sum(p * y, axis=-1) - s.value(p)
            s.close(conjugate, want, f"f(p) + f*(y) = <p, y> at p = prox(z, {step})", z=s.z, y=y)


def envelope_lies_below_value(s: Subject) -> None:
    """The envelope is what its definition says, at most the value, and grows as the step shrinks."""
    above, name = s.value(s.z), "value"
    for step in sorted(STEPS):
        envelope = s.envelope(s.z, step)
        at_prox = s.prox_objective(s.prox(s.z, step), s.z, step)
        s.close(envelope, at_prox, f"envelope(z, {step}) is the objective at the prox", z=s.z)
        s.require(
            envelope <= above + s.slack(above),
            f"envelope(z, {step}) <= {name}",
            z=s.z,
            envelope=envelope,
            above=above,
        )
        above, name = envelope, f"envelope(z, {step})"


def slope_matches_prox(s: Subject) -> None:
    """envelope_grad = (z - prox)/step."""
    for step in STEPS:
        want = (s.z - s.prox(s.z, step)) / step
        s.close(s.slope(s.z, step), want, f"envelope_grad(z, {step}) = (z - prox)/step", z=s.z)


def slope_is_finite_difference(s: Subject) -> None:
    """0 <= env(z + h) - env(z) - <gradient, h> <= |h|^2/(2 step); convex losses only."""
    if not s.loss.convex:
        return
    direction = s.rng().standard_normal(s.z.shape)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    for step in STEPS:
        moved = s.round(s.z + s.eps ** (1 / 3) * direction)
        h = moved - s.z
        size = np.linalg.norm(h, axis=-1)
        before, after = s.envelope(s.z, step), s.envelope(moved, step)
        slope = np.sum(s.slope(s.z, step) * h, axis=-1) / size
        quotient = (after - before) / size
        rounding = s.slack(slope) + 4 * s.eps * (1 + np.abs(before)) / size
        s.require(
            np.abs(quotient - slope) <= size / (2 * step) + rounding,
            f"the gradient of envelope(., {step}) is its finite difference",
            z=s.z,
            difference=quotient,
            slope=slope,
        )


def lipschitz_holds(s: Subject) -> None:
    """|f(z) - f(w)| <= lipschitz |z - w|, row by row if separable."""
    if s.loss.lipschitz == inf:
        return
    z, w = s.z, np.roll(s.z, 1, axis=0)
    if s.loss.separable:
        rise, run = s.values(z) - s.values(w), z - w
    else:
        rise, run = s.value(z) - s.value(w), np.linalg.norm(z - w, axis=-1)
    bound = s.loss.lipschitz * np.abs(run)
    fine = np.abs(rise) <= bound + s.slack(bound)
    s.require(
        fine.reshape(len(z), -1).all(axis=-1), "the declared `lipschitz`", z=z, w=w, change=rise, bound=bound
    )


def curvature_holds(s: Subject) -> None:
    """|f(z + h) - 2 f(z) + f(z - h)| <= curvature |h|^2."""
    if s.loss.curvature == inf:
        return
    for size in (0.03, 0.3, 3.0):
        h = size * s.rng().standard_normal(s.z.shape)
        up, down = s.round(s.z + h), s.round(s.z - h)
        bend = np.abs(s.value(up) - 2 * s.value(s.z) + s.value(down))
        bound = s.loss.curvature * np.sum(((up - down) / 2) ** 2, axis=-1)
        s.require(
            bend <= bound + s.slack(bound, s.value(up)),
            "the declared `curvature`",
            z=s.z,
            h=h,
            second_difference=bend,
            bound=bound,
        )


def positive_holds(s: Subject) -> None:
    """f >= 0."""
    if s.loss.positive:
        value = s.value(s.z)
        s.require(value >= 0, "the declared `positive`", z=s.z, value=value)


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


LOSS_PROPERTIES: tuple[Callable[[Subject], None], ...] = (
    types_and_shapes_are_kept,
    inputs_are_left_alone,
    batch_equals_loop,
    prox_beats_rivals,
    separable_prox_beats_grid,
    slope_matches_prox,
    envelope_lies_below_value,
    positive_holds,
    lipschitz_holds,
    curvature_holds,
    separable_holds,
    array_steps_broadcast,
    value_is_midpoint_convex,
    prox_is_firmly_nonexpansive,
    slope_is_a_subgradient,
    conjugate_obeys_fenchel_young,
    slope_is_finite_difference,
)


def _methods(loss: Loss) -> tuple[tuple[str, Callable[[Array], Array]], ...]:
    return (
        ("value", loss.value),
        ("prox", lambda z: loss.prox(z, 1.0)),
        ("envelope", lambda z: loss.envelope(z, 1.0)),
        ("envelope_grad", lambda z: loss.envelope_grad(z, 1.0)),
    )


def _host(x: Array) -> Host:
    return np.array(to_numpy(x), np.float64)


def _shown(x: Any, case: int, n_cases: int) -> str:
    if isinstance(x, np.ndarray) and x.ndim and len(x) == n_cases:
        x = x[case]
    return np.array2string(np.asarray(x), precision=8) if isinstance(x, np.ndarray | np.generic) else str(x)
