"""The composed total of all releases charged so far and a new one [theory, 10].

Releases of one file are composed on their joint scope; what different files cost adds up. A ledger accounts
for the adjacency of its first release: others are brought to it by how their loss grows with the distance.
Accounts of secrets have rules of their own [theory, 7]. A total never falls.

**Designs.** The design of a release is all that decides how it composes, up to how strong it is. Releases of
one design differ at most by a scale s: kappa of a norm, 1 / sigma^2, or the intensity itself. On any joint
scope what each loses is s, or s^2 in the standard of the ledger, times one number that they share. So ten
thousand of them compose like one with a weight, and a ledger need not keep them apart.

**The checkpoint** has an entry for each file of records: the designs of its releases and what they lose. It
names a design by the first row that has it, counts its releases in a weight, and holds what one of weight 1
loses on the joint scope of the file. A release of a known design is added without a search, and without
reading another row. A new design is composed with the first rows of all designs of its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal

from holdfast.ledger.charged import (
    NEW,
    ChargedRecords,
    ChargedTable,
    amount,
    charged,
    intensity_stated,
    parts_of,
    spend_tp,
)
from holdfast.ledger.checkpoint import CheckpointState, History, Spent
from holdfast.ledger.losses import at_distance, per_record
from holdfast.ledger.rows import MEASURES, OF_SECRETS, Charge, ChargeStandard, exact
from holdfast.ledger.scope import JointScope, require_same_columns
from holdfast.privacy.intensity import GaussianNoise
from holdfast.privacy.order import convert
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError, LedgerError
from holdfast.system.text import plain_text
from holdfast.system.ways import assigned, setting

CONVERTIBLE = {("pure", "zcdp"), ("pure", "gaussian"), ("gaussian", "zcdp")}
"""Which intensities have a theorem that turns them into those of another ledger."""
POWERS: dict[tuple[ChargeStandard, ChargeStandard], int] = {
    ("pure", "pure"): 1,
    ("pure", "zcdp"): 2,  # epsilon^2 / 2
    ("zcdp", "zcdp"): 1,
    ("gaussian", "gaussian"): 2,  # squares of mu are what adds up
    ("gaussian", "zcdp"): 2,  # mu^2 / 2
}
"""The power of the scale with which a release enters a sum, by its standard and that of the ledger."""
DECISIVE = ("kind", "schema", "invariants", "inequalities", "header", "marks")
"""What of a charge's detail decides how it composes, beside its unit and its loss."""


def spend(history: History, new: Charge) -> Spent:
    """Return the composed total with a new release, and the checkpoint after it.

    One whose noise is that of a row before it is that release once more: it loses nothing [theory, 17].
    """
    if (mark := new.repeatable) is None:
        return _composed(history, new)
    key = f"repeatable {mark}"
    if history.state is not None and history.entry(key) is not None:
        return Spent(history.total, history.state, {}, Fraction(0))
    found = _composed(history, new)
    return replace(found, entries={**found.entries, key: {"row": len(history) + 1}})


def _composed(history: History, new: Charge) -> Spent:
    if new.standard in OF_SECRETS:
        return spend_tp(history, new)
    match history.standard:
        case "tp" | "rho-tp":
            return spend_tp(history, new)
        case standard:
            return _spend(history, new, standard)


def _spend(history: History, new: Charge, standard: Literal["pure", "zcdp", "gaussian"]) -> Spent:
    if new.standard != standard and not _convertible(new, standard):
        raise GuaranteeError(
            f"the ledger adds up {MEASURES[standard]}, and this release states {MEASURES[new.standard]},"
            f" which gives none: set {assigned('standard', 'pure')} in {setting('privacy')}, with a"
            " mechanism for it such as lattice-laplace."
        )
    accountant = Accountant(history, new, standard)
    least = [history.total]
    if new.unit["adjacency"] == accountant.adjacency:
        least.append(amount(convert(intensity_stated(new), standard)))
    total = ceil_root(accountant.sum) if standard == "gaussian" else accountant.sum
    own = None if standard == "gaussian" else accountant.own  # squares of mu are no parts of a mu
    return Spent(max(total, *least), accountant.state, accountant.entries, own)


def _convertible(new: Charge, standard: ChargeStandard) -> bool:
    """Whether a theorem turns what each part of a charge loses into the standard of a ledger."""
    return all(
        (part.standard, standard) in CONVERTIBLE
        or (standard == "gaussian" and isinstance(intensity_stated(part), GaussianNoise))
        for part in parts_of(new)
    )


