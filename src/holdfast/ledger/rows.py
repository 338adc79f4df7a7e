"""The values of a ledger: what a release costs, and the rows of the chain.

A record is what SQLite stores (rationals and JSON as text); a content is what the hash speaks of, and what
an export shows: whoever has an exported row can recompute its hash from its other fields, without the seal.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal, Self, get_args

from holdfast.system.errors import LedgerError
from holdfast.system.text import (
    canonical,
    parse_canonical,
    parse_rational_text,
    plain_text,
    rational_text,
    read_json,
)

ChargeStandard = Literal["pure", "zcdp", "gaussian", "tp", "rho-tp"]
STANDARDS: tuple[ChargeStandard, ...] = get_args(ChargeStandard)
MEASURES: Mapping[ChargeStandard, str] = {
    "pure": "epsilon",
    "zcdp": "rho",
    "gaussian": "mu",
    "tp": "epsilon",
    "rho-tp": "rho",
}
OF_SECRETS: tuple[ChargeStandard, ...] = ("tp", "rho-tp")
"""Those that compare releases given two secrets, and not two datasets."""
FORMAT = "holdfast-ledger/1"
_FORMAT = re.compile(r"holdfast-ledger/[1-9][0-9]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")

StoredRecord = Mapping[str, object]
OPENING_COLUMNS = ("index", "time", "format", "identity", "standard", "budget", "hash", "seal")
ROW_COLUMNS = (
    *("index", "time", "dataset", "scope", "standard", "intensity"),
    *("guarantee", "certificate", "detail", "total", "previous", "hash", "seal"),
)
COMPLETION_COLUMNS = ("index", "row", "time", "certificate", "release", "drawn", "previous", "hash", "seal")
HEAD_COLUMNS = ("index", "length", "hash", "completions", "completed", "state", "root", "digest", "seal")


@dataclass(frozen=True)
class Charge:
    """What a release will cost, settled before it is drawn.

    ``dataset`` is the `fingerprint` of the file it is of, ``scope`` the digest of the universe and
    ``certificate`` that of the certificate's content, all SHA-256 in hex. ``intensity`` is what the release
    costs alone, in its own ``standard``; ``detail`` is whatever composition needs to know of it later. Both
    mappings are copied.
    """

    dataset: str
    scope: str
    standard: ChargeStandard
    intensity: Fraction
    guarantee: Mapping[str, Any]
    certificate: str
    detail: Mapping[str, Any]

    def __post_init__(self) -> None:
        _require_hashes(self, "dataset", "scope", "certificate")
        if self.standard not in STANDARDS:
            raise LedgerError(
                f"the standard {self.standard!r} is not known: use one of {', '.join(STANDARDS)}."
            )
        object.__setattr__(self, "intensity", exact("the intensity of a charge", self.intensity))
        for name in ("guarantee", "detail"):
            if not isinstance(value := getattr(self, name), Mapping):
                raise LedgerError(f"the {name} of a charge is not a mapping.")
            try:
                object.__setattr__(self, name, read_json(canonical(value)))
            except ValueError as error:
                raise LedgerError(f"the {name} of a charge {error}: give plain JSON values.") from None

    @property
    def repeatable(self) -> str | None:
        """What tells noise that is the same each time from other noise; None where it is drawn anew."""
        mark = self.detail.get("repeatable")
        return mark if isinstance(mark, str) else None

    @property
    def unit(self) -> Mapping[str, Any]:
        """Which pairs of tables its intensity speaks of: an adjacency and a distance."""
        unit = self.detail.get("unit", self.guarantee.get("unit"))
        return unit if isinstance(unit, Mapping) else {}


@dataclass(frozen=True, kw_only=True)
class Link:
    """A record of a chain: its hash speaks of everything but the hash itself and its seal."""

    hash: str = ""
    seal: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the whole record, for an export."""
        return dict(vars(self))

    def content(self) -> dict[str, Any]:
        """Return what the hash speaks of."""
        return {name: value for name, value in self.to_dict().items() if name not in ("hash", "seal")}


@dataclass(frozen=True)
class Opening(Link):
    """Row 0: what the account is in, and how much there is in it. ``identity`` is random."""

    time: str
    format: str
    identity: str
    standard: ChargeStandard
    budget: Fraction

    def to_dict(self) -> dict[str, Any]:
        """Return row 0, for an export."""
        return {"index": 0, **vars(self), "budget": rational_text(self.budget)}

    record = to_dict

    @classmethod
    def parse(cls, record: StoredRecord) -> Self:
        """Read a record; ValueError where it is not exactly what an opening is stored as."""
        _, text = _columns(record, OPENING_COLUMNS)
        _utc(text["time"])
        text |= {"standard": _standard(text["standard"])}
        opening = cls(**text | {"budget": _column("budget", parse_rational_text, text["budget"])})
        _round_trip(opening.record(), record)
        if opening.format != FORMAT:
            raise ValueError("the format is not known")
        return opening


@dataclass(frozen=True)
class Row(Link):
    """One release in the account; ``total`` is the composed total after it."""

    index: int
    time: str
    charge: Charge
    total: Fraction
    previous: str

    def to_dict(self) -> dict[str, Any]:
        """Return the whole row, for an export."""
        exact = {"intensity": self.charge.intensity, "total": self.total}
        values = vars(self.charge) | vars(self) | {name: rational_text(one) for name, one in exact.items()}
        return {name: values[name] for name in ROW_COLUMNS}

    def record(self) -> dict[str, object]:
        """Return the columns as stored."""
        texts = {name: plain_text(getattr(self.charge, name)) for name in ("guarantee", "detail")}
        return {**self.to_dict(), **texts}

    @classmethod
    def parse(cls, record: StoredRecord) -> Self:
        """Read a record; ValueError where it is not exactly what a row is stored as."""
        numbers, text = _columns(record, ROW_COLUMNS)
        _utc(text["time"])
        try:
            charge = Charge(
                dataset=text.pop("dataset"),
                scope=text.pop("scope"),
                standard=_standard(text.pop("standard")),
                intensity=_column("intensity", parse_rational_text, text.pop("intensity")),
                guarantee=_column("guarantee", parse_canonical, text.pop("guarantee")),
                certificate=text.pop("certificate"),
                detail=_column("detail", parse_canonical, text.pop("detail")),
            )
        except LedgerError as error:
            raise ValueError(str(error).rstrip(".")) from None
        total = _column("total", parse_rational_text, text.pop("total"))
        row = cls(**numbers, **text, charge=charge, total=total)
        _round_trip(row.record(), record)
        return row


