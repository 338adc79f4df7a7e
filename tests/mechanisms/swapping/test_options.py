"""The columns of a geography move together."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import counts, released

from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.system.errors import SpecError

ROWS = [(f"{at % 2}", f"{at % 6}", f"{at % 18}", at) for at in range(90)]
FILE = pa.table(
    {name: [row[k] for row in ROWS] for k, name in enumerate(("state", "county", "tract", "income"))}
)


@pytest.mark.parametrize("swap", ["county", "tract"])
def test_all_columns_of_a_geography_move_together(swap: str, tmp_path: Path) -> None:
    made = released(
        tmp_path,
        FILE,
        data={"geography": {"columns": ["state", "county", "tract"]}},
        mechanism={"stratify": ["state"], "swap": [swap]},
    )
    assert set(swapping_of(made.certificate.records)[0].swap) == {"county", "tract"}
    assert swapping_of(made.certificate.records)[0].held == ("income",)
    found = pq.read_table(made.folder / "microdata.parquet")
    assert counts(found, ("state", "county", "tract")) == counts(FILE, ("state", "county", "tract"))


def test_a_code_is_one_column(tmp_path: Path) -> None:
    made = released(
        tmp_path,
        FILE,
        data={"geography": {"column": "tract", "prefixes": {"region": 1}}},
        mechanism={"stratify": ["state"], "swap": ["county", "tract"]},
    )
    assert swapping_of(made.certificate.records)[0].swap == ("county", "tract")


def test_a_geography_that_does_not_move_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"'state' and 'county', which move together, and swap .* none of them"
    ):
        released(
            tmp_path,
            FILE,
            data={"geography": {"columns": ["state", "county"]}},
            mechanism={"stratify": [], "swap": ["income"]},
        )
