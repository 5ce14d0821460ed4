"""The Python face of the compiled loops: every array is checked before its pointer leaves Python.

A loop is declared by a table, one line per argument in the order of the C++ function:

    _sweep = Loop("sweep.sweep", '''
        model    Model
        x        real (n) rw
        columns  int64 (m)
        rho      float64 (1) rw
        first    int
        kappa    float
    ''', returns=int)

dtype         a NumPy name, or `real`: that of the first structure or, without one, of the first `real` array;
              `real2` is that of the second store; `index` is int32 or int64, chosen as `real` is
(shape)       numbers, names, or a name plus a number, as in (n+1, 5); a name has one value in a call
rw            the loop writes to it: the array must be writable; others may be read-only
maybe         the array may have size 0 instead
Model         a `Struct` of that name, which knows sizes of its own (n, r, ...)
store (n, r)  Dense or Sparse of that many columns and rows
like (r, n)   a store of the variant of the first one; its sizes matter where it is sparse
int, uint64, float

C++ gets the arguments in this order, arrays as pointers (null when empty) and structures by reference; then
the sizes that no structure knows, as int64_t in the order of their first appearance. The symbol is
FILE_FUNCTION_VARIANT; the variant names the stores (dense32, sparse64), or else the `real` or `index` type
(real32, index64).
"""

from __future__ import annotations

import ctypes
from functools import cache, cached_property
from operator import index
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np

from .library import entry, library
from .quick import Writer, quick

BITS = {np.dtype(np.float32): "32", np.dtype(np.float64): "64"}
INDEX_BITS = {np.dtype(np.int32): "32", np.dtype(np.int64): "64"}
FREE = {"real": BITS, "real2": BITS, "index": INDEX_BITS}
"""What a call may choose: names of dtypes, and the dtypes they may stand for."""

SOUND = 0x101  # as in `ndarray.flags.num`: contiguous and aligned


class Known:
    """What a call has learned from the arguments so far."""

    def __init__(self) -> None:
        self.variant = ""
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.sizes: dict[str, int] = {}
        self.own: list[int] = []  # those of the sizes that arrays have told, not structures


class Number:
    """`int`, `uint64` or `float`."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.ctype = {"int": ctypes.c_int64, "uint64": ctypes.c_uint64, "float": ctypes.c_double}[kind]

    def take(self, value: Any, known: Known) -> int | float:
        return float(value) if self.ctype is ctypes.c_double else index(value)

    inside = take

    def write(self, writer: Writer, value: Any) -> None:
        writer.number(self)


class Array:
    """An array of one dtype and shape."""

    ctype = ctypes.c_void_p

    def __init__(self, name: str, dtype: str, shape: str, marks: list[str]) -> None:
        self.name, self.maybe = name, "maybe" in marks
        self.real = dtype if dtype in FREE else ""
        self.dtype = None if self.real else np.dtype(dtype)
        self.written = "rw" in marks
        self.sizes = [_size(text) for text in shape.split(",")]

    def take(self, value: Any, known: Known) -> int | None:
        """The pointer, null when the array is empty."""
        self.check(value, known)
        if not value.size:
            return None
        if value.flags.writeable:  # the same address, three times as quick
            return ctypes.addressof(ctypes.c_char.from_buffer(value))
        return int(value.__array_interface__["data"][0])

    inside = take

    def write(self, writer: Writer, value: Any) -> None:
        writer.array(self)

    def check(self, value: Any, known: Known) -> None:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"`{self.name}` must be a NumPy array; got {type(value).__name__}")
        self._check_dtype(value.dtype, known)
        if not (self.maybe and value.size == 0):
            self._check_shape(value.shape, known)
        flags = value.flags
        if flags.num & SOUND != SOUND:
            raise ValueError(f"`{self.name}` must be C-contiguous; np.ascontiguousarray makes it so")
        if self.written and not flags.writeable:
            raise ValueError(f"`{self.name}` must be writable, for it is changed; got a read-only array")

    def _check_dtype(self, dtype: np.dtype[Any], known: Known) -> None:
        if self.real and self.real not in known.dtypes and dtype in FREE[self.real]:
            known.dtypes[self.real] = dtype
            known.variant = known.variant or f"{self.real}{FREE[self.real][dtype]}"
        wanted = self.dtype or known.dtypes.get(self.real)
        if wanted is None or dtype != wanted:  # None alone would be equal to float64
            either = wanted or " or ".join(map(str, FREE[self.real]))
            raise TypeError(f"`{self.name}` must be of dtype {either}; got {dtype}")

    def _check_shape(self, shape: tuple[int, ...], known: Known) -> None:
        if len(shape) != len(self.sizes):
            self._misshapen(shape, known)
        for got, (name, more) in zip(shape, self.sizes, strict=True):
            if name and name not in known.sizes and got >= more:
                known.sizes[name] = got - more
                known.own.append(got - more)
            size = known.sizes.get(name) if name else 0
            if size is None or got != size + more:
                self._misshapen(shape, known)

    def _misshapen(self, shape: tuple[int, ...], known: Known) -> NoReturn:
        wanted = [
            str(known.sizes[name] + more)
            if name in known.sizes
            else "+".join(str(x) for x in (name, more) if x)
            for name, more in self.sizes
        ]
        raise ValueError(f"`{self.name}` must have shape ({', '.join(wanted)}); got {shape}")


def _size(text: str) -> tuple[str, int]:
    """(name, number to add) of a size: n, n+1 or 5."""
    name, _, more = text.strip().partition("+")
    return ("", int(name)) if name.isdigit() else (name.strip(), int(more or 0))


class Packed(NamedTuple):
    """A structure as C sees it, and what it says about the arguments beside it."""

    value: ctypes.Structure
    pointer: int
    variant: str
    dtype: np.dtype[Any] | None
    sizes: dict[str, int]


class Struct:
    """A NamedTuple of arrays that C sees as a structure of pointers, made once per object.

    `layout` is a table as above. The structure has the pointers in that order, inner structures by value,
    and then the sizes that no inner structure knows.
    """

    layout: ClassVar[str]
    variant: ClassVar[str] = ""  # dense or sparse, where it is a store

    @cached_property
    def packed(self) -> Packed:
        packed = _pack(self)
        self.verify()
        return packed

    def verify(self) -> None:
        """Raise a ValueError if a number that loops use as a place is none."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)


