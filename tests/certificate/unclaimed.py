"""Fields of a certificate that claim nothing which could be derived: what may be changed, and why."""

from typing import Literal, NamedTuple

from holdfast.certificate.head import PublicationSection


class Unclaimed(NamedTuple):
    """A field that claims nothing which could be derived, "*" being any item of a list."""

    place: str
    reason: str
    only: Literal["", "weights", "statistic", "given", "chain", "estimated"] = ""
    """What it must belong to, if it claims something elsewhere."""


CLAIMS_NOTHING: tuple[Unclaimed, ...] = (
    Unclaimed("created", "when a release was made follows from nothing; it must be a time"),
    Unclaimed("publication", "what the curator says of the publication follows from nothing"),
    *(
        Unclaimed(f"publication.{name}", "as the publication; it must be one line, and an address the url")
        for name in PublicationSection.model_fields
    ),
    Unclaimed("software.version", "which version made it follows from nothing; it must be a version"),
    Unclaimed("ledger", "the ledger knows its rows, and its own verification compares them"),
    Unclaimed("ledger.row", "as the ledger; it must be a number of a row"),
    Unclaimed("ledger.hash", "as the ledger; it must be a hash"),
    Unclaimed(
        "parts.*.mechanism.given", "whether a parameter was chosen or calibrated: the guarantee is the same"
    ),
    Unclaimed(
        "parts.*.mechanism.level", "which quantile the curator asked for: the guarantee is that of any"
    ),
    Unclaimed("parts.*.mechanism.low.*", "where the curator let the grid of an estimate begin, as its level"),
    Unclaimed("parts.*.mechanism.high.*", "where the curator let the grid of an estimate end, as its level"),
    Unclaimed(
        "parts.*.mechanism.pseudo.*", "what the curator expected of a cell: the guarantee is that of any"
    ),
    Unclaimed(
        "parts.*.constraints.nonnegative", "estimated counts are never below 0, asked for or not", "estimated"
    ),
    Unclaimed("parts.*.constraints.inequalities.*.name", "a name that the curator gave to a bound"),
    Unclaimed(
        "parts.*.invariants.*.labels.*",
        "a name that the curator gave to a sum: its weights define it",
        "weights",
    ),
    Unclaimed("parts.*.constraints.inequalities.*.labels.*", "as that of an invariant", "weights"),
    Unclaimed("parts.*.table.count", "no file has a column of this name", "statistic"),
    Unclaimed(
        "parts.*.mechanism.chain.moves_given",
        "where the moves of a chain came from is the curator's word",
        "chain",
    ),
    Unclaimed("target.epsilon", "what was asked for beside a parameter that was chosen", "given"),
    Unclaimed("target.delta", "a chain was allowed more than it was measured to need", "chain"),
    Unclaimed("parts.*.alone.target.delta", "as that of all", "chain"),
)
"""What may be changed without a false claim, and why: nothing else may."""

OF_RECORDS: tuple[Unclaimed, ...] = (
    *(
        item
        for item in CLAIMS_NOTHING
        if item.place.split(".")[0] in ("created", "publication", "software", "ledger")
    ),
    Unclaimed("target.epsilon", "what was asked for, which may be more than is spent"),
    Unclaimed(
        "parts.*.mechanism.nulls", "whether missing values would have been taken, where there are none"
    ),
    Unclaimed("parts.*.table.inferred", "whether levels that all occur were declared"),
)
"""The same of a release of records."""
