"""The numbers that a run must come to, and how far off it may be.

An entry of a study's expected.json has the expected ``value``, its ``source``, and for each size of run the
``tolerance``. Where a formula or the paper's own table gives the value, the source is "formula" and the
tolerance is 4 standard errors of the run. Otherwise it is "full run", and the tolerance is 4 standard errors
of the run and of the full one together. Numbers in which nothing is random have a tolerance of 1e-9, for
rounding. A size without a tolerance does not make the number.

    python -m studies.expected STUDY QUICK FULL    writes it from the numbers.json of two folders
"""

import json
import sys
from collections.abc import Mapping
from math import hypot
from pathlib import Path
from typing import Any

from studies.outcome import Number

ERRORS = 4
ROUNDING = 1e-9

Numbers = Mapping[str, Number]


def violations(file: Path, part: str, numbers: Numbers, size: str) -> list[str]:
    """Return a sentence for each number of a part that is missing or off."""
    expected = json.loads(file.read_text(encoding="utf-8"))["parts"].get(part, {})
    wanted = {name: entry for name, entry in expected.items() if size in entry["tolerance"]}
    found = [f"{part}: {name} is not in expected.json" for name in numbers if name not in wanted]
    for name, entry in wanted.items():
        if name not in numbers:
            found.append(f"{part}: {name} was not made")
        elif not abs(numbers[name].value - entry["value"]) <= entry["tolerance"][size]:
            found.append(
                f"{part}: {name} is {numbers[name].value:.6g}, expected {entry['value']:.6g}"
                f" within {entry['tolerance'][size]:.2g}"
            )
    return found


def entry(quick: Number | None, full: Number) -> dict[str, Any]:
    """Return what is expected of one number."""
    exact = full.truth is not None
    base = 0.0 if exact else full.error
    runs = {"quick": quick, "full": full}
    return {
        "value": float(f"{full.value if full.truth is None else full.truth:.12g}"),
        "source": "formula" if exact else "full run",
        "tolerance": {
            size: float(f"{max(ERRORS * hypot(run.error, base), ROUNDING):.3g}")
            for size, run in runs.items()
            if run is not None
        },
    }


def _numbers(folder: Path) -> dict[str, dict[str, Number]]:
    parts = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["parts"]
    return {
        part: {name: Number(**number) for name, number in found["numbers"].items()}
        for part, found in parts.items()
    }


def main() -> None:
    """Write a study's expected.json."""
    file = Path(__file__).parent / sys.argv[1] / "expected.json"
    quick, full = (_numbers(Path(folder)) for folder in sys.argv[2:4])
    parts = {
        part: {name: entry(quick.get(part, {}).get(name), number) for name, number in numbers.items()}
        for part, numbers in full.items()
    }
    about = f"value within tolerance; {ERRORS} standard errors, see expected.py"
    file.write_text(json.dumps({"about": about, "parts": parts}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
