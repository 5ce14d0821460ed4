"""`dcra info`: what this installation has to work with."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from importlib.util import find_spec

import click

import dcra

CORE = ("numpy", "scipy", "array-api-compat", "threadpoolctl", "rich", "click")
ARRAY_LIBRARIES = ("torch", "cupy", "jax")
EXTRAS = (("matplotlib", "dcra[plot]"), ("scikit-learn", "dcra[sklearn]"))
MODULES = {"scikit-learn": "sklearn"}

Section = dict[str, str]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(as_json: bool) -> None:
    """Show versions, array libraries, threads and compiled loops."""
    report = sections()
    click.echo(json.dumps(report) if as_json else aligned(report))


def sections() -> dict[str, Section]:
    """All there is to say; array libraries are looked up, not imported."""
    return {
        "dcra": {
            "version": dcra.__version__,
            "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        },
        "packages": {name: version(name) or "missing" for name in CORE},
        "array libraries": {
            "numpy": "always",
            **{name: version(name) or "not installed" for name in ARRAY_LIBRARIES},
        },
        "extras": {name: version(name) or f"not installed: pip install '{extra}'" for name, extra in EXTRAS},
        "accelerator": {"searched by": accelerator()},
        "threads": threads(),
        "compiled loops": loops(),
    }


def aligned(report: dict[str, Section]) -> str:
    width = max(len(name) for section in report.values() for name in section)
    lines = []
    for title, section in report.items():
        lines += [title, *(f"  {name:<{width}}  {value}" for name, value in section.items())]
    return "\n".join(lines)


def version(package: str) -> str | None:
    """Version of an importable package, found without importing it."""
    if find_spec(MODULES.get(package, package.replace("-", "_"))) is None:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "importable"


def threads() -> Section:
    from threadpoolctl import threadpool_info

    from dcra.search.threads import default_jobs

    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    described = [f"{b['internal_api']} {b['version']}, {b['num_threads']} threads" for b in blas]
    return {"jobs": str(default_jobs()), "blas": "; ".join(described) or "none found"}


def accelerator() -> str:
    """What searches arrays on an accelerator; CuPy is imported for it, where it is installed."""
    from dcra.accelerator.device import in_words

    return in_words()


def loops() -> Section:
    """Which compiled loops this processor gets."""
    from dcra._kernels import library

    if not library.available():
        return {"state": f"{library.why_not()}; {library.cure()}"}
    return {"state": f"ready, for {library.level()}", "folder": library.folder()}
