"""With HOLDFAST_REQUIRE_ALL=1 a skipped test fails: what should have run must have run."""

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn skips into failures where everything is required."""
    report = yield
    if report.skipped and os.environ.get("HOLDFAST_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but HOLDFAST_REQUIRE_ALL=1 ({report.longrepr})"
    return report
