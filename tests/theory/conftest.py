from __future__ import annotations

import pytest

from .runs import CASES, LIPSCHITZ


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


@pytest.fixture(params=LIPSCHITZ)
def lipschitz_case(request):
    return CASES[request.param]()
