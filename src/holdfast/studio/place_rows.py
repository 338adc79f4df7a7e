"""What mechanisms do to the places of a geography, as rows of tables: one column a mechanism."""

from collections.abc import Mapping
from typing import Any

from holdfast.comparison.place_errors import PlaceComparison
from holdfast.system.text import plain_number


def place_tables(places: PlaceComparison | None) -> Mapping[str, Any] | None:
    """Return errors by population, biases by size, and indices, each beside those of the others."""
    if places is None or not places.rows:
        return None
    rows = places.rows
    return {
        "names": [row.mechanism for row in rows],
        "errors": [
            (
                each[0].level,
                _span(each[0].low, each[0].high),
                [plain_number(one.mean_absolute_error) for one in each],
            )
            for each in zip(*(row.by_population for row in rows), strict=True)
        ],
        "bias": [
            (each[0].level, _span(each[0].low, each[0].high), [one.words for one in each])
            for each in zip(*(row.bias for row in rows), strict=True)
        ],
        "segregation": [
            (each[0].level, f"{each[0].attribute}, {each[0].index}", each[0].true, [one.mean for one in each])
            for each in zip(*(row.segregation for row in rows), strict=True)
        ],
        "negative": [(row.mechanism, row.negative) for row in rows if row.negative],
        "open": [("; ".join(names), words) for names, words in places.left_open],
    }


def _span(low: int, high: int | None) -> str:
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"
