"""`dcra bench NAME`: run a benchmark, or go on with one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcra.bench.registry import find_benchmark, known
from dcra.cli.errors import BadInput, bad_input
from dcra.messages import suggest

if TYPE_CHECKING:
    from dcra.bench.base import Case
    from dcra.bench.runner import RunSummary, Watcher


class Names(click.Group):
    """Benchmarks as subcommands, made when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*known(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if ":" not in cmd_name and cmd_name not in known():
            raise BadInput(suggest("benchmark", cmd_name, self.list_commands(ctx)))
        with bad_input():
            return _command(cmd_name)


@click.command(cls=Names, invoke_without_command=True)
@click.option("--list", "as_list", is_flag=True, help="Say what each benchmark is.")
@click.pass_context
def bench(context: click.Context, as_list: bool) -> None:
    """Run a benchmark, or go on with one that was stopped."""
    if as_list:
        for name in known():
            click.echo(f"{name:<14}{find_benchmark(name).summary}")
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


@bench.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Keep such rows only.")
@click.option("--pack", is_flag=True, help="Compress them.")
def merge(out: Path, folders: tuple[Path, ...], where: tuple[str, ...], pack: bool) -> None:
    """Put the rows of FOLDERS into the new folder OUT."""
    from dcra.bench.folder import merge as put_together

    with bad_input():
        try:
            kept, twice = put_together(out, folders, where, pack)
        except OSError as error:
            raise ValueError(f"{out}: {error.strerror or error}") from error
    click.echo(f"{kept} rows in {out}" + (f" ({twice} came twice)" if twice else ""))


def _command(name: str) -> click.Command:
    subject = find_benchmark(name)
    return click.Command(
        name,
        callback=partial(_run, name),
        short_help=subject.summary,
        help=f"{subject.summary[0].upper()}{subject.summary[1:]}.",
        epilog=f"Sizes: {', '.join(subject.sizes)}. Methods: {', '.join(subject.methods)}.",
        params=[
            click.Option(["--preset"], default="small", show_default=True, metavar="small|full"),
            click.Option(["--sizes"], metavar="A,B", help="Sizes, instead of the preset's."),
            click.Option(["--methods"], metavar="A,B", help="Methods, instead of all."),
            click.Option(["--instances"], type=int, help="Instances of each size."),
            click.Option(["--budget"], metavar="FACTOR", help="Factor on the seconds; own: no limit."),
            click.Option(
                ["--like"],
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="The cases of another folder's rows, instead of a preset's.",
            ),
            click.Option(["--where"], multiple=True, metavar="FIELD=VALUE", help="Such rows of --like."),
            click.Option(["--jobs"], default=1, show_default=True, help="Cases at once."),
            click.Option(["--scheduler"], metavar="ADDRESS", help="Run cases on a Dask cluster, tcp://..."),
            click.Option(["--workers"], type=int, help="Run cases on so many Dask workers of this machine."),
            click.Option(["--threads"], default=1, show_default=True, help="Threads of a solve."),
            click.Option(["--retry"], is_flag=True, help="Run again what was skipped or failed."),
            click.Option(
                ["--out"], type=click.Path(path_type=Path), help=f"Folder [default: {_folder(name)}]."
            ),
            click.Option(["--quiet"], is_flag=True, help="Show no progress."),
        ],
    )


def _run(
    name: str,
    preset: str,
    sizes: str | None,
    methods: str | None,
    instances: int | None,
    budget: str | None,
    like: Path | None,
    where: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
    workers: int | None,
    threads: int,
    retry: bool,
    out: Path | None,
    quiet: bool,
) -> int:
    from dcra.bench.base import Choice
    from dcra.bench.progress import watching
    from dcra.bench.runner import Options, run
    from dcra.machines.clusters import cluster
    from dcra.search.workers import NobodyLeft

    folder = out or _folder(name)
    with bad_input():
        own = budget == "own"
        factor = None if budget is None or own else _factor(budget)
        cases = _cases(like, where, sizes or methods or instances or budget)
        choice = Choice(preset, _words(sizes), _words(methods), instances, factor, own, cases)
        with cluster(scheduler, workers) as client, watching(quiet) as begin:
            options = Options(jobs, threads, retry=retry, executor=client)
            try:
                outcome = run(name, choice, folder, options, partial(_begin, begin))
            except KeyboardInterrupt:
                click.echo(f"dcra: stopped; rows so far are in {folder}: the same command goes on", err=True)
                return 130
            except NobodyLeft as fault:
                raise ValueError(f"{fault}; rows so far are in {folder}: the same command goes on") from fault
            except OSError as error:
                place = f"{error.filename}: " if error.filename else ""
                raise ValueError(f"{place}{error.strerror or error}") from error
    click.echo(_said(outcome))
    return 0


def _cases(like: Path | None, where: tuple[str, ...], chosen: object) -> list[Case] | None:
    """Those of another folder's rows, if it is them that are asked for."""
    from dcra.bench.runner import cases_of

    if like is None:
        if where:
            raise ValueError("`--where` says which rows of `--like FOLDER` are meant; there is no `--like`")
        return None
    if chosen:
        raise ValueError(
            "`--like` takes cases as they were run: leave out --sizes, --methods, --instances and --budget, "
            "and say `--where method=A,B` instead"
        )
    return cases_of(like, where)


def _folder(name: str) -> Path:
    """Where rows go by default; a path 'module:Class' as words with dashes."""
    return Path(f"bench-{name.replace(':', '-').replace('.', '-')}")


def _begin(watch: Callable[[list[Case]], Watcher], outcome: RunSummary, cases: list[Case]) -> Watcher:
    """Say what was found in the folder before going on."""
    from dcra.bench.rows import TORN

    if outcome.torn:
        click.echo(f"dcra: {outcome.torn} damaged lines were set aside in {outcome.folder / TORN}", err=True)
    if outcome.known:
        click.echo(f"dcra: {outcome.known} of {outcome.planned} rows are there already", err=True)
    return watch(cases)


def _said(outcome: RunSummary) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(outcome.added.items()))
    total = sum(outcome.added.values())
    return f"{total} rows added ({counts or 'none were missing'}); see `dcra report {outcome.folder}`"


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def _factor(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"`--budget` must be a number or 'own'; got {text!r}") from None
