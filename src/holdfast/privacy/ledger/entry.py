"""The values of a ledger: what a release costs, and the rows of the chain.

A record is what SQLite stores (rationals and JSON as text); a content is what the hash speaks of, and what
an export shows: whoever has an exported row can recompute its hash from its other fields, without the seal.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal, Self, get_args

from holdfast.privacy.ledger.canonical import (
    canonical,
    parse_canonical,
    parse_rational_text,
    rational_text,
)
from holdfast.privacy.ledger.errors import LedgerError

Standard = Literal["pure", "zcdp", "gaussian"]
STANDARDS: tuple[Standard, ...] = get_args(Standard)
MEASURES: Mapping[Standard, str] = {"pure": "epsilon", "zcdp": "rho", "gaussian": "mu"}
FORMAT = "holdfast-ledger/1"
_SHA256 = re.compile(r"[0-9a-f]{64}")

Record = Mapping[str, object]
OPENING_COLUMNS = ("index", "time", "format", "identity", "standard", "budget", "hash", "seal")
ROW_COLUMNS = (
    *("index", "time", "dataset", "scope", "standard", "intensity"),
    *("guarantee", "certificate", "detail", "total", "previous", "hash", "seal"),
)
HEAD_COLUMNS = ("index", "length", "hash", "seal")


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
    standard: Standard
    intensity: Fraction
    guarantee: Mapping[str, Any]
    certificate: str
    detail: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name in ("dataset", "scope", "certificate"):
            if not (isinstance(value := getattr(self, name), str) and _SHA256.fullmatch(value)):
                raise LedgerError(f"the {name} of a charge is not a SHA-256 in hex.")
        if self.standard not in STANDARDS:
            raise LedgerError(f"the standard {self.standard!r} is not known: use one of {_names()}.")
        object.__setattr__(self, "intensity", exact("the intensity of a charge", self.intensity))
        for name in ("guarantee", "detail"):
            if not isinstance(value := getattr(self, name), Mapping):
                raise LedgerError(f"the {name} of a charge is not a mapping.")
            try:
                object.__setattr__(self, name, json.loads(canonical(value)))
            except (ValueError, RecursionError) as error:
                raise LedgerError(f"the {name} of a charge {error}: give plain JSON values.") from None

    @property
    def unit(self) -> Mapping[str, Any]:
        """Which pairs of tables its intensity speaks of: an adjacency and a distance."""
        unit = self.detail.get("unit", self.guarantee.get("unit"))
        return unit if isinstance(unit, Mapping) else {}


@dataclass(frozen=True)
class Opening:
    """Row 0: what the account is in, and how much there is in it. ``identity`` is random."""

    time: str
    format: str
    identity: str
    standard: Standard
    budget: Fraction
    hash: str = ""
    seal: str = ""

    def content(self) -> dict[str, Any]:
        """Return what the hash speaks of."""
        return {
            "index": 0,
            "time": self.time,
            "format": self.format,
            "identity": self.identity,
            "standard": self.standard,
            "budget": rational_text(self.budget),
        }

    def record(self) -> dict[str, object]:
        """Return the columns as stored."""
        return {**self.content(), "hash": self.hash, "seal": self.seal}

    to_dict = record

    @classmethod
    def parse(cls, record: Record) -> Self:
        """Read a record; ValueError where it is not exactly what an opening is stored as."""
        _, text = _columns(record, OPENING_COLUMNS)
        _utc(text["time"])
        opening = cls(
            time=text["time"],
            format=text["format"],
            identity=text["identity"],
            standard=_standard(text["standard"]),
            budget=_column("budget", parse_rational_text, text["budget"]),
            hash=text["hash"],
            seal=text["seal"],
        )
        _round_trip(opening.record(), record)
        if opening.format != FORMAT:
            raise ValueError("the format is not known")
        return opening


@dataclass(frozen=True)
class Row:
    """One release in the account; ``total`` is the composed total after it."""

    index: int
    time: str
    charge: Charge
    total: Fraction
    previous: str
    hash: str = ""
    seal: str = ""

    def content(self) -> dict[str, Any]:
        """Return what the hash speaks of: everything but the hash and its seal."""
        return {
            "index": self.index,
            "time": self.time,
            "dataset": self.charge.dataset,
            "scope": self.charge.scope,
            "standard": self.charge.standard,
            "intensity": rational_text(self.charge.intensity),
            "guarantee": self.charge.guarantee,
            "certificate": self.charge.certificate,
            "detail": self.charge.detail,
            "total": rational_text(self.total),
            "previous": self.previous,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the whole row, for an export."""
        return {**self.content(), "hash": self.hash, "seal": self.seal}

    def record(self) -> dict[str, object]:
        """Return the columns as stored."""
        texts = {name: canonical(getattr(self.charge, name)) for name in ("guarantee", "detail")}
        return {**self.to_dict(), **texts}

    @classmethod
    def parse(cls, record: Record) -> Self:
        """Read a record; ValueError where it is not exactly what a row is stored as."""
        index, text = _columns(record, ROW_COLUMNS)
        _utc(text["time"])
        try:
            charge = Charge(
                dataset=text["dataset"],
                scope=text["scope"],
                standard=_standard(text["standard"]),
                intensity=_column("intensity", parse_rational_text, text["intensity"]),
                guarantee=_column("guarantee", parse_canonical, text["guarantee"]),
                certificate=text["certificate"],
                detail=_column("detail", parse_canonical, text["detail"]),
            )
        except LedgerError as error:
            raise ValueError(str(error).rstrip(".")) from None
        row = cls(
            index=index,
            time=text["time"],
            charge=charge,
            total=_column("total", parse_rational_text, text["total"]),
            previous=text["previous"],
            hash=text["hash"],
            seal=text["seal"],
        )
        _round_trip(row.record(), record)
        return row


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


def _names() -> str:
    return ", ".join(STANDARDS)


def _columns(record: Record, columns: tuple[str, ...]) -> tuple[int, dict[str, str]]:
    """Return the index and the columns of text; nothing else may be there."""
    if set(record) != set(columns):
        raise ValueError("its columns are not those of a ledger")
    index = record["index"]
    if type(index) is not int:
        raise ValueError("the index is not a whole number")
    texts: dict[str, str] = {}
    for name in columns[1:]:
        value = record[name]
        if type(value) is not str:
            raise ValueError(f"the {name} is not text")
        texts[name] = value
    return index, texts


def _column(name: str, parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"the {name} {error}") from None


def _standard(text: str) -> Standard:
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


def _round_trip(made: Record, stored: Record) -> None:
    """Require that writing what was read gives the same columns: then each value has one text."""
    for name, value in stored.items():
        if made[name] != value:
            raise ValueError(f"the {name} is not as Holdfast writes it")
