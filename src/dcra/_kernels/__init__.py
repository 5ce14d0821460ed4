"""The Python face of all compiled loops, which are in `native/`.

`library` finds the shared library, `face` declares loops and checks what they are given, `store`, `formula`
and `seed` make the arrays they see; every other module is one file of loops, with the names of its C++ file.
The loops know four things: a column store (`Dense`, `Sparse`), a table of losses (`Rows`), the state
(x, z = Ax - b) and a random state. They read no clock, call no Python and can be resumed.
"""