S = TypeVar("S", bound=Struct)


def exchanged(struct: S, name: str, new: Any) -> S:
    """`struct` with a part exchanged for another of its kind: quicker than packing it anew."""
    old, packed = getattr(struct, name), struct.packed
    made: S = struct._replace(**{name: new})  # type: ignore[attr-defined]
    value = type(packed.value).from_buffer_copy(packed.value)
    if isinstance(new, Struct):
        alike = new.packed.dtype == old.packed.dtype and new.packed.sizes == old.packed.sizes
        setattr(value, name, new.packed.value)
    else:
        alike = new.dtype == old.dtype and new.shape == old.shape and new.flags.num & SOUND == SOUND
        setattr(value, name, new.__array_interface__["data"][0] if new.size else None)
    if alike:  # otherwise it is packed, with all checks, when it is used
        made.__dict__["packed"] = packed._replace(value=value, pointer=ctypes.addressof(value))
    return made


def check_places(name: str, places: np.ndarray[Any, Any], size: int) -> None:
    """Raise a ValueError unless all are in 0..size."""
    if places.size and not (places.min() >= 0 and places.max() < size):
        raise ValueError(f"`{name}` must be at least 0 and below {size}; got {places.min()}..{places.max()}")


def placed(outcome: int, names: str) -> int:
    """What a loop returned; a ValueError where it found that what it was given points outside."""
    if outcome < 0:
        raise ValueError(f"{names} must hold places within the arrays; one is outside")
    return outcome


def _pack(struct: Any) -> Packed:
    known = Known()
    values = [part.inside(value, known) for value, part in zip(struct, _layout(type(struct)), strict=True)]
    kinds = [type(value) if isinstance(value, ctypes.Structure) else ctypes.c_void_p for value in values]
    value = _structure(type(struct), tuple(kinds), len(known.own))(*values, *known.own)
    dtype = known.dtypes.get("real", known.dtypes.get("index"))
    variant = struct.variant + BITS[dtype] if struct.variant and dtype else known.variant
    return Packed(value, ctypes.addressof(value), variant, dtype, known.sizes)


@cache
def _layout(of: type[Struct]) -> list[Array | Structure | Number]:
    return table(of.layout)


@cache
def _structure(of: Any, kinds: tuple[type, ...], sizes: int) -> type[ctypes.Structure]:
    fields = [*zip(of._fields, kinds, strict=True), *((f"size{i}", ctypes.c_int64) for i in range(sizes))]
    return type(of.__name__, (ctypes.Structure,), {"_fields_": fields})


