"""dimod's constrained quadratic models: as problems, and a sampler in the style of the hybrid ones.

>>> import dimod
>>> from dcra.interop.cqm import DCRACQMSampler
>>> i, a = dimod.Integer("i", upper_bound=5), dimod.Binary("a")
>>> cqm = dimod.ConstrainedQuadraticModel()
>>> cqm.set_objective(i * i - 5 * i - 3 * a)
>>> _ = cqm.add_constraint(i + 2 * a <= 3, label="capacity")
>>> float(DCRACQMSampler().sample_cqm(cqm, seed=0).first.energy)
-7.0
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint

from dcra._array import Host
from dcra.api import solve
from dcra.interop._parts import Parts
from dcra.interop.dimod import DCRASampler, dimod, info_of, points_of
from dcra.model.integers import IntegerProblem
from dcra.model.problem import Problem
from dcra.model.soft import soft
from dcra.model.term import Term
from dcra.search.checks import check_count

__all__ = ["DCRACQMSampler", "problem_of_cqm"]

UNITS = {"BINARY": (1.0, 0.0), "INTEGER": (1.0, 0.0), "SPIN": (2.0, -1.0)}
"""A variable is scale * t + shift of a whole number t that is not negative, or has bounds."""


class Model(Parts):
    """A constrained quadratic model, read: what is minimised over whole numbers t, v = scale * t + shift."""

    def __init__(self, cqm: Any) -> None:
        if not isinstance(cqm, dimod.ConstrainedQuadraticModel):
            raise TypeError(f"`cqm` must be a dimod.ConstrainedQuadraticModel; got {type(cqm).__name__}")
        self.order = list(cqm.variables)
        if not self.order:
            raise ValueError("`cqm` must have variables; it has none")
        super().__init__(len(self.order))
        self.place = {v: k for k, v in enumerate(self.order)}
        self.kinds = [cqm.vartype(v).name for v in self.order]
        for v, kind in zip(self.order, self.kinds, strict=True):
            if kind not in UNITS:
                raise ValueError(f"variables must be binary, spin or integer; {v!r} is {kind.lower()}")
        self.scale, self.shift = np.array([UNITS[kind] for kind in self.kinds]).T
        self.low, self.high = self._ends(cqm)
        self._charge(*self._form(cqm.objective))
        for label, one in cqm.constraints.items():
            self._constrain(str(label), one)

    def _ends(self, cqm: Any) -> tuple[Host, Host]:
        low, high = np.zeros(len(self.order)), np.ones(len(self.order))
        for k, (v, kind) in enumerate(zip(self.order, self.kinds, strict=True)):
            if kind == "INTEGER":
                low[k], high[k] = np.ceil(cqm.lower_bound(v)), np.floor(cqm.upper_bound(v))
                if high[k] - low[k] > 1 << 20:
                    ends = f"{low[k]:g} to {high[k]:g}"
                    raise ValueError(f"integers must have bounds at most 2^20 apart; {v!r} goes from {ends}")
        return low, high

    def _form(self, expression: Any) -> tuple[Any, Host, float]:
        """Quadratic and linear coefficients, and the offset, of an objective or a left-hand side."""
        n, c = len(self.order), np.zeros(len(self.order))
        for v, bias in expression.linear.items():
            c[self.place[v]] += bias
        pairs = [(self.place[u], self.place[v], bias) for (u, v), bias in expression.quadratic.items()]
        row, col, value = zip(*pairs, strict=True) if pairs else ((), (), ())
        Q = sparse.coo_array((np.asarray(value, float), (row, col)), shape=(n, n), dtype=float).tocsr()
        return Q, c, float(expression.offset)

    def _charge(self, Q: Any, c: Host, offset: float) -> None:
        """Add v'Qv + c'v + offset to what is minimised over t."""
        D = sparse.diags_array(self.scale)
        if Q.nnz:
            self.add_quadratic((D @ Q @ D).tocsc())
        constant = offset + float(c @ self.shift) + float(self.shift @ (Q @ self.shift))
        self.add_affine(self.scale * (c + (Q + Q.T) @ self.shift), constant)

    def _constrain(self, label: str, one: Any) -> None:
        Q, c, offset = self._form(one.lhs)
        if Q.nnz:
            raise ValueError(f"constraints must be linear; {label!r} has products of variables")
        row = (self.scale * c)[None]
        end = float(one.rhs) - offset - float(c @ self.shift)
        kind = one.sense.name
        if one.lhs.is_soft() and one.lhs.penalty() == "quadratic":
            sign = -1.0 if kind == "Ge" else 1.0
            loss = "squared" if kind == "Eq" else "squared_hinge"
            self.terms.append(Term(loss, sign * row, [sign * end], float(one.lhs.weight())))
            return
        low, high = -np.inf if kind == "Le" else end, np.inf if kind == "Ge" else end
        rule = LinearConstraint(row, low, high)
        self.rows[self.free_name(label)] = soft(rule, float(one.lhs.weight())) if one.lhs.is_soft() else rule

    def problem(self) -> Problem | IntegerProblem:
        """The model as a problem, over whole numbers where it has any."""
        ends = (self.low, self.high) if "INTEGER" in self.kinds else None
        return self.gathered(ends, lambda k: repr(self.order[k]))

    def values(self, t: Host) -> Host:
        """Values of the model's variables at points t."""
        return np.asarray(self.scale * t + self.shift)


def problem_of_cqm(cqm: Any) -> Problem | IntegerProblem:
    """The problem of a constrained quadratic model, spins as bits (s + 1)/2; variables in its order."""
    return Model(cqm).problem()


class DCRACQMSampler(DCRASampler):
    """`dcra.solve` in the style of the hybrid samplers: a model and a time limit in, samples out.

    Takes constrained models by `sample_cqm` and binary quadratic ones by `sample`.
    """

    parameters: Mapping[str, list[str]] = {**DCRASampler.parameters, "label": []}
    properties: Mapping[str, Any] = {"description": "constrained binary optimisation by dcra"}

    def sample_cqm(
        self,
        cqm: Any,
        time_limit: float | None = None,
        *,
        num_reads: int = 10,
        seed: int | None = None,
        starts: int | None = None,
        method: str = "auto",
        n_jobs: int | None = None,
        label: str | None = None,
    ) -> Any:
        """Low points of a constrained quadratic model.

        Parameters
        ----------
        cqm : dimod.ConstrainedQuadraticModel
            Of binary, spin and bounded integer variables, with linear constraints, hard, discrete or soft.
        time_limit : float, optional
            Seconds for all samples.
        num_reads : int
            Samples, at most: the best points that one search has met.
        seed, starts, method, n_jobs
            Of `dcra.solve`.
        label : str, optional
            Stored in `info`.

        Returns
        -------
        dimod.SampleSet
            With energies and feasibility as the model computes them. `info` holds "seed", "status",
            "lower_bound" on what is minimised, penalties of soft constraints included (None if there is
            none), "timing" and, where nothing is feasible, the labels in "conflict", as text; of labels that
            read alike, such as 1 and "1", the later ones have a number behind them: "1 (2)".
        """
        begun = time.perf_counter()
        model, reads = Model(cqm), check_count("num_reads", num_reads) or 1
        options = {"starts": starts, "seed": seed, "method": method, "n_jobs": n_jobs}
        result = solve(model.problem(), time_limit=time_limit, pool=reads, **options)  # type: ignore[arg-type]
        info = info_of(result, begun) | {"conflict": list(result.conflict), "label": label}
        samples = (model.values(points_of(result)), model.order)
        return dimod.SampleSet.from_samples_cqm(samples, cqm, info=info)
