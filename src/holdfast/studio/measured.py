"""What a mechanism measures of each level, with its noise, and in which passes it estimates."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from holdfast.mechanisms.catalogue import AnyMechanism


def measured(mechanism: AnyMechanism) -> Mapping[str, Any] | None:
    """Return a row a level and query, and the passes; None where nothing is measured."""
    rows: Sequence[Mapping[str, Any]] = mechanism.plan_details.get("measurements", ())
    if not rows:
        return None
    passes = mechanism.parameters.get("passes", ())
    return {
        "rows": [
            {
                "level": row["level"],
                "new": place == 0 or rows[place - 1]["level"] != row["level"],
                "query": row["query"],
                "numbers": row["nodes"] * row["rows"],
                "deviation": sqrt(row["variance"]),
            }
            for place, row in enumerate(rows)
        ],
        "passes": [" and ".join(names) for names in passes] if isinstance(passes, Sequence) else [],
    }
