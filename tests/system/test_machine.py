"""Where memory is limited, what would end the process by itself is kept from it."""

import os

import pytest

from holdfast.system.machine import NARROW, with_few_threads

resource = pytest.importorskip("resource")


@pytest.mark.parametrize(
    ("limit", "given", "threads"),
    [
        (NARROW - 1, None, "1"),
        (NARROW - 1, "2", "2"),
        (NARROW, None, None),
        (resource.RLIM_INFINITY, None, None),
    ],
)
def test_threads_are_few_where_the_address_space_is_limited_and_nobody_says_otherwise(
    limit: int, given: str | None, threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {} if given is None else {"OPENBLAS_NUM_THREADS": given})
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    with_few_threads()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
