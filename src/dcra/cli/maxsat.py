"""`dcra solve` for files of clauses: the output of the MaxSAT Evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dcra.apps.maxsat import ClauseProblem
    from dcra.apps.maxsat.solve import MaxSatResult
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
    for line in (f"c {answer}", *pool_lines(problem, answer), *final_lines(answer)):
        click.echo(line)
    return result


def pool_lines(problem: ClauseProblem, answer: MaxSatResult) -> list[str]:
    """The points of the pool as c lines, one digit per variable; none where there is no v line either."""
    from dcra._array import to_numpy
    from dcra.apps.maxsat.output import digits
    from dcra.apps.maxsat.solve import counted

    pool = answer.result.pool
    if pool is None or not answer.feasible:
        return []
    lines = [f"c pool: {pool}"]
    for x in to_numpy(pool.points) > 0.5:
        cost, violated = problem.clauses.charged(x)
        hard = f", {counted(violated)} FALSE" if violated else ""
        lines.append(f"c cost {cost}{hard}: {digits(x)}")
    return lines
