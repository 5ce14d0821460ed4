"""`dcra solve FILE`."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from math import isfinite, isqrt
from typing import TYPE_CHECKING, Any

import click

from dcra.cli.errors import bad_input

if TYPE_CHECKING:
    from dcra.model.problem import Problem
    from dcra.result import Result

KINDS = {
    "rudy": "a Max-Cut graph",
    "sparse": "a Biq Mac QUBO",
    "qubo": "a QUBO",
    "coo": "a QUBO in COO form",
    "qaplib": "a quadratic assignment problem",
    "marketsplit": "a market split",
}
"""Formats of which it is said how a file was read, in words."""

SHORT = 64
"""Points of up to this many variables are printed."""


@click.command()
@click.argument("file")
@click.option("--format", metavar="NAME", help="Format instead of the one that the file looks like.")
@click.option("--loss", metavar="NAME", help="Loss instead of the file's: l1, huber:threshold=2, ...")
@click.option("--domain", metavar="NAME", help="spin ({-1,1}) or binary ({0,1}) instead of the file's.")
@click.option("--b", metavar="FILE", help="Right-hand side of a Matrix Market file, if not beside it.")
@click.option("--max-bytes", type=int, help="Most that FILE may expand to; 2 GiB, less where it is packed.")
@click.option("--max-size", type=int, help="Most variables that FILE may declare without mentioning them.")
@click.option("--method", default="auto", show_default=True, help="How to solve it.")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Stop after this time, reading included.")
@click.option("--starts", type=int, help="Initial points; 32 if there is no time limit either.")
@click.option(
    "--target",
    type=float,
    help="Stop at this objective; of a graph, this cut; of a model that maximises, this maximum.",
)
@click.option(
    "--gap", type=float, help="Stop at this (objective - bound) / |objective|: 0.01 is one per cent."
)
@click.option("--pool", type=int, help="Also give the best so many points that were met.")
@click.option("--distance", type=int, help="In how many variables any two points of the pool differ; 1.")
@click.option("--seed", type=int, help="Same seed, same answer; drawn if not given.")
@click.option("--jobs", type=int, help="Threads; all cores by default.")
@click.option("--device", metavar="NAME", help="Where to search: cpu, cuda, cuda:1, ...")
@click.option("--window", type=int, help="Starts under way at a time, where they are counted; 8.")
@click.option("--scheduler", metavar="ADDRESS", help="Solve by the workers of a Dask cluster, tcp://...")
@click.option("--workers", type=int, help="Solve by so many processes of this machine instead of threads.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--output", metavar="FILE", help="Also write the answer to a .json, .npz or .txt file.")
@click.option("--proof", metavar="FILE", help="Also write the tree that proves the answer (.npz).")
@click.option("--plot", metavar="FILE", help="Also draw objective and bound over time (.png, .pdf, .svg).")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def solve(
    file: str,
    format: str | None,
    loss: str | None,
    domain: str | None,
    b: str | None,
    max_bytes: int | None,
    max_size: int | None,
    as_json: bool,
    output: str | None,
    proof: str | None,
    plot: str | None,
    quiet: bool,
    jobs: int | None,
    distance: int | None,
    scheduler: str | None,
    workers: int | None,
    **options: Any,
) -> int:
    """Solve the problem in FILE.

    Known are .npz, Matrix Market, .mps and .lp models, DIMACS clauses (.cnf, .wcnf), Max-Cut graphs (rudy,
    G-set), QUBO files (.sparse, .qubo, .coo), QAPLIB and market split .dat files, packed or not. Files of
    other names are recognised by what they hold. FILE - is standard input.

    Clauses are answered in the format of the MaxSAT Evaluation: lines o, s and v; a pool in lines c.

    Ctrl-C ends the search early: the best answer so far is printed, and the exit code is 130. It is 1 where
    no point that satisfies the constraints was found.
    """
    begun = time.perf_counter()
    from dcra import api, io
    from dcra.cli.outputs import check_output, check_plot, check_proof, save_output, save_plot, save_proof
    from dcra.io.limits import limited
    from dcra.io.paths import spooled
    from dcra.machines.clusters import cluster
    from dcra.progress import terminal
    from dcra.result import Status

    with (
        bad_input(),
        ExitStack() as stack,
    ):  # before the work, so that no answer is lost for want of a place to put it
        check_output(output)
        check_proof(proof)
        check_plot(plot)
        with limited(max_bytes, max_size), spooled(file) as path:
            limits = {"max_bytes": max_bytes, "max_size": max_size}
            problem = io.read(path, format, b=b, loss=loss, domain=domain, **limits)
            kind = format or io.recognised(path)
        options["target"] = minimised(problem, options["target"], kind)
        client = stack.enter_context(cluster(scheduler, workers))
        options |= {"executor": client, "pool": pool_asked_for(options["pool"], distance, problem.n)}
        options["method"] = method_for(options["method"], proof)
        options |= {"n_jobs": jobs, "progress": not quiet and terminal() is not None}
        from dcra.apps.maxsat.problem import ClauseProblem

        if isinstance(problem, ClauseProblem) and not as_json:
            from dcra.cli.maxsat import solve_clauses

            result = solve_clauses(file, problem, options, begun)
        else:
            progress = options.pop("progress")
            result = api.solve_since(begun, problem, api.SolveOptions(**options), progress)
            numbers = result.to_dict() | as_stated(problem, result)
            click.echo(json.dumps(numbers) if as_json else summary(file, problem, result, kind))
    with bad_input():
        save_output(output, result)
        save_proof(proof, result)
        save_plot(plot, result)
    if result.status is Status.INTERRUPTED:
        return 130
    return 0 if result.feasible else 1


def method_for(name: str, proof: str | None) -> Any:
    """The method of this name; one that leaves a tree where the tree is to be written."""
    if name != "exact" or proof is None:
        return name
    from dcra.exact.prove import Prove

    return Prove(delegates=False)


def minimised(problem: Problem, target: float | None, kind: str = "") -> float | None:
    """A target in the words of the file, such as a cut, in those of the problem, which minimises."""
    return 0.0 - target if target is not None and (problem.maximises or kind == "rudy") else target


def summary(file: str, problem: Problem, result: Result, kind: str = "") -> str:
    """The result in aligned lines, with what was solved above and the point, if it is short, below."""
    size = f"{problem.n} {problem.domain} variables"
    size += f", {problem.n_rows} rows" if problem.n_rows else ""
    size += f", {problem.quadratic.entries} entries in Q" if problem.quadratic is not None else ""
    read_as = f" (read as {KINDS[kind]}; --format says otherwise)" if kind in KINDS else ""
    rows = [_row("problem", f"{file}: {size}{read_as}")]
    if kind == "rudy":
        rows.append(_row("cut", f"{0.0 - result.fun:.10g}, at most {0.0 - result.lower_bound:.10g}"))
    if problem.maximises:
        rows.append(_row("maximum", f"{0.0 - result.fun:.10g}, at most {0.0 - result.lower_bound:.10g}"))
    x = point_text(result, kind) if not problem.variable_names else names_up(problem, result)
    return "\n".join([*rows, str(result), _row("x", x), *pool_rows(result)])


def names_up(problem: Problem, result: Result) -> str:
    """The names of the variables that are 1, if they are not too many."""
    up = [name for name, value in problem.by_name(result.x).items() if value > 0]
    if len(up) > SHORT:
        return f"{len(up)} variables are 1; get them by --output FILE or --json"
    return f"1: {' '.join(up)}" if up else "all 0"


def as_stated(problem: Problem, result: Result) -> dict[str, Any]:
    """What JSON says in the words of the file: values by name, and the objective that it maximises."""
    said: dict[str, Any] = {}
    if problem.variable_names:
        said["values"] = problem.by_name(result.x)
    if problem.maximises:
        bound = 0.0 - result.lower_bound
        said |= {"maximum": 0.0 - result.fun, "upper_bound": bound if isfinite(bound) else None}
    return said


def pool_rows(result: Result) -> list[str]:
    """The points of the pool, each with its objective, where they are short."""
    pool = result.pool
    if pool is None or result.x.shape[0] > SHORT:
        return []
    values = [f"{value:.10g}" for value in pool.values.tolist()]
    return [_row(value, signs(x)) for value, x in zip(values, pool.points, strict=True)]


def pool_asked_for(size: int | None, distance: int | None, n: int) -> Any:
    from dcra.model.pool import Pool, as_pool

    if distance is None:
        return size
    if size is None:
        raise ValueError("--distance needs --pool, how many points to give")
    return as_pool(Pool(size, distance), n)


def point_text(result: Result, kind: str = "") -> str:
    from dcra._array import to_numpy

    x = to_numpy(result.x).astype(int)
    if kind == "qaplib":
        places = x.reshape(isqrt(x.size), -1)
        return " ".join(str(place + 1) for place in places.argmax(axis=1).tolist())
    if x.size > SHORT:
        return f"{x.size} numbers; get them by --output FILE or --json"
    return signs(x)


def signs(x: Any) -> str:
    """A point in a row of signs or bits."""
    from dcra._array import to_numpy

    x = to_numpy(x).astype(int)
    marks = {-1: "-", 0: "0", 1: "1"} if x.min() >= 0 else {-1: "-", 1: "+"}
    return "".join(marks[value] for value in x.tolist())


def _row(name: str, value: str) -> str:
    return f"{name:>12}  {value}"
