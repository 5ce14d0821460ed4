"""The checks of a loop's table as one Python function, for calls where nothing is unusual.

`face.Loop` checks its first call argument by argument, and from then on runs what is written here: the same
conditions in one expression, about half a microsecond per array. Whatever does not meet them (empty or wrong)
goes back to the patient checks, which know how to complain.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .face import Array, Loop, Number, Structure

VARIANTS = {np.dtype(np.float32): "real32", np.dtype(np.float64): "real64"}


def quick(loop: Loop, values: tuple[Any, ...]) -> Callable[..., Any]:
    """The function for calls like the one with these values, which has gone well."""
    writer = Writer()
    for argument, value in zip(loop.arguments, values, strict=True):
        argument.write(writer, value)
    names = ", ".join(argument.name for argument in loop.arguments)
    lines = [
        f"def quick({names}):",
        "    try:",
        *(f"        {line}" for line in writer.lines),
        f"        if {' and '.join(writer.conditions) or True}:",
        f"            return entries[{writer.variant}]({', '.join([*writer.passed, *writer.own])})",
        "    except (AttributeError, KeyError, TypeError, ValueError, ArgumentError):",
        "        pass  # the patient checks will say what is wrong",
        f"    return patiently({names})",
    ]
    space = {**writer.space, "entries": loop.entries, "patiently": loop.patiently}
    exec(compile("\n".join(lines), f"<quick checks of {loop.name}>", "exec"), space)
    made: Callable[..., Any] = space["quick"]
    return made


class Writer:
    """Lines that bind sizes and dtypes, conditions on them, and what is passed on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.conditions: list[str] = []
        self.passed: list[str] = []
        self.own: list[str] = []  # sizes that arrays tell
        self.bound: set[str] = set()  # sizes, `real` and `real2`
        self.variant = "''"
        self.space: dict[str, Any] = {
            "ArgumentError": ctypes.ArgumentError,
            "VARIANTS": VARIANTS,
            "fits": fits,
            "address": ctypes.addressof,
            "at": ctypes.c_char.from_buffer,  # refuses what is read-only, empty or not contiguous
            "reading": reading,
        }

    def bind(self, name: str, what: str) -> None:
        """Name a value, or require that it is what the name already stands for."""
        if name in self.bound:
            self.conditions.append(f"{what} == {name}")
        else:
            self.bound.add(name)
            self.lines.append(f"{name} = {what}")

    def number(self, argument: Number) -> None:
        self.passed.append(argument.name)

    def array(self, argument: Array) -> None:
        a = argument.name
        wanted = argument.real
        if not wanted:
            wanted = f"dtype_{argument.dtype}"
            self.space[wanted] = argument.dtype
        elif wanted not in self.bound:
            self.bind(wanted, f"{a}.dtype")
            self.variant = f"VARIANTS[{wanted}]"
        self.conditions.append(f"{a}.dtype is {wanted}")
        sizes = [f"{a}_{axis}" for axis in range(len(argument.sizes))]
        self.lines.append(f"{', '.join(sizes)}, = {a}.shape")
        for size, (name, more) in zip(sizes, argument.sizes, strict=True):
            if not name:
                self.conditions.append(f"{size} == {more}")
                continue
            if name not in self.bound:
                self.own.append(name)
            self.bind(name, f"{size} - {more}" if more else size)
        self.passed.append(f"address(at({a}))" if argument.written else f"reading({a})")

    def structure(self, argument: Structure, value: Any) -> None:
        s = argument.name
        packed = f"{s}_packed"
        self.lines.append(f"{packed} = {s}.packed")
        self.passed.append(f"{packed}.pointer")
        if argument.of == "like":
            self.conditions.append(f"{packed}.variant == {self.variant}")
        elif value.packed.dtype is not None and "real" not in self.bound:
            self.bind("real", f"{packed}.dtype")
            self.variant = f"{packed}.variant"
        elif value.packed.dtype is not None and not value.packed.variant.startswith("real"):
            self.bind("real2", f"{packed}.dtype")
            self.variant = f"{self.variant} + '_' + {packed}.variant"
        elif value.packed.dtype is not None:
            self.conditions.append(f"{packed}.dtype is real")
        if argument.is_store:
            n, r = argument.sizes
            if argument.of == "store":
                self.bind(n, f"{packed}.sizes['n']")
            same = f"{s}.variant == 'dense' or " if argument.of == "like" else ""
            self.conditions.append(f"({same}fits({s}, {n}, {r}))")
        else:
            self.conditions.append(f"type({s}).__name__ == {argument.of!r}")
            for name in value.packed.sizes:
                self.bind(name, f"{packed}.sizes['{name}']")


def reading(array: Any) -> int:
    """The address of an array that may be read-only."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except TypeError:
        flags = array.flags
        if flags.writeable or not (flags.c_contiguous and flags.aligned and array.size):
            raise
        return int(array.__array_interface__["data"][0])


def fits(store: Any, n: int, r: int) -> bool:
    """Whether a store has n columns, and r rows or, where that is not known, no more than r."""
    sizes = store.packed.sizes
    rows_fit = store.height <= r if store.variant == "sparse" else sizes["r"] == r
    return bool(sizes["n"] == n and rows_fit)
