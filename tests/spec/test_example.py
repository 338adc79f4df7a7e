from pathlib import Path

from holdfast.data.read import read_table
from holdfast.spec.example import EXAMPLE_SPEC
from holdfast.spec.load import read_spec


def test_the_example_reads(example: Path) -> None:
    spec = read_spec(example)
    table = read_table(spec).table
    assert [item.margin for item in spec.invariants] == [("county",), ("education",)]
    assert spec.privacy.epsilon == 1
    assert table.margin(("county",)).tolist() == [20, 55, 25, 35]
    assert table.margin(("education",)).tolist() == [50, 35, 30, 20]


def test_every_line_fits_a_screen() -> None:
    assert max(len(line) for line in EXAMPLE_SPEC.splitlines()) <= 100
