"""Measurements that are damaged are told in one sentence, whatever the damage does to the reader."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.mechanisms.topdown.small import spec

from holdfast.mechanisms.topdown.measurements import FILE, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError


def test_damage_that_makes_the_reader_panic_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(spec(tmp_path))
    mechanism = prepared.mechanism
    assert isinstance(mechanism, TopDown)
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    path = tmp_path / FILE
    mechanism.measured(values).to_frame().write_parquet(path)
    again = read_measurements(path, mechanism.design, mechanism.measurements)
    assert all(map(np.array_equal, again, values))

    def panicking(*_: object, **__: object) -> pl.DataFrame:
        raise pl.exceptions.PanicException

    monkeypatch.setattr(pl, "read_parquet", panicking)
    with pytest.raises(DataError, match="does not hold the measurements"):
        read_measurements(path, mechanism.design, mechanism.measurements)
