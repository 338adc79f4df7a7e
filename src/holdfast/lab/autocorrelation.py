"""How many steps of a chain are worth one independent draw."""

import numpy as np
from numpy.typing import NDArray


def autocorrelation_time(series: NDArray[np.float64], centre: float) -> float:
    """Return the integrated autocorrelation time of chains (one a column), by Sokal's window."""
    length = series.shape[0]
    spectrum = np.zeros(length + 1)
    for column in series.T:
        spectrum += np.abs(np.fft.rfft(column - centre, 2 * length)) ** 2
    correlation = np.fft.irfft(spectrum)[:length] / np.arange(length, 0, -1)
    times = 2 * np.cumsum(correlation / correlation[0]) - 1
    inside = np.flatnonzero(np.arange(length) >= 6 * times)
    return float(times[inside[0]] if inside.size else times[-1])
