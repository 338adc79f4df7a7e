"""A class of laws as a TOML file: [model] names its family, and has the keys of that family alone."""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, PlainValidator, StrictInt

from holdfast.privacy.pufferfish.families.dependent_counts import DependentCounts, DisclosedCount
from holdfast.privacy.pufferfish.families.joint import JointLaws, Outcome
from holdfast.privacy.pufferfish.families.listed import (
    ListedCounts,
    ListedLaws,
    ListedPoint,
    Metric,
    SecretPair,
)
from holdfast.privacy.pufferfish.families.normal import CorrelatedMean, ListedMean
from holdfast.privacy.pufferfish.families.presence import Person, Presence
from holdfast.privacy.pufferfish.framework import Family
from holdfast.spec.load import read_toml
from holdfast.spec.part import Part, Text
from holdfast.spec.values import Rational, parse_rational
from holdfast.system.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import of_a_file, setting

MOST_PEOPLE = 100_000
MOST_MODELS = 10_000
"""Combinations of listed parameters that one file may ask for."""


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


def _coordinate(value: int | str) -> Fraction | str:
    """Return a number of a point, or the text that it is."""
    try:
        return parse_rational(value)
    except ValueError:
        return str(value)


def _written(value: object) -> int | str:
    """Return a number or a text as it is written: to tell records apart "1" and "01" are two."""
    if isinstance(value, str):
        return value
    parse_rational(value)
    return cast("int", value)


Several = BeforeValidator(_listed)
Wholes = Annotated[tuple[StrictInt, ...], Several]
Rationals = Annotated[tuple[Rational, ...], Several]
LevelOrNumber = Annotated[int | str, PlainValidator(_written)]


class FamilyPart(Part):
    """The base of the sections of a model."""


class FamilyHead(FamilyPart):
    """The keys that all families have: a name, and what is public, in words."""

    family: Text
    public: Text | None = None

    @property
    def said(self) -> dict[str, str]:
        """What is public, where it is said."""
        return {} if self.public is None else {"public": self.public}


class FamilyModel(FamilyPart):
    """A file: its head, and sections of its family."""

    @abstractmethod
    def families(self) -> tuple[Family, ...]:
        """Return the class of laws; several where parameters are listed."""


class CountsLaw(FamilyPart):
    """The masses of 0, 1, 2, ... given each answer."""

    given_0: tuple[Rational, ...]
    given_1: tuple[Rational, ...]


class CountsModel(FamilyModel):
    """One count, its laws listed."""

    model: FamilyHead
    laws: tuple[CountsLaw, ...] = ()

    def families(self) -> tuple[Family, ...]:
        """Return the listed laws."""
        return (ListedCounts(tuple((law.given_0, law.given_1) for law in self.laws), **self.model.said),)


class DependentHead(FamilyHead):
    """How many people, and how much one answer tells of another; lists ask for all combinations."""

    n: Wholes
    z0: Rationals
    z1: Rationals
    dependence: Literal["independent", "any"] = "independent"


class DependentModel(FamilyModel):
    """One count of people whose answers depend on each other."""

    model: DependentHead

    def families(self) -> tuple[Family, ...]:
        """Return one class, or one for each combination with z0 <= z1."""
        head = self.model
        asked = list(product(head.n, head.z0, head.z1))
        if len(asked) > MOST_MODELS:
            raise SpecError(
                f"{setting('model')} asks for {len(asked):,} combinations: list at most {MOST_MODELS:,}."
            )
        if len(asked) > 1:
            asked = [(n, z0, z1) for n, z0, z1 in asked if z0 <= z1]
        return tuple(DependentCounts(n, z0, z1, head.dependence, **head.said) for n, z0, z1 in asked)


class DisclosureHead(FamilyHead):
    """How many people, and the rules that their count is known to satisfy."""

    n: StrictInt
    k: StrictInt = 0
    t: Rational | None = None
    share: Rational | None = None
    laws: Literal["independent", "everything"] = "independent"


class DisclosureModel(FamilyModel):
    """One count within the bounds of disclosure rules."""

    model: DisclosureHead

    def families(self) -> tuple[Family, ...]:
        """Return the class."""
        head = self.model
        return (DisclosedCount(head.n, head.k, head.t, head.share, head.laws),)


class NormalHead(FamilyHead):
    """How many people, how far apart values are, and how they depend on what is public."""

    n: StrictInt
    width: Rational
    correlation: Rational | None = None
    person: tuple[Rational, ...] | None = None
    mean: tuple[Rational, ...] | None = None
    covariance: tuple[tuple[Rational, ...], ...] | None = None


class NormalModel(FamilyModel):
    """The mean of normal values."""

    model: NormalHead

    def families(self) -> tuple[Family, ...]:
        """Return the class of a bounded correlation, or of listed covariances."""
        head = self.model
        listed = (head.person, head.mean, head.covariance)
        if head.correlation is not None and listed == (None, None, None):
            return (CorrelatedMean(head.n, head.width, head.correlation, **head.said),)
        if head.correlation is None and head.person and head.mean and head.covariance:
            return (ListedMean(head.n, head.width, head.person, head.mean, head.covariance, **head.said),)
        raise SpecError(
            f"{setting('model')} says how values depend on what is public in one of two ways: give"
            " correlation, or person, mean and covariance."
        )


