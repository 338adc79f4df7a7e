"""The example that many tests start from. With HOLDFAST_REQUIRE_ALL=1 a skipped test fails."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.example import written


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The spec of `holdfast init`, beside its table."""
    return written(tmp_path)


os.environ["HOLDFAST_PROGRESS"] = "never"  # a busy machine says more on standard error
settings.register_profile("patient", deadline=None)  # a busy machine is no error
settings.load_profile("patient")


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
