"""The checkpoint of a ledger: for each file of records, the designs of its releases and what they lose.

An entry names a design by the first row that has it, counts its releases in a weight, and holds what one of
weight 1 loses on the joint scope of the file: a release of a known design is added without a search, and
without reading another row. A new design is composed with the first rows of all designs of its file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from holdfast.account.design import Design
from holdfast.account.joint import JointScope, require_same_columns
from holdfast.account.losses import at_distance, per_record
from holdfast.account.records import VERSION as RECORDS
from holdfast.account.records import Swapped
from holdfast.account.terms import NEW, Terms, amount, parts_of
from holdfast.privacy.ledger.entry import Charge, exact
from holdfast.privacy.ledger.errors import LedgerError
from holdfast.privacy.ledger.past import Past, State
from holdfast.privacy.order import convert

RULES = 1
"""The version of the entries, and of the rules by which they are composed."""


@dataclass(frozen=True)
class Member:
    """The releases of one design: ``row`` is the first of them, ``part`` what one like it loses.

    ``part`` is an amount of the ledger's standard, and None until the file is composed.
    """

    design: str
    scale: Fraction
    row: int
    weight: Fraction
    part: Fraction | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        part = None if self.part is None else _text(self.part)
        numbers = {"scale": _text(self.scale), "weight": _text(self.weight), "part": part}
        return {"design": self.design, "row": self.row, **numbers}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Member":
        """Read what `to_dict` gives."""
        numbers = {name: Fraction(content[name]) for name in ("scale", "weight", "part")}
        return cls(design=content["design"], row=content["row"], **numbers)


@dataclass(frozen=True)
class File:
    """The releases of one file by joint scope: two columns of counts in one file are of different records.

    ``old`` says that it is named by a table, as in charges of version 1.
    """

    scopes: tuple[tuple[Member, ...], ...] = ()
    old: bool = False

    @property
    def members(self) -> list[Member]:
        """All designs, in the order of their rows."""
        return sorted((one for scope in self.scopes for one in scope), key=lambda one: one.row)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"old": self.old, "scopes": [[one.to_dict() for one in scope] for scope in self.scopes]}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "File":
        """Read what `to_dict` gives."""
        scopes = tuple(tuple(Member.of(one) for one in scope) for scope in content["scopes"])
        return cls(scopes, content["old"])


class Book:
    """What is known of the past, and what a new charge changes of it: to be used for one charge."""

    def __init__(self, past: Past, new: Charge) -> None:
        if past.standard == "tp" or past.standard == "rho-tp":  # noqa: PLR1714  so that types follow
            raise LedgerError("a ledger of secrets has no distances between files.")
        self._past, self._standard, self._new = past, past.standard, new
        self._files: dict[str, File] = {}
        self._aliases: dict[str, State] = {}
        self._terms: dict[tuple[int, str], Terms | Swapped] = {}
        self.adjacency: str = new.unit["adjacency"]
        self._sum = Fraction(0)
        if past.state is not None:
            if past.state["rules"] != RULES:
                raise LedgerError("the ledger was charged by a newer Holdfast: update this one.")
            self.adjacency, self._sum = past.state["adjacency"], Fraction(past.state["sum"])
        elif len(past):
            self.adjacency = past[0].charge.unit["adjacency"]
            for row in past:
                for part in parts_of(row.charge):
                    self._place(row.index, part, f"row {row.index}")
        for part in parts_of(new):
            self._place(len(past) + 1, part, NEW)
        self._files = {name: self._composed(file) for name, file in self._files.items()}
        for name in (*self._files, *self._aliases):
            self._sum += self._cost(self._files.get(name, File())) - self._cost(self._before(name))

    @property
    def sum(self) -> Fraction:
        """What all files lose together: epsilon, rho, or the square of mu."""
        return self._sum

    @property
    def own(self) -> Fraction:
        """What the new charge loses, among all releases of its files."""
        lost = Fraction(0)
        for part in parts_of(self._new):
            design, found = Design.of(part, self._standard), self._find(part.dataset)
            members = [] if found is None else found[1].members
            one = next(one for one in members if one.design == design.digest)
            lost += design.weight(one.scale) * (one.part or 0)
        return lost

    @property
    def state(self) -> State:
        """What the head of the ledger keeps."""
        return {"rules": RULES, "adjacency": self.adjacency, "sum": _text(self._sum)}

    @property
    def entries(self) -> Mapping[str, State]:
        """The entries that changed."""
        return {**{name: file.to_dict() for name, file in self._files.items()}, **self._aliases}

    def _place(self, index: int, charge: Charge, called: str) -> None:
        """Put a charge among those of its file, and join what it shows to be one file."""
        design = Design.of(charge, self._standard)
        name, file = self._file_of(charge)
        known = next((one for one in file.members if one.design == design.digest), None)
        if known is None:
            self._terms[index, design.digest] = _read(charge, called)
            member = Member(design.digest, design.scale, index, Fraction(1), None)
            self._files[name] = self._with(file, member)
        else:
            more = replace(known, weight=known.weight + design.weight(known.scale))
            scopes = tuple(tuple(more if one is known else one for one in scope) for scope in file.scopes)
            self._files[name] = replace(file, scopes=scopes)

    def _file_of(self, charge: Charge) -> tuple[str, File]:
        """Return the name and the state of the file of a charge.

        Charges of version 1 named their table; a later one of that table says so, and joins it to its file.
        """
        old = "version" not in charge.detail
        name, file = self._find(charge.dataset) or (charge.dataset, File(old=old))
        table = charge.detail.get("table")
        if old or not isinstance(table, str) or not (self._entry(table) or {}).get("old"):
            return name, file
        other = self._find(table)
        if other is None or other[0] == name:
            return name, file
        joined = File()
        for member in sorted((*file.members, *other[1].members), key=lambda one: one.row):
            joined = self._with(joined, replace(member, part=None))
        self._files.pop(other[0], None)
        self._aliases[other[0]] = {"same": name, "old": other[1].old}
        return name, joined

    def _find(self, name: str) -> tuple[str, File] | None:
        """Return a file by any of its names, with the name that it is kept under."""
        entry = self._entry(name)
        if entry is None:
            return None
        if "same" in entry:
            return self._find(entry["same"])
        return name, self._files.get(name) or File.of(entry)

    def _entry(self, name: str) -> State | None:
        if name in self._files:
            return {"old": self._files[name].old}
        return self._aliases.get(name) or self._past.entry(name)

    def _with(self, file: File, member: Member) -> File:
        """Return a file with another design, in the first joint scope that it does not contradict."""
        terms, scopes = self._terms_of(member), list(file.scopes)
        for place, scope in enumerate(scopes):
            if not any(_contradict(terms, self._terms_of(other)) for other in scope):
                scopes[place] = (*(replace(one, part=None) for one in scope), member)
                break
        else:
            scopes.append((member,))
        return replace(file, scopes=tuple(scopes))

    def _composed(self, file: File) -> File:
        """Return a file with all parts; they are worked out again where its designs are others."""
        if all(one.part is not None for one in file.members):
            return file
        require_same_columns([self._terms_of(one) for one in file.members])
        return replace(file, scopes=tuple(self._lost(scope) for scope in file.scopes))

    def _lost(self, scope: Sequence[Member]) -> tuple[Member, ...]:
        if all(one.part is not None for one in scope):
            return tuple(scope)
        terms = [self._terms_of(one) for one in scope]
        tables = tuple(one for one in terms if isinstance(one, Terms))
        swapped = tuple(one for one in terms if isinstance(one, Swapped))
        losses = per_record if self.adjacency == "unit" else at_distance
        parts = dict(zip((*tables, *swapped), losses(JointScope(tables, swapped)), strict=True))
        return tuple(
            replace(member, part=amount(convert(parts[one], self._standard)))
            for member, one in zip(scope, terms, strict=True)
        )

    def _terms_of(self, member: Member) -> Terms | Swapped:
        key = (member.row, member.design)
        if key not in self._terms:
            for part in parts_of(self._past.row(member.row).charge):
                design = Design.of(part, self._standard)
                if (design.digest, design.scale) == (member.design, member.scale):
                    self._terms[key] = _read(part, f"row {member.row}")
                    break
            else:
                raise LedgerError(f"row {member.row} of the ledger is not the one that its checkpoint names.")
        return self._terms[key]

    def _before(self, name: str) -> File:
        """Return a file as the checkpoint has it, nothing if it has none."""
        entry = None if self._past.state is None else self._past.entry(name)
        return File() if entry is None or "same" in entry else File.of(entry)

    def _cost(self, file: File) -> Fraction:
        power = 2 if self._standard == "gaussian" else 1
        return sum((one.weight * (one.part or 0) ** power for one in file.members), Fraction(0))


def _read(charge: Charge, name: str) -> Terms | Swapped:
    """Read what a charge states of its table, or of its swapped records."""
    return (Swapped if charge.detail.get("version") == RECORDS else Terms).of(charge, name)


def _contradict(one: Terms | Swapped, other: Terms | Swapped) -> bool:
    """Whether no file has the margins of both; swapped records tell of none."""
    return isinstance(one, Terms) and isinstance(other, Terms) and one.contradicts(other)


def _text(number: Fraction) -> str:
    return str(exact("a number in the checkpoint", number))
