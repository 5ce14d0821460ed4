"""`dcra solve` for files of clauses: the output of the MaxSAT Evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dcra.apps.maxsat import ClauseProblem
    from dcra.result import Result


def solve_clauses(file: str, problem: ClauseProblem, options: dict[str, Any], begun: float) -> Result:
    """Solve, saying o lines as the cost falls, then the s and v lines; seconds count from `begun`."""
    from dcra import api
    from dcra.apps.maxsat import Reporter, final_lines
    from dcra.apps.maxsat.solve import judged

    clauses = problem.clauses
    soft = clauses.m - int(clauses.hard.sum())
    click.echo(f"c {file}: {clauses.n} variables, {soft} soft and {clauses.m - soft} hard clauses")
    reporter = Reporter(clauses, click.echo)
    progress = options.pop("progress")
    result = api.solve_since(begun, problem, api.SolveOptions(callback=reporter, **options), progress)
    answer = judged(problem, result)
    if answer.feasible:
        reporter.tell(answer.cost)
    click.echo(f"c {answer}")
    for line in final_lines(answer):
        click.echo(line)
    return result
