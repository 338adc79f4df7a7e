"""The numbers that a part measures, and their comparison with `expected.json`.

A simulated number is a mean of ``draws`` independent draws. Where the right value is m, known up to a
standard error e, and one draw has the standard deviation s, it should be within ``NUMBER`` standard errors
(s^2 / draws + e^2)^(1/2) of m. The standardised errors of all numbers of one series, added up and divided by
the root of their number, should stay within ``SERIES``: that finds what is off by a few percent everywhere.
A number without draws was computed by summation and should agree up to ``COMPUTED``.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Expected = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]

NUMBER, SERIES, COMPUTED = 5.0, 4.0, 1e-7
EXPECTED = Path(__file__).with_name("expected.json")


@dataclass(frozen=True)
class Number:
    """One number of a series.

    ``first`` is the mean of the few replicates that the paper would have, ``spread`` its standard error.
    """

    part: str
    series: str
    setting: str
    model: str
    value: float
    draws: int = 0
    first: float = nan
    spread: float = nan


def mean_cost(
    part: str, series: str, setting: str, model: str, noise: NDArray[Any], replicates: int
) -> Number:
    """Return the mean L2 cost ||M(X) - phi(X)||_2 of noise vectors, one a row [semi-dp, Section 5.2]."""
    costs = np.linalg.norm(noise.astype(np.float64), axis=1)
    first = costs[:replicates]
    spread = float(first.std(ddof=1) / sqrt(replicates))
    return Number(part, series, setting, model, float(costs.mean()), costs.size, float(first.mean()), spread)


def write(numbers: Iterable[Number], path: Path) -> None:
    """Write the numbers as JSON."""
    rows = [asdict(number) for number in numbers]
    for row in rows:
        if isnan(row["first"]):
            del row["first"], row["spread"]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def read_expected(path: Path = EXPECTED) -> Expected:
    """Return the expected values: part, series, setting, then value, sd of one draw, error of the value."""
    found: Expected = json.loads(path.read_text())["expected"]
    return found


def discrepancies(numbers: Iterable[Number], expected: Expected) -> list[str]:
    """Return a sentence for each number, or series, that is farther off than its tolerance."""
    wrong: list[str] = []
    standardised: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in numbers:
        name = f"{number.part}, {number.series}, {number.setting}{number.model and ', model '}{number.model}"
        entry = expected.get(number.part, {}).get(number.series, {}).get(number.setting)
        if entry is None:
            continue
        off = number.value - entry["value"]
        if number.draws == 0:
            if abs(off) > COMPUTED:
                wrong.append(f"{name}: {number.value:.9g} instead of {entry['value']:.9g}")
            continue
        error = sqrt(entry["sd"] ** 2 / number.draws + entry["error"] ** 2)
        standardised[number.part, number.series].append(off / error)
        if abs(off) > NUMBER * error:
            wrong.append(
                f"{name}: {number.value:.5g} instead of {entry['value']:.5g} +- {NUMBER * error:.2g}"
            )
    for (part, series), errors in standardised.items():
        together = sum(errors) / sqrt(len(errors))
        if abs(together) > SERIES:
            wrong.append(f"{part}, {series}: all together {together:+.1f} standard errors off")
    return wrong
