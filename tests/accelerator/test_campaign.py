"""A slice of the campaign's random problems on a device."""

from __future__ import annotations

import os

import pytest

from tests.campaign import devices


@pytest.mark.skipif(bool(os.environ.get("DCRA_EMULATE")), reason="minutes for a case on an emulated device")
def test_random_problems_against_brute_force(there):
    counts, found = devices.run(seconds=600, seed=1, most=40, show=False)
    assert not found
    assert counts["searched by kernels, losses"] > 5
    assert counts["searched by kernels, couplings"] > 1
    assert counts["batches"] == 10
