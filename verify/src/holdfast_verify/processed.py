"""A table that was processed after its release: it keeps what the release keeps, and nothing is below 0.

The certificate of the release lies beside it. That processing the release gives this table is not looked at.
"""

import re
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import Any

from holdfast_verify.cells import Cells, Claim
from holdfast_verify.record import (
    DamagedError,
    NoReleaseError,
    digest,
    field,
    flaw,
    object_of,
    objects,
    plain_bytes,
    read,
    text_of,
    texts,
    wholes,
)
from holdfast_verify.tables import Check, column_of

RELEASE = "release.json"
WHOLE = ("integers-l1", "rounded-l2")
REAL = ("nonnegative-l2", "nonnegative-weighted")
"""Methods that give counts with six decimal places."""
SEAL = ("files", "digest", "ledger", "quoted_formulas", "measured", "exports")
"""What a certificate adds to what was settled before the draw."""
OWN = ("software", "created", "caveats", "parts", *SEAL)
"""Fields of the head that a processed table does not take from its release."""


def processed_checks(folder: Path, content: dict[str, Any]) -> Iterator[Check]:
    """Check a processed table against the certificate of its release."""
    part = objects(content, "parts")[0]
    try:
        text = plain_bytes(folder / RELEASE).decode("utf-8")
        release = read(text, RELEASE)
    except (OSError, UnicodeDecodeError, NoReleaseError):
        raise DamagedError(f"{RELEASE} is no certificate that can be read") from None
    named = text_of(object_of(part, "release"), "certificate_digest")
    same = not flaw(text, release) and digest(release) == release.get("digest") == named
    yield Check.that("release named", same, f"{RELEASE} is not the certificate that is named")
    if not same:
        return
    wrong = _misstated(content, part, release)
    yield Check.that("certificate", not wrong, wrong)
    if wrong:
        return
    table = objects(release, "parts")[0]
    cells, places = Cells.of(field(table, "table")), field(part, "places")
    counts = _numerators(
        folder / "table.csv", cells.quoted if release.get("quoted_formulas") is True else cells, places
    )
    yield Check("schema", holds=True)
    yield Check("counts at least 0", holds=True)  # no sign is read
    if cells.zeros:
        empty = not any(compress(counts, cells.zeros))
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for item in objects(table, "invariants"):
        claim, values = Claim.of(item, cells), wholes(item, "values")
        kept = claim.sums(cells, counts) == [value * 10**places for value in values]
        yield Check.that(f"invariant {claim.name}", kept, "a sum differs from its value")


def _misstated(content: dict[str, Any], part: Any, release: dict[str, Any]) -> str:
    """Return which field does not say what it has to, "" where all do."""
    method = text_of(part, "method")
    if method not in (*WHOLE, *REAL):
        return "method is not what it has to be"
    if type(places := field(part, "places")) is not int or places != (6 if method in REAL else 0):
        return "places is not what it has to be"
    if (text_of(part, "name"), texts(part, "outputs")) != ("table", ["table"]):
        return "outputs is not what it has to be"
    if content.get("quoted_formulas") != release.get("quoted_formulas"):
        return "quoted_formulas is not what it has to be"
    if objects(content, "caveats")[1:] != objects(release, "caveats"):
        return "caveats is not what it has to be"
    differs = [name for name in {**content, **release} if content.get(name) != release.get(name)]
    return next((f"{name} is not that of the release" for name in differs if name not in OWN), "")


def _numerators(path: Path, cells: Cells, places: int) -> list[int]:
    """Return the counts of a table times ten to the places; each is written in one way."""
    form = re.compile(r"(0|[1-9][0-9]{0,17})" + (rf"\.([0-9]{{{places}}})" if places else ""))
    numbers = []
    for row, text in enumerate(column_of(path, cells), start=2):
        if not form.fullmatch(text):
            raise DamagedError(f"{path.name}, row {row} has no count as written")
        numbers.append(int(text.replace(".", "")))
    if sum(numbers) >= 2**63:
        raise DamagedError(f"the counts of {path.name} sum to more than fits 64 bits")
    return numbers
