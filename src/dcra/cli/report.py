"""`dcra report FOLDER`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from dcra.cli.errors import bad_input

SHOWN = 5
"""Rows named on stderr that the page does without."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="The page [default: FOLDER/report.html]."
)
@click.option("--figures", metavar="png|pdf", help="Also draw the figures, into a folder beside the page.")
@click.option(
    "--where", multiple=True, metavar="FIELD=VALUE", help="Use such rows only; VALUE,VALUE for either."
)
@click.option("--against", metavar="METHOD", help="Begin with the wins of METHOD against each of the others.")
def report(
    folder: Path, out: Path | None, figures: str | None, where: tuple[str, ...], against: str | None
) -> None:
    """Make one HTML page from the rows in FOLDER, which `dcra bench` has written."""
    from dcra.bench.html import page
    from dcra.bench.report import make_report
    from dcra.io.contents import replacing

    file = out or folder / "report.html"
    with bad_input():
        if figures is not None:
            from dcra.bench.figures import check_format

            check_format(figures)
        if not file.parent.is_dir():
            raise ValueError(
                f"--out: there is no directory {file.parent}" if out else f"{folder}: there is no such folder"
            )
        made = make_report(folder, where, against)
        tell_left_out(made.left_out)
        with writing(file), replacing(file) as draft:
            draft.write_text(page(made), encoding="utf-8")
        click.echo(str(file))
        if figures is not None:
            from dcra.bench.figures import draw_all

            with writing(file.parent / "figures"):
                for picture in draw_all(made, file.parent / "figures", figures):
                    click.echo(str(picture))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A full disk and the like are said of what was to be written."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error


def tell_left_out(wrong: Sequence[tuple[str, str]]) -> None:
    """Name the rows that are not in the page."""
    for where, why in wrong[:SHOWN]:
        click.echo(f"dcra: left out: {where}: {why}", err=True)
    if len(wrong) > SHOWN:
        click.echo(f"dcra: and {len(wrong) - SHOWN} others; the page names them", err=True)
