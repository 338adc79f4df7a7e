import numpy as np
import pytest

from holdfast.lab.autocorrelation import autocorrelation_time


def test_the_autocorrelation_time_of_a_known_series() -> None:
    seeded = np.random.default_rng(1)
    series = np.zeros((4_000, 50))
    for step in range(1, series.shape[0]):
        series[step] = 0.9 * series[step - 1] + seeded.normal(size=50)
    found = autocorrelation_time(series[200:], 0.0)
    assert found == pytest.approx(19, rel=0.1)  # (1 + 0.9) / (1 - 0.9)
