"""`dcra verify FILE PROBLEM`."""

from __future__ import annotations

import click

from dcra.cli.errors import bad_input


@click.command()
@click.argument("file")
@click.argument("problem")
@click.option("--format", metavar="NAME", help="Format of PROBLEM instead of the one that it looks like.")
@click.option("--loss", metavar="NAME", help="Loss instead of that of PROBLEM, as in `dcra solve`.")
@click.option("--domain", metavar="NAME", help="spin or binary instead of that of PROBLEM.")
@click.option("--b", metavar="FILE", help="Right-hand side of a Matrix Market file, if not beside it.")
@click.option("--exact/--rounded", default=None, help="Without rounding, or in float64; by what it takes.")
def verify(
    file: str,
    problem: str,
    format: str | None,
    loss: str | None,
    domain: str | None,
    b: str | None,
    exact: bool | None,
) -> int:
    """Check the proof in FILE, which `dcra solve --proof` or `Result.proof` wrote, against PROBLEM.

    Every conclusion of the tree is drawn again from its slopes, or from its multipliers where there are
    couplings alone: by whole numbers, or, where that would take too long, in float64 less the most that
    rounding can cost. The exit code is 1 where the proof does not
    hold, and 2 where FILE is damaged or no proof.
    """
    from dcra import io
    from dcra.exact.verdict import Refuted
    from dcra.exact.verification import verify as check
    from dcra.io.paths import spooled
    from dcra.io.proofs import read_proof

    with bad_input():
        proof = read_proof(file)
        with spooled(problem) as path:
            stated = io.read(path, format, b=b, loss=loss, domain=domain)
        try:
            verdict = check(proof, stated, exact)
        except Refuted as error:
            click.echo(f"refuted: {error}")
            return 1
    how = "without rounding" if verdict.exact else "in float64, with bounds on its rounding"
    click.echo(f"verified {how}: {verdict.nodes} nodes, {proof.rests_on}")
    click.echo(f"no point is below {float(verdict.bound)!r}")
    click.echo(f"the proof's point has {float(verdict.fun)!r}")
    return 0