class LawsHead(FamilyHead):
    """By which metric points are told apart, and what of the data they are."""

    metric: Literal["records", "l1", "l2", "linf"] = "records"
    statistic: Text = "data"


class PairLaw(FamilyPart):
    """Two secrets, and the probabilities of points given each."""

    secrets: tuple[Text, Text]
    one: Mapping[str, Rational]
    other: Mapping[str, Rational]


class LawsModel(FamilyModel):
    """Listed laws on any metric space."""

    model: LawsHead
    points: Mapping[str, tuple[LevelOrNumber, ...]]
    laws: tuple[PairLaw, ...] = ()

    def families(self) -> tuple[Family, ...]:
        """Return the listed laws."""
        metric: Metric = self.model.metric
        pairs = tuple(
            SecretPair(law.secrets, (self._placed(place, law.one), self._placed(place, law.other)))
            for place, law in enumerate(self.laws, 1)
        )
        return (ListedLaws(pairs, metric, self.model.statistic, **self.model.said),)

    def _placed(self, place: int, chances: Mapping[str, Fraction]) -> dict[ListedPoint, Fraction]:
        """Return probabilities by point; two names of one point are one."""
        found: dict[ListedPoint, Fraction] = {}
        for name, chance in chances.items():
            if name not in self.points:
                raise SpecError(
                    f"{setting('laws', place)} speaks of the point {name!r}, which {setting('points')} does"
                    f" not have: {closest(name, self.points)}"
                )
            if chance < 0:
                raise GuaranteeError(
                    f"{setting('laws', place)} gives {name!r} the probability {chance}: correct it."
                )
            read = str if self.model.metric == "records" else _coordinate
            point = tuple(map(read, self.points[name]))
            found[point] = found.get(point, Fraction(0)) + chance
        return found


class JointHead(FamilyHead):
    """What is public now."""

    observed: Text


class OutcomePart(FamilyPart):
    """A dataset, what would be public of it, and its probability under each law."""

    records: tuple[Text, ...]
    public: Text
    probability: Rationals
    value: Rational | None = None


class JointModel(FamilyModel):
    """A listed law of records and of what is public together."""

    model: JointHead
    outcomes: tuple[OutcomePart, ...] = ()

    def families(self) -> tuple[Family, ...]:
        """Return the laws given what was observed."""
        outcomes = tuple(
            Outcome(one.records, one.public, one.probability, one.value) for one in self.outcomes
        )
        return (JointLaws(outcomes, self.model.observed),)


class PresenceHead(FamilyHead):
    """How many records there are, where that is public."""

    size: StrictInt | None = None


class PeoplePart(FamilyPart):
    """People of one kind: how many, how likely each is in the data, and with which values."""

    inclusion: Rational
    values: Mapping[str, Rational] = {"a record": Fraction(1)}
    number: StrictInt = 1


class PresenceModel(FamilyModel):
    """Whether people are in the data."""

    model: PresenceHead
    people: tuple[PeoplePart, ...] = ()
    totals: Mapping[str, StrictInt] | None = None

    def families(self) -> tuple[Family, ...]:
        """Return the class."""
        for place, kind in enumerate(self.people, 1):
            if not 1 <= kind.number <= MOST_PEOPLE:
                raise SpecError(
                    f"{setting('people', place)} number is {kind.number}: give 1 to {MOST_PEOPLE:,} people."
                )
        everybody = tuple(
            person for kind in self.people for person in [Person(kind.inclusion, kind.values)] * kind.number
        )
        return (Presence(everybody, self.model.size, self.totals),)


MODELS: Mapping[str, type[FamilyModel]] = {
    "counts": CountsModel,
    "dependent-counts": DependentModel,
    "disclosure": DisclosureModel,
    "normal": NormalModel,
    "laws": LawsModel,
    "joint": JointModel,
    "presence": PresenceModel,
}


def read_models(path: str | Path) -> tuple[Family, ...]:
    """Return the class of laws of a TOML file; several where it lists parameters to be compared."""
    path, values = read_toml(path)
    try:
        with of_a_file():
            return model_of(values).families()
    except HoldfastError as error:
        raise SpecError(f"{path}, {error}") from None


def model_of(values: Mapping[str, Any]) -> FamilyModel:
    """Return the model that a mapping describes."""
    head = values.get("model")
    if not isinstance(head, Mapping) or not isinstance(name := head.get("family"), str):
        raise SpecError(f"{setting('model')} names no family: {closest('', MODELS)}")
    if name not in MODELS:
        raise SpecError(
            f"{setting('model', 'family')} is {name!r}, which is not known: {closest(name, MODELS)}"
        )
    return MODELS[name](**values)
