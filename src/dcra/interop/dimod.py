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
from math import inf
from typing import Any

import numpy as np
from scipy import sparse

from dcra._array import Host, to_numpy
from dcra.api import solve
from dcra.model.problem import Problem
from dcra.result import Result
from dcra.search.checks import check_seconds
from dcra.search.interrupts import on_interrupt

try:
    import dimod as _dimod
except ImportError as error:
    raise ImportError("dcra.interop.dimod needs dimod: pip install 'dcra[dimod]'") from error

dimod: Any = _dimod  # its stubs lack half of it

LEAST_SECONDS = 1e-3
"""Of a read, however many of them are to share the time."""

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
    """`dcra.solve` behind dimod's interface; each sample is the answer of one solve."""

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
            Samples; each is a solve of its own.
        seed : int, optional
            Of the first sample; the next ones count on from there.
        time_limit : float, optional
            Seconds for all samples together; there are fewer than `num_reads` where they are over before.
        starts, method, n_jobs
            Of `dcra.solve`.
        initial_states : samples-like, optional
            Points to start from, one for each read in turn.

        Returns
        -------
        dimod.SampleSet
            Energies are computed by the model. `info` holds the seed, the seconds of each read ("timing"),
            the best lower bound on the energy ("lower_bound", None if there is none), and how each read ended
            ("status"). After Ctrl-C it has what was read by then, the last one being "interrupted".
        """
        begun = time.perf_counter()
        self.remove_unknown_kwargs(**unknown)
        limit = check_seconds("time_limit", time_limit)
        if num_reads < 1:
            raise ValueError(f"`num_reads` must be at least 1; got {num_reads}")
        bqm = dimod.as_bqm(bqm)
        order = list(bqm.variables)
        if not order:
            return dimod.SampleSet.from_samples_bqm([{}] * num_reads, bqm)
        problem = problem_of(bqm, order)
        points = _points(initial_states, order, bqm.vartype)
        first = int(np.random.default_rng().integers(2**32)) if seed is None else seed
        options = {"starts": starts, "method": method, "n_jobs": n_jobs}
        end = inf if limit is None else begun + limit
        results = _read(problem, num_reads, first, points, end, options)
        samples = np.stack([to_numpy(result.x) for result in results]).astype(np.int8)
        info = _info(results, first, time.perf_counter() - begun)
        return dimod.SampleSet.from_samples_bqm((samples, order), bqm, info=info)


def _read(
    problem: Problem, count: int, seed: int, points: Host | None, end: float, options: dict[str, Any]
) -> list[Result]:
    """One solve after another, each with its share of the time until `end`; one of them in any case."""
    results: list[Result] = []
    with on_interrupt() as interrupted:
        while len(results) < count and not interrupted:
            k = len(results)
            left = end - time.perf_counter()
            if results and left <= 0:
                break
            share = None if end == inf else max(left / (count - k), LEAST_SECONDS)
            x0 = None if points is None else points[k % len(points)]
            results.append(solve(problem, seed=seed + k, time_limit=share, x0=x0, **options))
    return results


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


def _info(results: list[Result], seed: int, seconds: float) -> dict[str, Any]:
    bound = max(result.lower_bound for result in results)
    return {
        "seed": seed,
        "timing": {"total": seconds, "reads": [result.seconds for result in results]},
        "lower_bound": bound if np.isfinite(bound) else None,
        "status": [result.status.value for result in results],
    }
