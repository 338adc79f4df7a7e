"""What a spec says of a swap: its options, and what is refused as no swap can do it."""

from typing import Any, ClassVar, Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator

from holdfast.mechanisms.swapping.rounds import MOST_RULES, RateRule, Round, rounds_of, within_reach
from holdfast.spec.data import Geography
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.part import Part, Text
from holdfast.spec.values import Rational, some_of_several
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting


class SwapRound(Part):
    """A round before the last: within places that are finer, by the swapped columns that stay as they are.

    >>> SwapRound(within=["tract"], rate="1/10").within
    ('tract',)
    """

    section: ClassVar = ("mechanism", "rounds")

    within: tuple[Text, ...]
    rate: Rational | None = None
    rates: tuple[RateRule, ...] = ()

    _rate = field_validator("rate")(within_reach)

    @field_validator("rates", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any) -> Any:
        return some_of_several(given, "mechanism.rounds.rates")

    @field_validator("within")
    @classmethod
    def _somewhere(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or "" in names or len(set(names)) < len(names):
            raise ValueError("names columns of swap that stay as they are in this round, each once")
        return names


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
    rates: tuple[RateRule, ...] = ()
    """Rates of some strata: the first rule that fits decides."""
    rounds: tuple[SwapRound, ...] = ()
    """Rounds before the last, the finest first."""

    _rate = field_validator("rate")(within_reach)

    @field_validator("rates", "rounds", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any, info: ValidationInfo) -> Any:
        return some_of_several(given, f"mechanism.{info.field_name}")

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
    def every_round(self) -> tuple[Round, ...]:
        """All rounds, the last one last; none where there is one, at one rate."""
        before = [(one.within, one.rates, one.rate) for one in self.rounds]
        return rounds_of(self.stratify, self.rates, before, self.rate)

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
    _require_rounds(options)
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
    if privacy.epsilon is None and options.rate is None and (options.rates or options.rounds):
        raise SpecError(
            f"{setting('mechanism', 'rate')} is missing, for the last round and all strata that no rule is"
            f" of: give it, or an epsilon in {setting('privacy')} from which it follows."
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


def _require_rounds(options: PermutationSwappingOptions) -> None:
    """Raise SpecError where rounds are not nested, the finest first, or rules name what is not of a key."""
    finer: set[str] | None = None
    for place, one in enumerate(options.rounds, start=1):
        here, of = f"{setting('mechanism.rounds')} {place}", set(one.within)
        for name in one.within:
            if name not in options.swap:
                raise SpecError(
                    f"{here} is within {name!r}, which is not in swap: {closest(name, options.swap)}"
                )
        if of == set(options.swap):
            raise SpecError(
                f"{here} is within all columns of swap, and would change nothing: leave out the finest."
            )
        if finer is not None and not of < finer:
            raise SpecError(
                f"{here} is not within coarser places than the round before it: name the finest places first,"
                " and fewer of their columns in each round after that."
            )
        finer = of
        _require_rules(one.rates, (*options.stratify, *one.within), f"{here}, rates")
    _require_rules(options.rates, options.stratify, setting("mechanism.rates"))


def _require_rules(rules: tuple[RateRule, ...], key: tuple[str, ...], place: str) -> None:
    if len(rules) > MOST_RULES:
        raise SpecError(f"{place} has {len(rules)} rules, and {MOST_RULES} are the most: join some of them.")
    for at, rule in enumerate(rules, start=1):
        for name in rule.where or {}:
            if name not in key:
                raise SpecError(
                    f"{place} {at} selects {name!r}, which is not of the key that strata have:"
                    f" {closest(name, key)}"
                )


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
