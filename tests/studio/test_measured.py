"""Accuracy tells what is measured and in which passes, and what swaps do to places."""

from pathlib import Path

from tests.studio.test_accuracy import settled
from tests.studio.visitor import Visitor, words

BLOCKS = "block,sex,people\n" + "".join(
    f"9{county}{block},{sex},{7 + int(block) * 3}\n" for county in "12" for block in "123" for sex in "fm"
)
TOPDOWN = """[data]
path = "blocks.csv"
cells = ["sex"]
count = "people"
geography = { column = "block", prefixes = { state = 1, county = 2, block = 3 } }

[privacy]
unit = "person"
standard = "zcdp"
rho = "1"
adjacency = "unit"

[mechanism]
name = "topdown"
"""
PASSES = """passes = [["total"], ["detailed"]]

[[mechanism.queries]]
marginal = []

[[mechanism.queries]]
marginal = ["sex"]
"""
SWAP = """[data]
path = "households.csv"
cells = ["tenure"]
geography = { columns = ["county", "tract"] }

[privacy]
unit = "household"
adjacency = "unit"

[mechanism]
name = "permutation-swapping"
stratify = ["size"]
swap = ["tract"]
rate = "1/4"
"""


def test_measurements_and_their_passes(tmp_path: Path) -> None:
    (tmp_path / "blocks.csv").write_text(BLOCKS)
    spec = tmp_path / "top.toml"
    spec.write_text(TOPDOWN)
    told = settled(Visitor.at(spec))
    assert "What is measured, and in which passes" in told
    assert "estimated from all of these at once: the spec names no passes" in told
    spec.write_text(TOPDOWN + PASSES)
    told = settled(Visitor.at(spec))
    assert "in 2 passes, and what a pass found stays: total , then sex" in told
    assert "Of invented counts, measured and estimated as this spec asks; each draw has a seed" in told
    assert "Possible release 20" in told
    assert "county total 2" in told


def test_places_of_swapped_records_stand_beside_other_mechanisms(tmp_path: Path) -> None:
    rows = [
        f"{county}{tract},{county},{size},{'own' if (number * 7 + int(tract)) % 3 else 'rent'}"
        for county in "AB"
        for tract in "12"
        for size in (1, 2)
        for number in range(6)
    ]
    (tmp_path / "households.csv").write_text("tract,county,size,tenure\n" + "\n".join(rows) + "\n")
    (tmp_path / "swap.toml").write_text(SWAP)
    visitor = Visitor.at(tmp_path / "swap.toml")
    settled(visitor)
    assert visitor.post("/accuracy/compare").status_code == 200
    visitor.desk.jobs["compare"].wait()
    told = words(visitor.get("/accuracy"))
    for part in (
        "How far a cell of a place is off on average, by the households of the place",
        "The building blocks of each guarantee Guarantee permutation-swapping topdown topdown at rho",
        "domain files of households, in no order tables of counts of households",
        "scope those that share the counts of size by tract and county and of size by all that is held",
        "unit each household of distance",
        "standard pure pure zcdp zcdp",
        "intensity pure epsilon",
        "swap rate 0.25 (1/4) largest stratum",
        "permutation-swapping; topdown. At rho",
        "Bias of counts, by their size",
        "Segregation, on average over draws",
        "Left open by permutation-swapping: every household is released with its own size, tenure",
        "lattice-gaussian, weighted by level",
    ):
        assert part in told
