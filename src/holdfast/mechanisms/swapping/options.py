"""What a spec says of a swap: its options, and what is refused as no swap can do it."""

from typing import ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from holdfast.mechanisms.swapping.bounds import LEAST_RATE
from holdfast.spec.data import Geography
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.part import Text
from holdfast.spec.values import Rational, short
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting

MOST_DENOMINATOR = 2**62
"""As `mechanisms/swapping/permute.py` can decide."""


class PermutationSwappingOptions(MechanismOptions):
    """What is swapped within what; ``rate`` is solved for where it is left out.

    >>> hf.PermutationSwapping(stratify=["size"], swap=["county"]).swap
    ('county',)
    """

    of_records: ClassVar = True

    name: Literal["permutation-swapping"] = "permutation-swapping"
    stratify: tuple[Text, ...]
    swap: tuple[Text, ...]
    renumber: tuple[Text, ...] = ()
    """Columns of ids, which are replaced by numbers that tell nothing."""
    rate: Rational | None = None
    nulls: Literal["error", "level"] = "error"
    """Whether a missing value of a key is an error, or a level of its own."""
    bound: Literal["slides", "tight"] = "slides"
    """Which of the two bounds the guarantee states."""

    @field_validator("stratify", "swap", "renumber")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if "" in names:
            raise ValueError("has an empty name: name a column")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"names {name!r} twice: keep one")
        return names

    @field_validator("swap")
    @classmethod
    def _some(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("is empty: name the columns that move together")
        return names

    @field_validator("rate")
    @classmethod
    def _inside(cls, rate: Rational | None) -> Rational | None:
        if rate is None:
            return None
        if not 0 < rate < 1:
            raise ValueError(
                f'is {short(str(rate))}: give a rate above 0 and below 1, as "1/20"; at 0 and 1 there is no'
                " finite epsilon"
            )
        if not LEAST_RATE <= rate <= 1 - LEAST_RATE or rate.denominator > MOST_DENOMINATOR:
            raise ValueError("is out of reach: give a rate from 1e-9 to 1 - 1e-9 with at most 18 digits")
        return rate

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for name in self.swap:
            if name in self.stratify:
                raise ValueError(
                    f"swap names {name!r}, which is also in stratify: records of a stratum share it, so"
                    " nothing would change; take it out of one"
                )
        for name in self.renumber:
            if name in (*self.stratify, *self.swap):
                other = "swap" if name in self.swap else "stratify"
                raise ValueError(f"renumber names {name!r}, which is also in {other}: take it out of one")
        return self

    @property
    def sets_intensity(self) -> str | None:
        """The rate, where one is given."""
        return None if self.rate is None else assigned("rate", str(self.rate))


REFUSED = ("count", "within", "missing", "aggregate", "recode")
"""Keys of [data] that speak of tables of counts."""


def options_of(spec: Spec) -> PermutationSwappingOptions:
    """Return the options of a swap; raises SpecError where the spec asks for what no swap can do."""
    asked, privacy = spec.data, spec.privacy
    options = together(PermutationSwappingOptions.model_validate(spec.mechanism), asked.geography)
    for key in REFUSED:
        if key in asked.model_fields_set and getattr(asked, key):
            raise SpecError(
                f"{setting('data', key)} is for tables of counts, and records are swapped as they are: leave"
                " it out."
            )
    if privacy.standard != "pure":
        raise SpecError(
            f"{setting('privacy', 'standard')} = {privacy.standard!r} is not met by permutation-swapping:"
            f" set {assigned('standard', 'pure')}."
        )
    if privacy.laws is not None:
        raise SpecError(
            f"{setting('privacy', 'laws')} speaks of tables, and permutation-swapping releases records: leave"
            " it out."
        )
    if privacy.epsilon is None and options.rate is None:
        raise SpecError(
            f'{setting("privacy", "epsilon")} is missing: give one such as "14", or a rate in'
            f" {setting('mechanism')}."
        )
    if spec.constraints.inequalities or spec.constraints.floors or spec.constraints.structural_zeros:
        raise SpecError(
            f"{setting('constraints')} bind tables of counts, and a swap cannot keep them: leave them out, or"
            " put the columns they speak of into stratify."
        )
    if asked.persons is not None and asked.id is None:
        raise SpecError(
            f"{setting('data', 'persons')} needs id: name the column by which persons find their household."
        )
    if asked.id is not None and privacy.unit == "record":
        raise SpecError(
            f"{setting('data', 'id')} puts rows together: say whom they are, as"
            f" {assigned('unit', 'household')} in {setting('privacy')}, or leave it out."
        )
    if asked.id is not None and privacy.records_per_unit > 1:
        raise SpecError(
            f"{setting('privacy', 'records_per_unit')} is {privacy.records_per_unit}, and with"
            f" {setting('data', 'id')} one {privacy.unit} is one record: leave it out."
        )
    if asked.id is not None and asked.id in (*options.stratify, *options.swap):
        raise SpecError(
            f"{setting('data', 'id')} is {asked.id!r}, which is also in {setting('mechanism')}: take it out"
            " there."
        )
    return options


def together(options: PermutationSwappingOptions, geography: Geography | None) -> PermutationSwappingOptions:
    """Return options that swap all columns of a geography which are not in the key, as one of them is."""
    if geography is None:
        return options
    places = geography.columns or (geography.column or "",)
    if not set(places) & set(options.swap):
        raise SpecError(
            f"{setting('data.geography')} has {' and '.join(map(repr, places))}, which move together, and"
            f" swap in {setting('mechanism')} names none of them: name one there, or leave the geography out."
        )
    more = [name for name in places if name not in (*options.stratify, *options.swap)]
    for name in more:
        if name in options.renumber:
            raise SpecError(
                f"{setting('mechanism', 'renumber')} names {name!r}, which is of {setting('data.geography')}:"
                " take it out of one."
            )
    return options.model_copy(update={"swap": (*options.swap, *more)})