class Structure:
    """A `Struct`."""

    ctype = ctypes.c_void_p

    def __init__(self, name: str, of: str, shape: str) -> None:
        self.name, self.of = name, of
        self.sizes = [text.strip() for text in shape.split(",")] if shape else []
        self.is_store = of in ("store", "like")

    def take(self, value: Any, known: Known) -> Any:
        return self._meet(value, known).pointer

    def inside(self, value: Any, known: Known) -> ctypes.Structure:
        return self._meet(value, known).value

    def write(self, writer: Writer, value: Any) -> None:
        writer.structure(self, value)

    def _meet(self, value: Any, known: Known) -> Packed:
        found = isinstance(value, Struct)
        if not (found and (value.variant if self.is_store else type(value).__name__ == self.of)):
            wanted = "Dense or Sparse" if self.is_store else self.of
            raise TypeError(f"`{self.name}` must be of type {wanted}; got {type(value).__name__}")
        packed = value.packed
        if self.of == "like":
            self._check_like(value, packed, known)
            return packed
        if packed.dtype is not None:
            self._learn(packed, packed.dtype, known)
        if self.is_store:
            self._check_store(value, packed, known)
            return packed
        for name, size in packed.sizes.items():
            if known.sizes.setdefault(name, size) != size:
                raise ValueError(f"`{self.name}` must have {name} = {known.sizes[name]}; got {size}")
        return packed

    def _learn(self, packed: Packed, dtype: np.dtype[Any], known: Known) -> None:
        """Stores make variants; other structures are of the type of the first one."""
        if not known.variant:
            known.variant, known.dtypes["real"] = packed.variant, dtype
        elif not packed.variant.startswith("real"):
            known.variant += f"_{packed.variant}"
            known.dtypes["real2"] = dtype
        elif dtype != known.dtypes["real"]:
            raise TypeError(f"`{self.name}` must be of dtype {known.dtypes['real']}; got {dtype}")

    def _check_like(self, value: Any, packed: Packed, known: Known) -> None:
        """Where it is dense, it is the first store itself."""
        if packed.variant != known.variant:
            raise TypeError(f"`{self.name}` must be {known.variant}, as the model is; got {packed.variant}")
        if value.variant == "sparse":
            self._check_store(value, packed, known)

    def _check_store(self, value: Any, packed: Packed, known: Known) -> None:
        """Of a sparse store the number of columns is known, and how many rows there are at least."""
        (n, r), sizes = self.sizes, packed.sizes
        if known.sizes.setdefault(n, sizes["n"]) != sizes["n"]:
            raise ValueError(f"`{self.name}` must have {known.sizes[n]} columns; got {sizes['n']}")
        rows = max(value.height, known.sizes.get(r, 0)) if value.variant == "sparse" else sizes["r"]
        if (r in known.sizes or value.variant == "dense") and known.sizes.setdefault(r, rows) != rows:
            raise ValueError(f"`{self.name}` must have {known.sizes[r]} rows; got {rows}")


def table(text: str) -> list[Array | Structure | Number]:
    """The arguments that the lines of a table describe."""
    return [_argument(line) for line in text.splitlines() if line.strip()]


def _argument(line: str) -> Array | Structure | Number:
    name, kind, *rest = line.split(None, 2)
    shape, _, marks = (rest[0] if rest else "").strip("(").partition(")")
    if kind[0].isupper() or kind in ("store", "like"):
        return Structure(name, kind, shape)
    return Array(name, kind, shape, marks.split()) if shape else Number(name, kind)


class Loop:
    """A compiled function, to be called with the arguments of its table."""

    def __init__(self, name: str, arguments: str, returns: type[int] | type[float] | None = None) -> None:
        self.name, self.arguments = name, table(arguments)
        self.returns = {int: ctypes.c_int64, float: ctypes.c_double}[returns] if returns else None
        self.entries: dict[str, Any] = {}
        self.run = self._first

    def __call__(self, *values: Any) -> Any:
        return self.run(*values)

    def _first(self, *values: Any) -> Any:
        outcome = self.patiently(*values)
        self.run = quick(self, values)
        return outcome

    def patiently(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            raise TypeError(f"{self.name} takes {len(self.arguments)} arguments; got {len(values)}")
        known = Known()
        passed = [a.take(value, known) for a, value in zip(self.arguments, values, strict=True)]
        run = self.entries.get(known.variant) or self._find(known)
        return run(*passed, *known.own)

    def _find(self, known: Known) -> Any:
        types = [argument.ctype for argument in self.arguments] + [ctypes.c_int64] * len(known.own)
        symbol = "_".join(filter(None, [*self.name.split("."), known.variant]))
        try:
            found = entry(library(), symbol, self.returns, *types)
        except ValueError:
            raise TypeError(f"{self.name} is not made for {known.variant}") from None
        self.entries[known.variant] = found
        return found
