"""Which columns stratify, move and are held."""

import pytest

from holdfast.mechanisms.records import ColumnRoles
from holdfast.system.errors import SpecError


def test_all_that_no_key_names_is_held() -> None:
    columns = ColumnRoles.of(["s"], ["c", "d"], ["a", "c", "s", "b", "d"], "the file")
    assert columns.held == ("a", "b")
    assert columns.keys == ("s", "c", "d")
    assert set(columns.all) == set("acsbd")


@pytest.mark.parametrize(
    ("stratify", "swap", "said"),
    [
        (["st"], ["c"], r"mechanism\.stratify names 'st', which is no column of the file: .*'s'"),
        (["s"], ["d"], r"mechanism\.swap names 'd', which is no column of the file"),
        (["s", "h"], ["c"], "name every column of the file: nothing is held"),
    ],
)
def test_what_is_no_design_is_refused(stratify: list[str], swap: list[str], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        ColumnRoles.of(stratify, swap, ["s", "c", "h"], "the file")