@dataclass(frozen=True)
class ReleaseDesign:
    """A digest that releases of one design share, and how strong this one is."""

    digest: str
    scale: Fraction
    power: int

    @classmethod
    def of(cls, charge: Charge, standard: ChargeStandard) -> "ReleaseDesign":
        """Return the design of a charge to a ledger of some standard."""
        shape, scale, power = _shape(charge, standard)
        said = {
            "dataset": charge.dataset,
            "standard": charge.standard,
            "unit": charge.unit,
            "shape": shape,
            **{name: charge.detail.get(name) for name in DECISIVE},
        }
        return cls(sha256(plain_text(said).encode()).hexdigest(), scale, power)

    def weight(self, scale: Fraction) -> Fraction:
        """Return how many releases of the same design at some scale this one counts for."""
        return (self.scale / scale) ** self.power


def _shape(charge: Charge, standard: ChargeStandard) -> tuple[Any, Fraction, int]:
    """Return what is left of the loss without its scale, the scale, and its power.

    A loss that is rounded, as in l2, has no scale: there only equal releases are of one design.
    """
    loss = charge.detail.get("loss")
    power, scale = POWERS.get((charge.standard, standard), 0), Fraction(0)
    kind: Any = None
    match charge.standard, loss:
        case _, None:
            scale = charge.intensity
        case "pure", {"kind": "norm", "norm": "l1", "kappa": kappa}:
            kind, scale = ["norm", "l1"], Fraction(kappa)
        case "zcdp", {"kind": "squared", "sigma_squared": square}:
            kind, scale = ["squared"], 1 / Fraction(square)
        case "zcdp", {"kind": "form", "standard": "zcdp", "record": record, "largest": largest}:
            scale = Fraction(record)
            kind = ["form", str(Fraction(largest) / scale)]
        case "zcdp", {"kind": "record", "standard": "zcdp", "rho": rho, "mu": _} if power:
            scale = Fraction(rho)
            kind = ["record"]  # mu does not matter to rho
        case own, {"kind": "record", "standard": stated, **numbers} if stated == own and len(numbers) == 1:
            kind, scale = ["record"], Fraction(str(*numbers.values()))
    if power == 0 or scale <= 0:
        return [loss, str(charge.intensity)], Fraction(1), 1
    return [kind, str(charge.intensity / scale)], scale, power


@dataclass(frozen=True)
class Weighted:
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
    def of(cls, content: Mapping[str, Any]) -> "Weighted":
        """Read what `to_dict` gives."""
        numbers = {name: Fraction(content[name]) for name in ("scale", "weight", "part")}
        return cls(design=content["design"], row=content["row"], **numbers)


@dataclass(frozen=True)
class ComposedFile:
    """The releases of one file by joint scope: two columns of counts in one file are of different records."""

    scopes: tuple[tuple[Weighted, ...], ...] = ()

    @property
    def members(self) -> list[Weighted]:
        """All designs, in the order of their rows."""
        return sorted((one for scope in self.scopes for one in scope), key=lambda one: one.row)

    def member(self, design: str) -> Weighted | None:
        """Return the releases of a design."""
        return next((one for one in self.members if one.design == design), None)

    def cost(self, power: int) -> Fraction:
        """Return the sum of what all releases lose, to some power."""
        return sum((one.weight * (one.part or 0) ** power for one in self.members), Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"scopes": [[one.to_dict() for one in scope] for scope in self.scopes]}

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "ComposedFile":
        """Read what `to_dict` gives."""
        return cls(tuple(tuple(Weighted.of(one) for one in scope) for scope in content["scopes"]))


