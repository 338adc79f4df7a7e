"""What a plan tells of time and memory, and what is too large for the machine."""

from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scipy.sparse import csr_array
from tests.mechanisms.topdown.small import spec as topdown

import holdfast
import holdfast.releases.plan
import holdfast.system.machine
from holdfast.releases.expected import expected_errors
from holdfast.releases.plan import PAGE, SMALL, TIMED, TOGETHER, costs_of
from holdfast.releases.prepare import prepare
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND
from holdfast.system.errors import SpecError
from holdfast.system.machine import BYTES_PER_CELL, free_memory, peak_memory


@pytest.fixture(autouse=True)
def a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass between two looks at the clock, on machines of any speed."""
    monkeypatch.setattr(holdfast.releases.plan, "process_time", map(float, count()).__next__)


def test_all_parts_are_told(example: Path) -> None:
    report = holdfast.plan(example)
    costs = report.parts["table"].costs
    assert costs is not None
    assert min(costs.plan, costs.draw, costs.certificate) > 0
    assert costs.release == costs.plan + costs.draw + costs.certificate
    assert costs.memory >= peak_memory() / 2 > 0
    assert costs.listed is not None
    assert costs.listed > costs.memory
    told = report.to_dict()
    assert told["seconds"] == told["costs"]["draw_seconds"] == costs.draw
    assert told["costs"]["memory_bytes"] == costs.memory


def test_long_draws_are_told_and_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    law = LatticeLaplaceLaw(csr_array((0, 4), dtype=int), Fraction(1), "l1")
    small = costs_of(law, 4, 0.0)
    assert law.work < SMALL
    assert small.draw == 1
    assert small.certificate > PAGE + 100 / TOGETHER  # hundreds of draws, some at once

    def sample(*_: object) -> None:
        raise AssertionError("it would take too long")

    monkeypatch.setattr(LatticeLaplaceLaw, "sample", sample)
    monkeypatch.setattr(LatticeLaplaceLaw, "work", property(lambda _: 2 * TIMED))
    assert costs_of(law, 4, 0.0).draw == 2 * TIMED / CELLS_PER_SECOND


def test_a_table_too_large_for_the_machine_is_refused(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdfast.system.machine, "free_memory", lambda: 16 * BYTES_PER_CELL - 1)
    with pytest.raises(SpecError, match="a table of 16 cells takes at least"):
        prepare(example)
    monkeypatch.setattr(holdfast.system.machine, "free_memory", lambda: None)  # a system that does not say
    prepare(example)


def test_what_a_plan_holds_for_itself_is_no_memory_of_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [1000]

    def hungry(*given: Any) -> Any:
        held[0] = 10**15
        return expected_errors(*given)

    monkeypatch.setattr("holdfast.releases.plan.peak_memory", lambda: held[0])
    monkeypatch.setattr("holdfast.releases.table.expected_errors", hungry)
    costs = holdfast.plan(topdown(tmp_path)).parts["table"].costs
    assert held[0] == 10**15
    assert costs is not None
    assert costs.memory < 10**9


def test_free_memory_is_a_number_where_the_system_says_it() -> None:
    free = free_memory()
    assert free is None or free > 1 << 20
