"""Pictures of a result. Needs matplotlib, imported here only."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcra.result import Result


def plot_history(result: Result, ax: Any = None) -> Any:
    """Objective and lower bound over time, as steps."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'dcra[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    times = [row.seconds for row in result.history] + [result.seconds]
    values = [row.fun for row in result.history] + [result.fun]
    bounds = [row.lower_bound for row in result.history] + [result.lower_bound]
    ax.step(times, values, where="post", label="best objective", color="#1f6feb", linewidth=2)
    ax.plot(times[-1], values[-1], "o", color="#1f6feb")
    known = [(t, b) for t, b in zip(times, bounds, strict=True) if b > -inf]
    if known:
        ax.step(*zip(*known, strict=True), where="post", label="lower bound", color="#d1580b", linestyle="--")
    if times[0] > 0 and times[-1] / times[0] > 20:
        ax.set_xscale("log")
    ax.set(xlabel="seconds", ylabel="objective", title=f"{result.method}: {result.fun:.6g} ({result.status.value})")
    ax.grid(alpha=0.3)
    ax.legend()
    return ax