class Accountant:
    """What a new charge changes of what all files lose: to be used for one charge."""

    def __init__(self, history: History, new: Charge, standard: Literal["pure", "zcdp", "gaussian"]) -> None:
        self._history, self._standard, self._new = history, standard, new
        self._files: dict[str, ComposedFile] = {}
        self._read: dict[tuple[int, str], ChargedTable | ChargedRecords] = {}
        state = history.state or {**_accounted(new), "sum": "0"}
        self.adjacency: str = state["adjacency"]
        self._neighbours: str = state.get("neighbours", "replace")
        if (other := new.unit.get("neighbours", "replace")) != self._neighbours:
            raise GuaranteeError(
                f"this ledger accounts for records that are {_AS_WHAT[self._neighbours]}, and this release is"
                f" for records that are {_AS_WHAT[other]}: set"
                f" {assigned('neighbours', words=repr(self._neighbours))} in {setting('privacy')}, or charge"
                " another ledger."
            )
        for part in parts_of(new):
            self._place(len(history) + 1, part)
        self._files = {name: self._composed(file) for name, file in self._files.items()}
        power = 2 if standard == "gaussian" else 1
        # what all files lose: epsilon, rho, or the square of mu
        self.sum = Fraction(state["sum"]) + self._largest(
            {name: file.cost(power) - self._kept(name).cost(power) for name, file in self._files.items()}
        )

    def _largest(self, lost: Mapping[str, Fraction]) -> Fraction:
        """Return what one unit loses at most, of what is lost of each file.

        Files of one unit are of the same people, whose losses add up. Those of different units, charged at
        once, are apart [theory, 16]: nobody loses both.
        """
        units: dict[str, dict[str, Fraction]] = {}
        for part in parts_of(self._new):
            units.setdefault(str(part.unit["name"]), {})[part.dataset] = lost[part.dataset]
        if self._new.detail.get("kind") != "files":
            return sum(lost.values(), Fraction(0))
        return max(sum(files.values(), Fraction(0)) for files in units.values())

    @property
    def own(self) -> Fraction:
        """What the new charge loses, among all releases of its files."""
        lost: dict[str, Fraction] = {}
        for part in parts_of(self._new):
            design = ReleaseDesign.of(part, self._standard)
            if (one := self._files[part.dataset].member(design.digest)) is not None:
                mine = design.weight(one.scale) * (one.part or 0)
                lost[part.dataset] = lost.get(part.dataset, Fraction(0)) + mine
        return self._largest(lost)

    @property
    def state(self) -> CheckpointState:
        """What the head of the ledger keeps."""
        told = {} if self._neighbours == "replace" else {"neighbours": self._neighbours}
        return {"adjacency": self.adjacency, **told, "sum": _text(self.sum)}

    @property
    def entries(self) -> Mapping[str, CheckpointState]:
        """The entries that changed."""
        return {name: file.to_dict() for name, file in self._files.items()}

    def _place(self, index: int, charge: Charge) -> None:
        """Put a charge among those of its file."""
        design = ReleaseDesign.of(charge, self._standard)
        file = self._files.get(charge.dataset) or self._kept(charge.dataset)
        known = file.member(design.digest)
        if known is None:
            self._read[index, design.digest] = charged(charge, NEW)
            member = Weighted(design.digest, design.scale, index, Fraction(1), None)
            self._files[charge.dataset] = self._with(file, member)
        else:
            more = replace(known, weight=known.weight + design.weight(known.scale))
            scopes = tuple(tuple(more if one is known else one for one in scope) for scope in file.scopes)
            self._files[charge.dataset] = ComposedFile(scopes)

    def _kept(self, name: str) -> ComposedFile:
        """Return a file as the checkpoint has it, nothing if it has none."""
        entry = self._history.entry(name)
        return ComposedFile() if entry is None else ComposedFile.of(entry)

    def _with(self, file: ComposedFile, member: Weighted) -> ComposedFile:
        """Return a file with another design, in the first joint scope that it does not contradict."""
        release, scopes = self._release(member), list(file.scopes)
        for place, scope in enumerate(scopes):
            if not any(_contradict(release, self._release(other)) for other in scope):
                scopes[place] = (*(replace(one, part=None) for one in scope), member)
                break
        else:
            scopes.append((member,))
        return ComposedFile(tuple(scopes))

    def _composed(self, file: ComposedFile) -> ComposedFile:
        """Return a file with all parts; they are worked out again where its designs are others."""
        if all(one.part is not None for one in file.members):
            return file
        require_same_columns([self._release(one) for one in file.members])
        return ComposedFile(tuple(self._lost(scope) for scope in file.scopes))

    def _lost(self, scope: tuple[Weighted, ...]) -> tuple[Weighted, ...]:
        if all(one.part is not None for one in scope):
            return scope
        releases = [self._release(one) for one in scope]
        tables = tuple(one for one in releases if isinstance(one, ChargedTable))
        swapped = tuple(one for one in releases if isinstance(one, ChargedRecords))
        losses = per_record if self.adjacency == "unit" else at_distance
        parts = dict(zip((*tables, *swapped), losses(JointScope(tables, swapped)), strict=True))
        return tuple(
            replace(member, part=amount(convert(parts[one], self._standard)))
            for member, one in zip(scope, releases, strict=True)
        )

    def _release(self, member: Weighted) -> ChargedTable | ChargedRecords:
        """Return what the first row of a design states; it is read once."""
        key = (member.row, member.design)
        if key not in self._read:
            for part in parts_of(self._history.row(member.row).charge):
                design = ReleaseDesign.of(part, self._standard)
                if (design.digest, design.scale) == (member.design, member.scale):
                    self._read[key] = charged(part, f"row {member.row}")
                    break
            else:
                raise LedgerError(f"row {member.row} of the ledger is not the one that its checkpoint names.")
        return self._read[key]


_AS_WHAT = {"replace": "replaced", "add-remove": "added or removed"}


def _accounted(first: Charge) -> dict[str, Any]:
    """Return what the first release of a ledger settles for all that follow."""
    return {name: first.unit[name] for name in ("adjacency", "neighbours") if name in first.unit}


def _contradict(one: ChargedTable | ChargedRecords, other: ChargedTable | ChargedRecords) -> bool:
    """Whether no file has the margins of both; swapped records tell of none."""
    return isinstance(one, ChargedTable) and isinstance(other, ChargedTable) and one.contradicts(other)


def _text(number: Fraction) -> str:
    return str(exact("a number in the checkpoint", number))
