"""Files of object stores are read as those of this machine."""

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.read import read_table
from holdfast.system.errors import DataError, HoldfastError, SpecError

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def lake() -> str:
    store = fsspec.filesystem("memory")
    for state, counts in {"MA": [1, 2], "RI": [3, 4]}.items():
        with store.open(f"/lake/state={state}/part-0.csv", "wb") as file:
            pl.DataFrame({"sex": ["f", "m"], "n": counts}).write_csv(file)
    return "memory://lake"


def counts(path: str, *cells: str) -> list[int]:
    data = hf.Data(path=path, cells=cells, count="n", aggregate=True)
    found = read_table(hf.Spec(data=data, privacy=hf.Privacy(epsilon="1")))
    return [int(count) for count in found.table.counts]


def test_a_file_a_folder_and_a_pattern_of_a_store_are_read(lake: str) -> None:
    assert counts(f"{lake}/state=RI/part-0.csv", "sex") == [3, 4]
    assert counts(lake, "state", "sex") == [1, 2, 3, 4]
    assert counts(f"{lake}/*/*.csv", "state") == [3, 7]


def test_what_is_not_there_is_told(lake: str) -> None:
    with pytest.raises(DataError, match=r"memory://lake/nix\.csv does not exist: check the path"):
        counts(f"{lake}/nix.csv", "sex")
    with pytest.raises(SpecError, match="a store 'nix' that fsspec cannot open here"):
        counts("nix://lake/a.csv", "sex")
    with pytest.raises(HoldfastError, match="path has a password: leave it out") as caught:
        counts("ftp://me:geheim@host/a.csv", "sex")
    assert "geheim" not in str(caught.value)