@dataclass(frozen=True)
class Completion(Link):
    """A row whose release was handed over: without one, nothing of the row was ever seen.

    ``certificate`` is the digest of what was settled before the draw, ``release`` that of the sealed
    certificate, which holds the hashes of all files; None where outputs were handed over in memory.
    ``drawn`` is the digest of the counts of a release that has the same noise each time.
    """

    index: int
    row: int
    time: str
    certificate: str
    release: str | None
    drawn: str | None
    previous: str

    def __post_init__(self) -> None:
        told = (name for name in ("release", "drawn") if getattr(self, name) is not None)
        _require_hashes(self, "certificate", *told)

    def record(self) -> dict[str, object]:
        """Return the columns as stored."""
        return {**self.to_dict(), "release": self.release or "", "drawn": self.drawn or ""}

    @classmethod
    def parse(cls, record: StoredRecord) -> Self:
        """Read a record; ValueError where it is not exactly what a completion is stored as."""
        numbers, text = _columns(record, COMPLETION_COLUMNS, ("index", "row"))
        _utc(text["time"])
        try:
            told = {name: text[name] or None for name in ("release", "drawn")}
            completion = cls(**numbers, **text | told)
        except LedgerError as error:
            raise ValueError(str(error).rstrip(".")) from None
        _round_trip(completion.record(), record)
        return completion


@dataclass(frozen=True)
class Head:
    """Where both chains end, and the checkpoint: what composition needs of all rows so far.

    ``state`` is canonical JSON, empty before the first row, and ``root`` the root of the tree of entries that
    belong to it.
    """

    length: int
    hash: str
    completions: int
    completed: str
    state: str
    root: str
    digest: str = ""
    seal: str = ""

    def content(self) -> dict[str, Any]:
        """Return what the digest speaks of."""
        return {name: getattr(self, name) for name in HEAD_COLUMNS[1:-2]}

    def record(self) -> dict[str, object]:
        """Return the columns as stored."""
        return {"index": 0, **self.content(), "digest": self.digest, "seal": self.seal}

    @classmethod
    def parse(cls, record: StoredRecord) -> Self:
        """Read a record; ValueError where it is no head."""
        numbers, text = _columns(record, HEAD_COLUMNS, ("index", "length", "completions"))
        if numbers.pop("index") != 0:
            raise ValueError("the index is not 0")
        return cls(**numbers, **text)


def repeated(rows: Sequence[Row], row: Row) -> int | None:
    """Return the first row whose noise a row has once more; None where its noise is its own."""
    if (mark := row.charge.repeatable) is None:
        return None
    first = next((one.index for one in rows if one.charge.repeatable == mark), row.index)
    return first if first < row.index else None


def foreign_format(text: object) -> bool:
    """Whether a text names a format of ledgers that this version does not know."""
    return isinstance(text, str) and bool(_FORMAT.fullmatch(text)) and text != FORMAT


def now() -> str:
    """Return the time as rows hold it: UTC, ISO 8601, microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def exact(what: str, value: object) -> Fraction:
    """Return a non-negative number as a Fraction; LedgerError for floats and what a row cannot hold."""
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise LedgerError(f"{what} is {value!r}, not an exact rational: give a Fraction.")
    number = Fraction(value)
    try:
        rational_text(number)
    except ValueError as error:
        raise LedgerError(f"{what} {error}.") from None
    return number


def _require_hashes(record: "Charge | Completion", *names: str) -> None:
    for name in names:
        if not (isinstance(value := getattr(record, name), str) and _SHA256.fullmatch(value)):
            what = type(record).__name__.lower()
            raise LedgerError(f"the {name} of a {what} is not a SHA-256 in hex.")


def _columns(
    record: StoredRecord, columns: tuple[str, ...], counted: tuple[str, ...] = ("index",)
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of whole numbers and those of text; nothing else may be there."""
    if set(record) != set(columns):
        raise ValueError("its columns are not those of a ledger")
    numbers, texts = dict[str, Any](), dict[str, Any]()
    for name in columns:
        value = record[name]
        if name in counted:
            if type(value) is not int:
                raise ValueError(f"the {name} is not a whole number")
            numbers[name] = value
        elif type(value) is str:
            texts[name] = value
        else:
            raise ValueError(f"the {name} is not text")
    return numbers, texts


def _column(name: str, parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"the {name} {error}") from None


def _standard(text: str) -> ChargeStandard:
    for standard in STANDARDS:
        if text == standard:
            return standard
    raise ValueError("the standard is not known")


def _utc(text: str) -> None:
    try:
        same = datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="microseconds") == text
    except (ValueError, OverflowError):
        same = False
    if not same:
        raise ValueError("the time is not UTC in ISO 8601")


def _round_trip(made: StoredRecord, stored: StoredRecord) -> None:
    """Require that writing what was read gives the same columns: then each value has one text."""
    for name, value in stored.items():
        if made[name] != value:
            raise ValueError(f"the {name} is not as Holdfast writes it")
