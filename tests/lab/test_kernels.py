"""Every published kernel, held against its transition matrix."""

from collections.abc import Callable

import pytest
from tests.lab.small import SMALL
from tests.sampling.chains.cases import Case
from tests.sampling.chains.checks import CHECKS


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_kernel(check: Callable[[Case], None], name: str) -> None:
    check(SMALL[name]())
