"""Measurements that are damaged are told in one sentence, whatever the damage does to the reader."""

from pathlib import Path

import numpy as np
import pytest
from tests.mechanisms.topdown.small import spec

from holdfast.mechanisms.topdown.measurements import FILE, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError


def test_damage_is_told(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path))
    mechanism = prepared.mechanism
    assert isinstance(mechanism, TopDown)
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    path = tmp_path / FILE
    mechanism.measured(values).to_frame().write_parquet(path)
    again = read_measurements(path, mechanism.design, mechanism.measurements)
    assert all(map(np.array_equal, again, values))

    content = bytearray(path.read_bytes())
    content[4 : len(content) // 3] = bytes(len(content) // 3 - 4)
    path.write_bytes(content)
    with pytest.raises(DataError, match="does not hold the measurements"):
        read_measurements(path, mechanism.design, mechanism.measurements)
