"""The tree below a node by SciPy's linear programs: where there are no loops, and to compare with them.

    minimise  c'x + hi'p - lo'm   subject to   Ax - p + m = b,   l <= x <= u,   p, m >= 0,

whose multipliers are the slopes. What they prove is looked at again, as in the loops.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Answer, Event
from dcra.exact.kinks import KinkForm
from dcra.exact.subtree import OpenNode, Records
from dcra.foreign import importing

INSIDE = 1e-7
"""Distance from both ends at which a variable of a relaxation is between them."""


class PlainSubtree:
    """Resumable: depth first, a node in each step, until all is closed or `budget` nodes are taken."""

    def __init__(self, form: KinkForm, node: OpenNode, numbers: int, budget: int) -> None:
        self.form, self.node, self.numbers, self.budget = form, node, numbers, budget
        self.stack = [node]
        self.nodes = 0
        self.worked = 10 * form.A.size  # in an advance, about
        self.events: list[tuple[int, int, int, int]] = []
        self.slopes: list[Host] = []
        self.best, self.reached = np.zeros(form.n), np.zeros(form.n)

    @property
    def bound(self) -> float:
        return self.node.bound

    @property
    def share(self) -> float:
        return sum(node.share for node in self.stack)

    def point(self, leaf: bool) -> Host:
        return (self.reached if leaf else self.best)[None].copy()

    def take_records(self) -> Records:
        events = np.array(self.events, np.int64).reshape(-1, 4)
        slopes = np.array(self.slopes).reshape(-1, self.form.r)
        self.events, self.slopes = [], []
        return Records(events, slopes)

    def open_nodes(self) -> list[OpenNode]:
        return self.stack

    def advance(self, work: int, cutoff: float, best: float) -> Answer:
        """Take the last node of the stack."""
        if not self.stack:
            return Answer.CLOSED
        if self.nodes > self.budget:
            return Answer.SPLIT
        node = self.stack.pop()
        self.nodes += 1
        if np.all(node.box):
            self.reached = self._ends(node.box)[0]
            self._note(Event.POINT, node.number, 0, -1)
            return Answer.REACHED
        x, y = self._relaxation(node)
        bound = float(self.form.bounds(y[None], node.box[None])[0])
        if bound >= cutoff:
            self._note(Event.LEAF, node.number, 0, self._keep(y))
            return Answer.TIRED
        self._fix(node, y, cutoff)
        if bound > node.bound:  # else a bound that rests on the slopes above is kept with them
            node = node._replace(bound=bound, y=y)
        self._divide(node, x)
        return self._round(x, best)

    def _note(self, kind: int, node: int, what: int, slopes: int) -> None:
        self.events.append((kind, node, what, slopes))

    def _keep(self, y: Host) -> int:
        self.slopes.append(y)
        return len(self.slopes) - 1

    def _ends(self, box: Host) -> tuple[Host, Host]:
        form = self.form
        return np.where(box > 0, form.high, form.low), np.where(box < 0, form.low, form.high)

    def _relaxation(self, node: OpenNode) -> tuple[Host, Host]:
        """The least point of the box and its slopes; those of the node where there is no answer."""
        form, (low, high) = self.form, self._ends(node.box)
        with importing():
            from scipy.optimize import linprog

        up, down = np.isfinite(form.hi), np.isfinite(form.lo)
        eye = np.eye(form.r)
        rows = np.hstack([form.A, -eye[:, up], eye[:, down]])
        cost = np.concatenate([form.c, form.hi[up], -form.lo[down]])
        most = np.full(cost.size, inf)
        least, most[: form.n] = np.zeros(cost.size), high
        least[: form.n] = low
        bounds: Any = np.stack([least, most], axis=1)
        found = linprog(cost, A_eq=rows, b_eq=form.b, bounds=bounds, method="highs")
        if found.x is None:
            return (low + high) / 2, node.y
        return found.x[: form.n], np.clip(-found.eqlin.marginals, form.lo, form.hi)

    def _fix(self, node: OpenNode, y: Host, cutoff: float) -> None:
        """Fix variables whose other end the slopes rule out; `node.box` is changed."""
        free = np.flatnonzero(node.box == 0)
        for side, kind in ((-1, Event.TO_LOW), (1, Event.TO_HIGH)):
            boxes = np.repeat(node.box[None], free.size, axis=0)
            boxes[np.arange(free.size), free] = -side
            out = free[self.form.bounds(np.repeat(y[None], free.size, axis=0), boxes) >= cutoff]
            for j in out[node.box[out] == 0]:
                self._note(kind, node.number, int(j), self._keep(y))
                node.box[j] = side

    def _divide(self, node: OpenNode, x: Host) -> None:
        """Put both sides of the variable that is the furthest from its ends on the stack."""
        if np.all(node.box):
            self.stack.append(node)
            return
        form = self.form
        inside = np.where(node.box == 0, np.minimum(x - form.low, form.high - x), -1.0)
        j = int(np.argmax(inside))
        self._note(Event.BRANCH, node.number, j, self.numbers)
        sides = (-1, 1) if x[j] > (form.low + form.high) / 2 else (1, -1)
        for side in sides:  # the nearer one is taken first
            box = node.box.copy()
            box[j] = side
            child = node._replace(number=self.numbers + (side > 0), box=box, share=node.share / 2)
            self.stack.append(child)
        self.numbers += 2

    def _round(self, x: Host, best: float) -> Answer:
        form = self.form
        near = np.where(x - form.low < form.high - x, form.low, form.high)
        z = form.A @ near - form.b
        slope = np.where(z > 0, form.hi, form.lo)
        if np.any(np.abs(z[np.isinf(slope)]) > INSIDE):
            return Answer.TIRED
        soft = np.isfinite(slope)
        if not slope[soft] @ z[soft] + form.c @ near < best:
            return Answer.TIRED
        self.best = near
        return Answer.FOUND
