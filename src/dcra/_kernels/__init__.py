"""All compiled loops.

`store` and `seed` are plain NumPy; every other module imports Numba, so import those on first use.
The loops know four things: a column store (`Dense`, `Sparse`), a table of losses (`Rows`), the state
(x, z = Ax - b) and a random state. They read no clock, call no Python and can be resumed.
"""
