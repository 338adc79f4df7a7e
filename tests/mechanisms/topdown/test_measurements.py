"""What `verify` can know of measurements, and what a signature or a ledger knows alone."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.certificate.falsify import write
from tests.mechanisms.topdown.small import spec

import holdfast
from holdfast import verify
from holdfast.certificate.sign import generate_keys
from holdfast.mechanisms.topdown.details import VOUCHED
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.measurements import FILE, digest_of, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare

SOME = range(0, 162, 27)
"""Of the measurements, those that are changed."""


def wrong(folder: Path, key: Path | None = None) -> list[str]:
    return [check.name for check in verify(folder, public_key=key).checks if not check.holds]


def change(out: Path, place: int, by: int, *, head: bool) -> None:
    """Change a measurement and make every hash right, that in the head of the certificate or all but it."""
    frame = pl.read_parquet(out / FILE)
    values = frame["value"].to_numpy().copy()
    values[place] += by
    frame.with_columns(value=pl.Series(values)).write_parquet(out / FILE)
    content = json.loads((out / "certificate.json").read_text())
    if head:
        content["measured"] = digest_of((values,))
    write(out, content, page=True)


@pytest.mark.parametrize("by", [-1, 40])
def test_a_changed_measurement_is_found_where_a_count_changes(by: int, tmp_path: Path) -> None:
    """By verify alone exactly there; by the signature always."""
    asked, out = spec(tmp_path), tmp_path / "out"
    private, public = generate_keys(tmp_path / "key")
    holdfast.release(asked, out, seed=1, key=private)
    mechanism = prepare(asked).mechanism
    assert isinstance(mechanism, TopDown)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    first = read_measurements(out / FILE, mechanism.design, mechanism.measurements)
    counts = estimated(mechanism.design, mechanism.measurements, first)[-1]
    assert wrong(out, public) == []
    found = set()
    for place in SOME:
        change(out, place, by, head=True)
        values = read_measurements(out / FILE, mechanism.design, mechanism.measurements)
        again = estimated(mechanism.design, mechanism.measurements, values)[-1]
        differs = not np.array_equal(again, counts)
        assert set(wrong(out, public)) == ({"estimates", "signature"} if differs else {"signature"})
        found.add(differs)
        for name, text in before.items():
            (out / name).write_bytes(text)
    assert True in found
    assert by in (-40, 40) or False in found  # so that verify alone cannot know


def test_the_head_of_the_certificate_names_the_measurements(tmp_path: Path) -> None:
    out = tmp_path / "out"
    holdfast.release(spec(tmp_path), out, seed=1)
    content = json.loads((out / "certificate.json").read_text())
    values = pl.read_parquet(out / FILE)["value"].to_numpy()
    assert list(content).index("measured") < list(content).index("target")
    assert content["measured"] == digest_of((values,))
    (said,) = (check.detail for check in verify(out).checks if check.name == "measurements")
    assert VOUCHED in said
    change(out, 3, 1, head=False)
    assert wrong(out) == ["measurements"]


def test_one_count_that_does_not_follow_is_found(tmp_path: Path) -> None:
    """Two people who change places within a county: before, so few could have been rounding."""
    out = tmp_path / "out"
    holdfast.release(spec(tmp_path), out, seed=1)
    lines = (out / "table.csv").read_text().splitlines()
    counts = [int(line.rsplit(",", 1)[1]) for line in lines[1:49]]
    for place, by in ((counts.index(max(counts)), -1), (counts.index(min(counts)), 1)):
        head, _, count = lines[place + 1].rpartition(",")
        lines[place + 1] = f"{head},{int(count) + by}"
    (out / "table.csv").write_text("\n".join(lines) + "\n")
    write(out, json.loads((out / "certificate.json").read_text()), page=True)
    (check,) = (check for check in verify(out).checks if not check.holds)
    assert (check.name, check.detail) == (
        "estimates",
        "2 of 96 counts are not what follows from the measurements",
    )
