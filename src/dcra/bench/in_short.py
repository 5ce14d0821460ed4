"""The two sentences that a page begins with, made from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import grouped, sign

NOTHING = "There are no finished rows yet."


def best_objectives(rows: Sequence[Row], methods: Sequence[str]) -> str:
    """Who has the lowest objective how often, and how the first method fares against the others."""
    found = grouped(rows, "instance", "seed", "budget").values()
    cases = [group for group in found if len({row["method"] for row in group}) > 1]
    if not cases:
        return f"{len(rows)} rows, none of two methods on the same instance. {_listed(rows)}"
    leads: Counter[str] = Counter()
    for group in cases:
        least = min(row["fun"] for row in group)
        leads.update({row["method"] for row in group if sign(row["fun"], least) == 0})
    taken = Counter(method for group in cases for method in {row["method"] for row in group})
    shares = {method: leads[method] / taken[method] for method in taken}
    order = {method: k for k, method in enumerate(methods)}
    best = min(shares, key=lambda method: (-shares[method], order.get(method, len(order))))
    ours = next((method for method in methods if method in taken), best)
    first = (
        f"Of {len(cases)} cases that two methods or more have answered, {best} has the lowest objective, "
        f"alone or with others, in {shares[best]:.0%} of those that it has answered."
    )
    return f"{first} {_against(ours, cases)}"


def _listed(rows: Sequence[Row]) -> str:
    """On how many instances the best of the rows is as good as the value that is listed for it."""
    groups = grouped([row for row in rows if row.get("listed")], "instance").values()
    if not groups:
        return "There is nothing to compare them with."
    reached = sum(sign(min(row["fun"] for row in group), min(group[0]["listed"])) <= 0 for group in groups)
    return (
        f"The best listed value is reached, or passed, on {reached} of {len(groups)} instances that have one."
    )


def _against(ours: str, cases: Sequence[list[Row]]) -> str:
    held: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for group in cases:
        values = {row["method"]: row["fun"] for row in group}
        for other in values if ours in values else ():
            if other != ours:
                met[other] += 1
                held[other] += sign(values[ours], values[other]) <= 0
    if not met:
        return f"{ours} has no case in common with another method."
    hardest = min(met, key=lambda other: held[other] / met[other])
    if held[hardest] == met[hardest]:
        return f"{ours} is never worse than another method."
    return (
        f"{ours} is no worse than each of the others in {held[hardest] / met[hardest]:.0%} of the cases or "
        f"more (the least against {hardest}, {met[hardest]} cases)."
    )


def quickest_proofs(rows: Sequence[Row], ours: str) -> str:
    """How many problems ours proves, and how much longer others take where both do."""
    found = [{row["method"]: row for row in group} for group in grouped(rows, "instance").values()]
    own = [case for case in found if ours in case]
    if not own:
        return NOTHING
    first = f"{ours} proves {sum(bool(case[ours]['proved']) for case in own)} of {len(own)} problems."
    others = sorted({method for case in own for method in case} - {ours})
    told = "; ".join(_proofs_of(other, ours, [case for case in own if other in case]) for other in others)
    return f"{first} Of those that others were given, too, there prove: {told}." if told else first


def _proofs_of(other: str, ours: str, cases: Sequence[dict[str, Row]]) -> str:
    both = [case for case in cases if case[other]["proved"] and case[ours]["proved"]]
    share = f"{other} {sum(bool(case[other]['proved']) for case in cases)} of {len(cases)}"
    times = [case[other]["cpu"] / case[ours]["cpu"] for case in both]
    return f"{share}, in {np.median(times):.1f} times the CPU seconds (median)" if times else share


def fewest_errors(rows: Sequence[Row]) -> str:
    """Who has the fewest wrong bits, by system and SNR, and how far the first is from the linear detector."""
    cells = grouped(rows, "size", "snr")
    rates: dict[Any, dict[str, float]] = {
        cell: {
            method: sum(row["wrong"] for row in found) / sum(row["bits"] for row in found)
            for method, found in grouped(group, "method").items()
        }
        for cell, group in cells.items()
    }
    if not rates:
        return NOTHING
    leads: Counter[str] = Counter()
    for found in rates.values():
        leads.update(method for method, rate in found.items() if rate == min(found.values()))
    best, count = leads.most_common(1)[0]
    first = (
        f"Of {len(rates)} systems and SNRs, {best} has the fewest wrong bits, alone or with others, "
        f"in {count}."
    )
    both = [(found[best], found["mmse"]) for found in rates.values() if best in found and "mmse" in found]
    if not both:
        return f"{first} No linear detector was run beside it."
    ours, linear = np.mean(both, axis=0)
    rates_said = f"its mean bit error rate is {ours:.4f}, that of MMSE {linear:.4f}."
    return f"{first} On those where MMSE ran too, {rates_said}"


def best_retrieval(rows: Sequence[Row], ours: str, own: Sequence[str]) -> str:
    """Where ours has the highest mAP, and which solver of the X-step has it in the paper's model."""
    cells = grouped([row for row in rows if "map_hash" in row], "instance")
    means = {
        cell: {method: float(np.mean([row["map_hash"] for row in found])) for method, found in parts.items()}
        for cell, group in cells.items()
        if (parts := grouped(group, "method"))
    }
    if not means:
        return NOTHING
    led = sum(max(found, key=lambda method: found[method]) == ours for found in means.values())
    first = (
        f"{ours} has the highest mAP (hash function on both sides) in {led} of {len(means)} data sets "
        "and bits."
    )
    solvers: Counter[str] = Counter()
    contested = 0
    for found in means.values():
        part = {method: value for method, value in found.items() if method in own}
        if len(part) > 1:
            contested += 1
            solvers[max(part, key=lambda method: part[method])] += 1
    if not contested:
        return f"{first} No two solvers of the X-step were run in the paper's model."
    told = ", ".join(f"{method} in {count}" for method, count in solvers.most_common())
    highest = f"of the solvers of the X-step the highest mAP has: {told} of {contested}."
    return f"{first} In the paper's model, {highest}"
