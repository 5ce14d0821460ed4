"""How a problem travels: what is written is what is read, wherever its arrays come to lie."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import dcra
from dcra.machines import parcel, pickles
from dcra.machines.parcel import Shipment
from dcra.machines.pickles import Cargo, dumps
from tests.machines.problems import PROBLEMS, Locked, dense


def arrived(value):
    """What it is after a journey that has put its buffers at odd addresses."""
    buffers = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(pickled, buffers=[memoryview(b"." + bytes(part.raw()))[1:] for part in buffers])


@pytest.mark.parametrize("kind", PROBLEMS)
def test_cargo_comes_to_lie_as_it_did(kind):
    make, options = PROBLEMS[kind]
    problem = make()
    results = [
        dcra.solve(one, starts=2, seed=3, **options) for one in (problem, arrived(Cargo(problem)).shared)
    ]
    assert np.array_equal(results[0].x, results[1].x)
    assert results[0].fun == results[1].fun


@pytest.mark.parametrize("journeys", [1, 2, 3])
def test_cargo_is_aligned_after_every_journey(journeys):
    cargo = Cargo(dense(0))
    for _ in range(journeys):
        cargo = arrived(cargo)
    A = cargo.shared.terms[0].operator.A
    assert A.ctypes.data % 64 == 0
    assert np.array_equal(A, dense(0).terms[0].operator.A)
    assert pickle.loads(pickle.dumps(cargo, protocol=4)).shared.n == 40


@pytest.mark.parametrize("kind", PROBLEMS)
def test_arrays_may_lie_at_any_address(kind):
    make, options = PROBLEMS[kind]
    problem = arrived(make())
    result = dcra.solve(problem, starts=2, seed=3, **options)
    assert result.fun == pytest.approx(problem.objective(result.x))


def test_a_parcel_opens_once_it_was_shipped():
    shipment = Shipment(dense(0), "key")
    try:
        for sent in (shipment.parcel, shipment.enclosed()):
            problem, halted = pickle.loads(pickle.dumps(sent)).opened()
            assert np.array_equal(problem.terms[0].operator.A, dense(0).terms[0].operator.A)
            assert not halted()
        _, halted = shipment.parcel.opened()
        shipment.halt()
        assert halted()
    finally:
        shipment.close()
    assert not Path(shipment.parcel.path).exists()
    shipment.halt()  # what is gone needs no flag


def test_without_room_in_memory_the_usual_folder_serves(monkeypatch, tmp_path):
    monkeypatch.setattr(parcel, "MEMORY", tmp_path / "nothing")
    monkeypatch.setattr(parcel.tempfile, "tempdir", str(tmp_path))
    shipment = Shipment(dense(0), "key")
    assert Path(shipment.parcel.path).is_relative_to(tmp_path)
    shipment.close()
    assert not list(tmp_path.iterdir())


def test_what_pickle_does_not_reach_is_said_where_there_is_no_cloudpickle(monkeypatch):
    monkeypatch.setattr(pickles, "_cloudpickle", lambda: None)
    with pytest.raises(TypeError, match="can be pickled, and this one cannot"):
        dumps(lambda z: z, print)
    monkeypatch.undo()
    with pytest.raises(TypeError, match=r"cannot \(TypeError: .*lock.*\): define its loss and its operators"):
        dumps(Locked(), print)
