"""The command line of a part of the campaign: --seconds and --seed in, counts and findings out."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable


def main(about: str | None, run: Callable[[float, int], tuple[Counter[str], list[str]]]) -> int:
    """Run, print the counts; 1 where anything was found."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts, found = run(given.seconds, given.seed)
    for what, count in sorted(counts.items()):
        print(f"{count:8d}  {what}")
    print(f"{len(found)} findings")
    return bool(found)
