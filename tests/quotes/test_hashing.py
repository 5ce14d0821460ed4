"""Tables of time and of the X-step on the page of hashing."""

from __future__ import annotations

from dcra.bench.registry import find_benchmark
from dcra.bench.sections import ReportTable

from .measures import chosen, retrieval, rows_of
from .pages import computes
from .test_tables import DATA, NAMES


def short(number: float) -> str:
    """Two digits that count."""
    return f"{float(f'{number:.2g}'):,g}"


def reported(instance: str) -> dict[str, list]:
    """Lines of the report by method, runs to the own end alone."""
    sections = find_benchmark("xstep").report(rows_of("xstep"))
    (table,) = (part for part in sections if isinstance(part, ReportTable) and part.title == instance)
    return {str(line[0]): list(line) for line in table.rows if " s" not in str(line[0])}


def fits() -> list[list[str]]:
    """Data, and seconds by method."""
    methods = [NAMES[title] for title in ("SupervisedHashing", "FSDH", "SDH", "codewords")]
    rows = rows_of("hashing")
    return [
        [title, *(f"{retrieval(rows, data, method, 'cpu', [32])[0]:.1f}" for method in methods)]
        for title, data in DATA.items()
    ]


def class_targets() -> list[list[str]]:
    """Method, objective, how far above, seconds, and those of `auto` to as low an objective."""
    lines = []
    for name, _, value, above, cpu, there in reported("classes-32-59000").values():
        beside = [f"{above:.0f} %", short(cpu), short(there)] if there else ["", short(cpu), ""]
        lines.append([name, f"{value:,.0f}", *beside])
    return lines


def feature_targets() -> list[list[str]]:
    """Method, how far above, seconds."""
    return [
        [name, f"{above:.2g} %" if name != "auto" else "", short(cpu)]
        for name, _, _, above, cpu, _ in reported("features-32-59000").values()
    ]


@computes("docs/hashing.md", "| | SupervisedHashing | FSDH | SDH | codewords |")
def test_the_table_of_fits(head, body):
    return fits()


@computes("docs/hashing.md", "| method | objective | above auto |")
def test_the_table_of_class_targets(head, body):
    return class_targets()


@computes("docs/hashing.md", "| method | above auto | CPU seconds |")
def test_the_table_of_feature_targets(head, body):
    return feature_targets()


def test_at_16_bits_auto_has_the_enumerated_optimum():
    for kind in ("classes", "features"):
        found = {row["method"]: row for row in chosen(rows_of("xstep"), instance=f"{kind}-16-59000")}
        assert found["auto"]["shown"] <= found["enumerate"]["shown"] * (1 + 1e-12)


def test_supervised_hashing_is_at_or_above_in_all_cells():
    sections = find_benchmark("hashing").report(rows_of("hashing"))
    first = next(part for part in sections if isinstance(part, ReportTable))
    assert [line[-1] for line in first.rows] == 24 * ["yes"]
