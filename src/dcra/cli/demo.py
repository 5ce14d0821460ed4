"""`dcra demo`."""

from __future__ import annotations

import click


@click.command()
@click.option("--seconds", default=3.0, show_default=True, help="Time given to each rival.")
@click.option("--seed", default=0, show_default=True, help="Draws the instances.")
@click.option("--plot", default="dcra-demo.png", show_default=True, metavar="FILE", help="Where to draw.")
def demo(seconds: float, seed: int, plot: str) -> None:
    """Solve two problems and compare with rivals that are run here and now."""
    from rich.console import Console

    from dcra.cli.demonstration import present
    from dcra.cli.errors import bad_input

    if not 0 < seconds < float("inf"):
        raise click.BadParameter(f"must be positive; got {seconds}", param_hint="--seconds")
    with bad_input():
        present(Console(highlight=False), seconds, seed, plot)
