"""Kernels for accelerators: thousands of replicas of one search, swept and annealed together.

    device.py    which device there is, and why not
    rows.py      what the losses are to kernels: sums of |z|, or four numbers for each row
    shape.py     how replicas, rows and columns are dealt out to warps
    loader.py    kernel sources, compiled at run time and kept on disk
    rehearsal.py the way of a search, gone through once before one with a clock takes it
    sweeper.py   tensor-core sweeps over the box
    annealer.py  annealing and descent on the true loss
    replicas.py  both on one problem, and the memory they share
    engine.py    rounds of them as an engine
    couplings.py a quadratic objective on the device
    spins.py     annealing of its replicas, and spin_engine.py, rounds of that
    crossing.py  points of sparse ones that take from each other what is better
    columns.py   annealing of many right-hand sides of one A
    kernels/     the CUDA C++ sources

Nothing here imports CuPy before a problem is on its way to a device.
"""
