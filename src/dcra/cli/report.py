"""`dcra report FOLDER`."""

from __future__ import annotations

from pathlib import Path

import click

from dcra.cli.errors import bad_input


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="The page [default: FOLDER/report.html]."
)
@click.option("--figures", metavar="png|pdf", help="Also draw the figures, into a folder beside the page.")
@click.option(
    "--where", multiple=True, metavar="FIELD=VALUE", help="Use such rows only; VALUE,VALUE for either."
)
def report(folder: Path, out: Path | None, figures: str | None, where: tuple[str, ...]) -> None:
    """Make one HTML page from the rows in FOLDER, which `dcra bench` has written."""
    from dcra.bench.html import page
    from dcra.bench.report import make_report

    file = out or folder / "report.html"
    with bad_input():
        if figures is not None:
            from dcra.bench.figures import check_format

            check_format(figures)
        if not file.parent.is_dir():
            raise ValueError(
                f"--out: there is no directory {file.parent}" if out else f"{folder}: there is no such folder"
            )
        made = make_report(folder, where)
        try:
            file.write_text(page(made), encoding="utf-8")
            click.echo(str(file))
            if figures is not None:
                from dcra.bench.figures import draw_all

                for picture in draw_all(made, file.parent / "figures", figures):
                    click.echo(str(picture))
        except OSError as error:
            raise ValueError(f"{error.filename or file}: {error.strerror or error}") from error
