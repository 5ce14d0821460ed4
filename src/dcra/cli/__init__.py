"""The command `dcra`.

Exit codes: 0 for an answer, 1 for one that violates the constraints, 2 for bad input, 130 after Ctrl-C, with
the answer found so far if there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

try:
    import click

    from dcra import __version__
    from dcra.cli.bench import bench
    from dcra.cli.demo import demo
    from dcra.cli.info import info
    from dcra.cli.report import report
    from dcra.cli.solve import solve
    from dcra.cli.verify import verify
except KeyboardInterrupt:  # Ctrl-C while the command starts: no traceback
    sys.exit(130)

INTERRUPTED = 130


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Binary optimisation under losses that need not be smooth."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (solve, verify, demo, bench, report, info):
    cli.add_command(command)


def main() -> None:
    """Entry point of the `dcra` script."""
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; its exit code. What is wrong with it is said in one line on stderr."""
    try:
        code = cli.main(arguments, prog_name="dcra", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        print(f"dcra: {_line(error)}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("dcra: interrupted before there was an answer", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away; flushing at exit must not complain again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else 0


def _line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text.rstrip('.')} (see `{error.ctx.command_path} --help`)"
    return text
