"""The example that many tests start from, and what makes a run the same on every machine.

With HOLDFAST_REQUIRE_ALL=1 a skipped test fails, but for those of root. HOLDFAST_TEST_ORDER=7 runs modules,
and the tests of each, in an order drawn with seed 7, and tries properties on other examples than every run.
"""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from tests.example import written

from holdfast.cli.arguments import QUIET

ORDER = os.environ.get("HOLDFAST_TEST_ORDER")
LOCAL_SPARK = "--master local[2] --conf spark.driver.memory=512m pyspark-shell"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The spec of `holdfast init`, beside its table."""
    return written(tmp_path)


@pytest.fixture(autouse=True)
def heard() -> None:
    """Let commands speak: one that was called with --quiet leaves its process quiet for the next."""
    QUIET.set(False)


@pytest.fixture(autouse=True)
def closed() -> None:
    """Close the figures that examples and tests before left open: the twenty-first is a warning."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


os.environ["HOLDFAST_PROGRESS"] = "never"  # a busy machine says more on standard error
for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "HOLDFAST_DEBUG", "HOLDFAST_WHEEL_SHA256"):
    os.environ.pop(name, None)  # they make a pipe look like a terminal, or a fault like a trace
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of hundreds of processes compiles all modules
sys.dont_write_bytecode = False
os.environ["PYSPARK_SUBMIT_ARGS"] = LOCAL_SPARK  # whichever test of a process starts Spark first
os.umask(0o022)  # modes of files are compared
gc.set_threshold(50_000, 20, 50)  # the usual one spends a sixth of the time of many small tests
settings.register_profile(
    "patient",
    deadline=None,  # a busy machine is no error
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=ORDER is None,
    max_examples=40 if ORDER is None else 100,  # of those that name no number of their own
    database=None,  # nothing is left for the next run
)
settings.load_profile("patient")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle modules, and the tests of each; fixtures of a module are made once."""
    if ORDER is not None:
        chance = Random(ORDER)
        places = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (places[item.path], chance.random()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn skips into failures where everything is required that any user can have."""
    report = yield
    if (
        report.skipped
        and "only root can" not in str(report.longrepr)
        and os.environ.get("HOLDFAST_REQUIRE_ALL") == "1"
    ):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but HOLDFAST_REQUIRE_ALL=1 ({report.longrepr})"
    return report
