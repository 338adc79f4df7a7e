"""Small files of records and what is asked of them."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import holdfast
from holdfast.data.fingerprint import Digests, row_digests
from holdfast.mechanisms.swapping.file import ConfidentialStrata
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.releases.handover import Written
from holdfast.releases.records import prepare_records
from holdfast.spec.model import Spec

NAMES = ("state", "size", "county", "tenure", "income")


def households(number: int = 60) -> pa.Table:
    """Return households of two states, with counties that lie in them; one is alone in its stratum."""
    rows = [
        (f"{at % 2}", at % 3 + 1, f"{at % 2}{at % 5}", "own" if at % 7 < 3 else "rent", 100 * at)
        for at in range(number - 1)
    ]
    rows.append(("1", 9, "14", "own", 7))
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(NAMES)})


def few_bits(table: pa.Table, columns: Sequence[str]) -> Digests:
    """Digests whose first words have two bits: strata share them."""
    found = row_digests(table, columns).copy()
    found[:, 0] &= np.uint64(3)
    return found


def persons(table: pa.Table) -> pa.Table:
    """Return one to three persons for each household of a file with ids."""
    ids, counties = (table.column(name).to_pylist() for name in ("id", "county"))
    rows = [(at, k, county) for at, county in zip(ids, counties, strict=True) for k in range(1 + at % 3)]
    return pa.table(
        {
            "id": [row[0] for row in rows],
            "age": [(7 * row[0] + 31 * row[1]) % 90 for row in rows],
            "county": [row[2] for row in rows],
        }
    )


def with_ids(table: pa.Table) -> pa.Table:
    return table.append_column("id", pa.array(range(table.num_rows)))


SWAP = {"name": "permutation-swapping", "stratify": ["state", "size"], "swap": ["county"], "rate": "1/2"}


def asked(folder: Path | None = None, path: str | None = None, **sections: Any) -> Spec:
    """Return what is asked of a file; sections add to the defaults, or take a key away with None."""
    found: dict[str, Any] = {
        "data": {} if path is None else {"path": path},
        "privacy": {"standard": "pure", "adjacency": "unit"},
        "mechanism": dict(SWAP),
    }
    for name, section in sections.items():
        if isinstance(section, Mapping):
            merged = {**found.get(name, {}), **section}
            found[name] = {key: value for key, value in merged.items() if value is not None}
        else:
            found[name] = section
    return Spec.of(found, folder=folder or Path())


def released(folder: Path, table: pa.Table, *, seed: int | None = 1, **sections: Any) -> Written:
    """Write records as Parquet, and release them."""
    pq.write_table(table, folder / "households.parquet")
    return holdfast.release(
        asked(folder, "households.parquet", **sections), folder / "out", seed=seed, accept_no_protection=True
    )


def surveyed(spec: Spec, table: pa.Table) -> tuple[ConfidentialStrata, PermutationSwapping]:
    """Return what is held of records before their swap, and the swap."""
    found = prepare_records(spec, table)
    assert isinstance(found.file, ConfidentialStrata)
    assert isinstance(found.mechanism, PermutationSwapping)
    return found.file, found.mechanism


def records(table: pa.Table) -> list[str]:
    """Return the records as texts, sorted."""
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return sorted(map(repr, rows))


def counts(table: pa.Table, names: Sequence[str]) -> list[str]:
    """Return the records by some columns."""
    return records(table.select(list(names)))


@cache
def kinds() -> dict[str, bytes]:
    """Return a release of every shape, by the names of files, as they were written."""
    plain = households()
    some = with_ids(plain)
    made = {}
    for name, sections in KINDS.items():
        with TemporaryDirectory() as place:
            folder = Path(place)
            pq.write_table(persons(some), folder / "persons.parquet")
            released(folder, some if "id" in sections.get("data", {}) else plain, **sections)
            for file in sorted((folder / "out").iterdir()):
                made[f"{name}/{file.name}"] = file.read_bytes()
    return made


def put(kind: str, folder: Path) -> Path:
    """Write a release to a folder."""
    folder.mkdir()
    for name, content in kinds().items():
        if name.startswith(f"{kind}/"):
            (folder / name.removeprefix(f"{kind}/")).write_bytes(content)
    return folder


KINDS: dict[str, dict[str, Any]] = {
    "records": {
        "data": {"cells": ["county", "tenure"]},
        "invariants": [
            {"margin": ["state", "county"]},
            {"total": True, "equals": 60},
            {"margin": ["tenure"], "where": {"income": [100, 2000]}},
            {"where": {"county": ["00", "11"]}, "name": "some"},
        ],
        "publication": {"title": "Homes", "publisher": "An office"},
    },
    "solved": {"mechanism": {"rate": None, "bound": "tight"}, "privacy": {"epsilon": "3"}},
    "households": {
        "data": {"id": "id", "persons": "persons.parquet"},
        "privacy": {"unit": "household", "epsilon": "9"},
    },
}

TYPES: dict[str, pa.Array] = {
    "int8": pa.array([1, 2, None], pa.int8()),
    "uint64": pa.array([2**64 - 1, 2, None], pa.uint64()),
    "truth": pa.array([True, False, None]),
    "half": pa.array([np.float16(1.5), np.float16(2), None], pa.float16()),
    "single": pa.array([1.5, float("nan"), None], pa.float32()),
    "double": pa.array([0.1, -2.0, None]),
    "decimal": pa.array([Decimal("1.10"), Decimal("-2.00"), None], pa.decimal128(10, 2)),
    "long decimal": pa.array([Decimal("1.10"), Decimal("-2.00"), None], pa.decimal256(50, 2)),
    "day": pa.array([dt.date(2020, 1, 1), dt.date(1940, 4, 1), None]),
    "moment": pa.array([1, 2, None], pa.timestamp("us")),
    "zoned moment": pa.array([1, 2, None], pa.timestamp("ns", "Europe/Rome")),
    "time": pa.array([1, 2, None], pa.time32("ms")),
    "fine time": pa.array([1000, 2000, None], pa.time64("ns")),
    "duration": pa.array([1, 2, None], pa.duration("us")),
    "text": pa.array(["a\nb", 'q"x', None]),
    "large text": pa.array(["a", "", None], pa.large_string()),
    "bytes": pa.array([b"\xff", b"b", None]),
    "large bytes": pa.array([b"\xff", b"", None], pa.large_binary()),
    "fixed bytes": pa.array([b"\xff\x00", b"bb", None], pa.binary(2)),
    "list": pa.array([[1, 2], [], None], pa.list_(pa.field("element", pa.int64()))),
    "fixed list": pa.array([[1, 2], [3, 4], None], pa.list_(pa.field("element", pa.int32()), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None]),
    "category": pa.array(["a", "b", None]).dictionary_encode(),
    "small category": pa.array(["a", "b", None])
    .dictionary_encode()
    .cast(pa.dictionary(pa.int8(), pa.string())),
    "ordered category": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int8()), ["low", "high", "never"], ordered=True
    ),
    "nothing": pa.nulls(3),
    "uuid": pa.array([b"0123456789abcdef", b"fedcba9876543210", None], pa.uuid()),
}
"""Three values of each type that a Parquet file keeps, the last of them missing."""


def typed(number: int = 24) -> pa.Table:
    """Return records with a column of every type."""
    places = pa.array([at * 5 % 3 for at in range(number)])
    own = {name: values.take(places) for name, values in TYPES.items()}
    return pa.table(
        {
            "s": [f"{at % 2}" for at in range(number)],
            "c": [at % 5 for at in range(number)],
            **own,
            "h": range(number),
        }
    )
