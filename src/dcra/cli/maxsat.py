"""`dcra solve` for files of clauses: the output of the MaxSAT Evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dcra.apps.maxsat import ClauseProblem
    from dcra.result import Result


def solve_clauses(file: str, problem: ClauseProblem, options: dict[str, Any]) -> Result:
    """Solve, saying o lines as the cost falls, then the s and v lines."""
    from dcra import api
    from dcra.apps.maxsat import Reporter, final_lines
    from dcra.apps.maxsat.solve import judged

    clauses = problem.clauses
    soft = clauses.m - int(clauses.hard.sum())
    click.echo(f"c {file}: {clauses.n} variables, {soft} soft and {clauses.m - soft} hard clauses")
    load_loops()
    reporter = Reporter(clauses, click.echo)
    result = api.solve(problem, callback=reporter, **options)
    answer = judged(problem, result)
    if answer.feasible:
        reporter.tell(answer.cost)
    click.echo(f"c {answer}")
    for line in final_lines(answer):
        click.echo(line)
    return result


def load_loops() -> None:
    """Compile the loops over clauses, or load them from the cache: not on the search's time."""
    from dcra._kernels import loading
    from dcra.apps import maxsat

    if not loading.available():
        return
    if not loading.cached("clauses"):
        click.echo("c compiling the inner loops, once; this takes some seconds")
    maxsat.solve([[v] for v in range(1, 50)], hard=[[-1, -2], [1, 2, 3]], starts=3, seed=0)
