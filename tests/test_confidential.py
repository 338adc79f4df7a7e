"""A release has no way back to the data, and what holds the data does not show them."""

import gc
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import asked, households
from tests.small_releases import KINDS, prepared, released

import holdfast
from holdfast.data.cell_status import STATUS
from holdfast.data.microdata import Microdata
from holdfast.data.read import ReadTable
from holdfast.data.table import Records, Table
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.swapping.public import Survey
from holdfast.mechanisms.swapping.utility import SwapMonitor
from holdfast.releases.prepared import Prepared
from holdfast.releases.records import PreparedRecords, prepare_records
from holdfast.releases.release import Release
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError

CONFIDENTIAL = (Prepared, ReadTable, Table, Records, pl.DataFrame, pl.Series)
OF_RECORDS = (
    PreparedRecords,
    Microdata,
    Survey,
    SwapMonitor,
    pa.Table,
    pa.ChunkedArray,
    pl.DataFrame,
    pl.Series,
)
CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What every object of a kind shares: it leads to the whole program, and holds nothing of one release."""


def reachable(root: object) -> Iterator[object]:
    """Yield all that an object refers to, itself first, and what arrays are views of."""
    found, seen = [root], set()
    while found:
        here = found.pop()
        if id(here) in seen or isinstance(here, CODE):
            continue
        seen.add(id(here))
        yield here
        found += gc.get_referents(here)
        found += [vars(here)] if hasattr(here, "__dict__") else []
        found += [here.base] if isinstance(here, np.ndarray) else []


def another(own: Prepared) -> Release:
    """Return a release that is not, by chance, the table itself."""
    releases = (own.release(SeededEntropy(seed)) for seed in range(20))
    true = own.table.reading.table.counts.tolist()
    return next(r for r in releases if "table" not in r.outputs or r.table.counts.tolist() != true)


def told_of_cells(held: object) -> bool:
    """Whether it is the column of what each cell is: exact, noisy, forced."""
    return isinstance(held, pl.Series) and held.name == STATUS and held.dtype == pl.String


def leaks(root: object, own: Prepared) -> list[object]:
    """Return what an object leads to that is confidential: what holds the data, or an array of the counts."""
    counts = own.table.reading.table.counts
    possible = counts[own.public.possible]
    return [
        here
        for here in reachable(root)
        if (isinstance(here, CONFIDENTIAL) and not told_of_cells(here))
        or (
            isinstance(here, np.ndarray)
            and (np.shares_memory(here, counts) or any(np.array_equal(here, c) for c in (counts, possible)))
        )
        or (isinstance(here, list | tuple) and [*here] in (counts.tolist(), possible.tolist()))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_leads_to_nothing_confidential(kind: str) -> None:
    own = prepared(kind)
    assert leaks(another(own), own) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_public_leads_to_nothing_confidential(kind: str) -> None:
    own = prepared(kind)
    assert leaks(own.public, own) == []
    assert leaks(own.certify(secure=True), own) == []


def test_what_would_lead_to_the_data_is_found() -> None:
    own = prepared("lattice-laplace")
    kinds = {type(here) for here in leaks(own, own)}
    assert {Prepared, ReadTable, Table, np.ndarray} <= kinds
    release = another(own)
    assert not leaks(release, own)
    for carried in (
        own.table.reading.table,
        own.table.reading.table.counts[:],
        own.table.reading.table.counts.tolist(),
    ):
        held = Release(release.certificate, release.outputs)
        object.__setattr__(held, "carried", [carried])
        assert leaks(held, own)


def test_a_charged_release_leads_to_nothing_confidential(tmp_path: Path) -> None:
    own = prepared("lattice-laplace")
    ledger = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(1))
    release = own.release(ledger=ledger)
    assert release.row is not None
    assert not any(isinstance(here, CONFIDENTIAL) for here in reachable(release))


def test_swapped_records_lead_to_nothing_confidential(tmp_path: Path) -> None:
    """What was written, and what is public before it is, hold no record; what is prepared does."""
    own = prepare_records(asked(data={"cells": ["county"]}), households())
    assert {PreparedRecords, Microdata, Survey, SwapMonitor} <= {type(here) for here in reachable(own)}
    ledger = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(50))
    done = holdfast.release(
        own.spec, tmp_path / "out", data=households(), ledger=ledger, accept_no_protection=True
    )
    public = (done, own.certify(secure=True), own.file.public, own.mechanism, own.mechanism.guarantee)
    assert not any(isinstance(here, OF_RECORDS) for root in public for here in reachable(root))


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_can_be_pickled(kind: str) -> None:
    release = released(kind)
    again = pickle.loads(pickle.dumps(release))  # noqa: S301 - our own
    assert again.certificate == release.certificate
    assert again.outputs == release.outputs
    if "table" in release.outputs:
        assert again.table == release.table
        assert again.table.to_frame().equals(release.table.to_frame())
    elif "estimate" in release.outputs:
        assert again.estimates == release.estimates
    else:
        assert again.statistics == release.statistics


def test_a_pickled_release_writes_the_same_folder(tmp_path: Path) -> None:
    release = released("lattice-laplace, zeros and weights")
    again = pickle.loads(pickle.dumps(release))  # noqa: S301 - our own
    one, two = release.write(tmp_path / "one"), again.write(tmp_path / "two")
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in two.iterdir()
    }
    assert holdfast.verify(two).kept


# what shows


def test_no_value_of_a_record_shows_in_what_is_told_of_swapped_ones(tmp_path: Path) -> None:
    """Neither held values nor joint counts of the data stand in a certificate, a page or a refusal."""
    names = [f"person-{at}" for at in range(300)]
    table = households(300).append_column("name", pa.array(names))
    own = asked(invariants=[{"margin": ["county"]}])
    done = holdfast.release(own, tmp_path / "out", data=table, accept_no_protection=True)
    told = [repr(done), str(done.to_dict())]
    told += [(tmp_path / "out" / name).read_text() for name in ("certificate.json", "certificate.html")]
    told.append((tmp_path / "out-utility.json").read_text())
    gaps = table.set_column(2, "county", pa.array([None, *["person-7"] * 299]))
    for data, sections in (
        (gaps, {}),
        (table, {"mechanism": {"stratify": ["name"]}}),
        (table, {"invariants": [{"margin": ["county", "name"]}]}),
        (table, {"mechanism": {"swap": ["nam"]}}),
        (table, {"privacy": {"epsilon": "1"}}),
    ):
        with pytest.raises(HoldfastError) as refusal:
            prepare_records(asked(**sections), data)
        told.append(str(refusal.value))
    assert not [words for words in told if "person-" in words]


SECRET = [48271, 69621, 16807, 40014]
"""Counts that stand nowhere else."""


@pytest.fixture
def confidential() -> Prepared:
    frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["young", "old"] * 2, "n": SECRET})
    asked = {
        "data": {"cells": ["sex", "age"], "count": "n"},
        "invariants": [{"margin": ["sex"]}],
        "privacy": {"epsilon": "1"},
    }
    return holdfast.prepare(Spec.of(asked), frame)


def shows(text: str) -> bool:
    return any(str(count) in text or f"{count:,}" in text for count in SECRET)


def test_no_count_shows_in_what_holds_the_data(confidential: Prepared) -> None:
    for held in (confidential, confidential.table.reading, confidential.table.reading.table):
        assert not shows(repr(held))
        assert not shows(str(held))
    assert shows(repr(confidential.table.reading.table.counts))  # it would be found


def test_no_count_shows_in_what_is_public(confidential: Prepared) -> None:
    certificate = confidential.certify(secure=True)
    for public in (confidential.public, confidential.mechanism, confidential.guarantee, certificate):
        assert not shows(repr(public))
    assert not shows(certificate.to_json())


def test_no_count_shows_in_a_refusal(confidential: Prepared, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(1, 2))
    with pytest.raises(HoldfastError) as over_budget:
        confidential.release(ledger=ledger)
    frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["young", "old"] * 2, "n": SECRET})
    every = {
        "data": {"cells": ["sex", "age"], "count": "n"},
        "invariants": [{"margin": ["sex", "age"]}],
        "privacy": {"epsilon": "1"},
    }
    with pytest.raises(HoldfastError) as vacuous:
        holdfast.prepare(Spec.of(every), frame)
    zeros = {**every, "constraints": {"structural_zeros": [{"sex": "f"}]}}
    with pytest.raises(HoldfastError) as zero:
        holdfast.prepare(Spec.of(zeros), frame)
    for refusal in (over_budget, vacuous, zero):
        assert not shows(str(refusal.value))
