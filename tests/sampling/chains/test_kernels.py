"""Every kernel of the package, held against its transition matrix."""

from collections.abc import Callable

import pytest
from tests.sampling.chains.cases import Case
from tests.sampling.chains.checks import CHECKS
from tests.sampling.chains.small import SMALL


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_kernel(check: Callable[[Case], None], name: str) -> None:
    check(SMALL[name]())
