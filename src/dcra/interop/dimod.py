"""dimod: a sampler for binary quadratic models, and models as problems and back.

>>> import dimod
>>> from dcra.interop.dimod import DCRASampler
>>> bqm = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -2.0}, 0.0, "SPIN")
>>> float(DCRASampler().sample(bqm, seed=0).first.energy)
-3.0
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from dcra._array import Host, to_numpy
from dcra.api import solve
from dcra.model.problem import Problem
from dcra.result import Result
from dcra.search.checks import check_count

try:
    import dimod as _dimod
except ImportError as error:
    raise ImportError("dcra.interop.dimod needs dimod: pip install 'dcra[dimod]'") from error

dimod: Any = _dimod  # its stubs lack half of it

__all__ = ["DCRASampler", "bqm_of", "problem_of"]

STARTS = 32
"""Of a search, at least, where neither starts nor time are given."""

DOMAIN = {dimod.SPIN: "spin", dimod.BINARY: "binary"}


def problem_of(bqm: Any, variables: list[Any] | None = None) -> Problem:
    """The problem of a binary quadratic model; variables in the model's order, or the one given."""
    order = list(bqm.variables) if variables is None else variables
    h, (row, col, value), offset = bqm.to_numpy_vectors(variable_order=order)
    n = len(order)
    Q = sparse.coo_array((np.asarray(value, np.float64), (row, col)), shape=(n, n)).tocsc()
    linear = np.asarray(h, np.float64)
    return Problem(linear=linear, quadratic=Q, constant=float(offset), domain=DOMAIN[bqm.vartype])


def bqm_of(problem: Problem) -> Any:
    """The binary quadratic model of a problem without losses, over variables 0, 1, ..."""
    quadratic = problem.quadratic
    if problem.constraints is not None:
        raise ValueError(
            f"`problem` must have no constraints, which a binary quadratic model cannot hold; got "
            f"{len(problem.constraints)}. dcra.solve takes the problem as it is"
        )
    if problem.terms or (quadratic is not None and quadratic.matrix_free):
        raise ValueError("a binary quadratic model holds x'Qx + c'x + constant alone; the problem has more")
    linear = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear)
    constant = problem.constant
    model = dimod.BinaryQuadraticModel("SPIN" if problem.domain == "spin" else "BINARY")
    pairs: dict[tuple[int, int], float] = {}
    if quadratic is not None:
        upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
        row, col = upper.coords
        pairs = dict(
            zip(zip(row.tolist(), col.tolist(), strict=True), (2 * upper.data).tolist(), strict=True)
        )
        if problem.domain == "spin":
            constant += float(np.sum(quadratic.diagonal))
        else:
            linear = linear + quadratic.diagonal
    model.add_linear_from(enumerate(linear.tolist()))
    model.add_quadratic_from((i, j, value) for (i, j), value in pairs.items())
    model.offset = constant
    return model


class DCRASampler(dimod.Sampler):  # type: ignore[misc]
    """`dcra.solve` behind dimod's interface: samples are the best points that one search has met."""

    parameters: Mapping[str, list[str]] = {
        name: []
        for name in ("num_reads", "seed", "time_limit", "starts", "initial_states", "method", "n_jobs")
    }
    properties: Mapping[str, Any] = {"description": "binary optimisation by dcra"}

    def sample(
        self,
        bqm: Any,
        *,
        num_reads: int = 1,
        seed: int | None = None,
        time_limit: float | None = None,
        starts: int | None = None,
        initial_states: Any = None,
        method: str = "auto",
        n_jobs: int | None = None,
        **unknown: Any,
    ) -> Any:
        """Sample low states of a model.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
        num_reads : int
            Samples, at most: the best points that one search has met, no two of them equal.
        time_limit : float, optional
            Seconds for all samples together.
        starts : int, optional
            Of the search; without a time limit 32, or `num_reads` where that is more.
        seed, method, n_jobs
            Of `dcra.solve`.
        initial_states : samples-like, optional
            Points to start from.

        Returns
        -------
        dimod.SampleSet
            Best first, with energies as the model computes them. `info` holds the seed, the seconds
            ("timing"), a lower bound on the energy ("lower_bound", None if there is none), and how the search
            ended ("status"). After Ctrl-C there is what was found by then, and the status is "interrupted".
        """
        begun = time.perf_counter()
        self.remove_unknown_kwargs(**unknown)
        reads = check_count("num_reads", num_reads) or 1
        bqm = dimod.as_bqm(bqm)
        order = list(bqm.variables)
        if not order:
            return dimod.SampleSet.from_samples_bqm([{}], bqm)
        points = _points(initial_states, order, bqm.vartype)
        if starts is None and time_limit is None:
            starts = max(STARTS, reads, 0 if points is None else len(points))
        options: dict[str, Any] = {"starts": starts, "time_limit": time_limit, "seed": seed}
        options |= {"method": method, "n_jobs": n_jobs, "x0": points}
        result = solve(problem_of(bqm, order), pool=reads, **options)
        samples = points_of(result).astype(np.int8), order
        return dimod.SampleSet.from_samples_bqm(samples, bqm, info=info_of(result, begun))


def _points(states: Any, order: list[Any], vartype: Any) -> Host | None:
    """Initial states as points, one a row, in the order of the variables."""
    if states is None:
        return None
    if isinstance(states, dimod.SampleSet):
        states = states.change_vartype(vartype, inplace=False)
    array, labels = dimod.as_samples(states)
    place = {label: k for k, label in enumerate(labels)}
    missing = [v for v in order if v not in place]
    if missing:
        raise ValueError(f"`initial_states` must have all variables of the model; {missing[0]!r} is missing")
    points = np.asarray(array, np.float64)[:, [place[v] for v in order]]
    if vartype is dimod.BINARY and np.any(points < 0):
        points = (points + 1) / 2
    elif vartype is dimod.SPIN and not np.any(points < 0):
        points = np.where(points == 0, -1.0, 1.0)
    return points


def points_of(result: Result) -> Host:
    """The points of the pool, best first, or the one point of a result whose pool is empty."""
    pool = result.pool
    points = result.x[None] if pool is None or not len(pool) else pool.points
    return to_numpy(points).astype(np.float64)


def info_of(result: Result, begun: float) -> dict[str, Any]:
    """What a sample set says about the search that it comes from, which began then."""
    bound = result.lower_bound
    return {
        "seed": result.seed,
        "status": result.status.value,
        "lower_bound": bound if np.isfinite(bound) else None,
        "timing": {"total": time.perf_counter() - begun},
    }
