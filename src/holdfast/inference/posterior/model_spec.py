"""MODEL.toml as values: a model of the counts, its prior, and how to draw from the posterior.

[model]
kind = "rates"                          # or "proportions", or "counts"
areas = ["county"]
per = 100000

[exposure]
file = "population.csv"
column = "population"

[prior]
mean = { median = 0.002, factor = 10 }  # learnt from all areas; a number is taken as known
shape = { median = 2, factor = 4 }

[sampler]
name = "gibbs"
draws = 4000
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, ValidationInfo, field_validator, model_validator

from holdfast.spec.constraints import Constraints
from holdfast.spec.data import Data, Geography
from holdfast.spec.load import read_toml
from holdfast.spec.model import Spec
from holdfast.spec.part import Part, Text
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, of_a_file, setting, valued

ModelKind = Literal["counts", "rates", "proportions"]
SamplerName = Literal["gibbs", "rejection", "importance"]
Proposals = Literal["noise", "prior"]

LEAST, MOST = 1e-12, 1e12
"""Numbers of a prior, and exposures that are not 0, lie between these."""
MOST_DRAWS, MOST_CHAINS = 10_000_000, 256


@dataclass(frozen=True)
class Believed:
    """A positive number: log-normal around a median, its logarithm with the deviation log(factor).

    A factor of 1 means that it is known. Two times in three the number is within the factor of its median.
    """

    median: float
    factor: float = 1.0

    @property
    def known(self) -> bool:
        """Whether nothing is to be learnt about it."""
        return self.factor == 1.0


def _number(value: object, what: str = "is") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{what} {value!r}: write a number, such as 0.5")
    return float(value)


def _positive(value: object, what: str = "is") -> float:
    number = _number(value, what)
    if not LEAST <= number <= MOST:
        raise ValueError(f"{what} {value!r}: give a positive number from {LEAST:g} to {MOST:g}")
    return number


def _believed(value: object) -> Believed:
    if isinstance(value, Believed):
        return value
    if not isinstance(value, Mapping):
        return Believed(_positive(value))
    for key in value:
        if key not in ("median", "factor"):
            raise ValueError(f"has an unknown key {key!r}: {closest(str(key), ('median', 'factor'))}")
    for key in ("median", "factor"):
        if key not in value:
            raise ValueError(
                f"has no {key}: write {valued({'median': 1, 'factor': 3})}, or a number that is known"
            )
    factor = _positive(value["factor"], "factor is")
    if factor <= 1:
        raise ValueError(f"factor is {factor:g}: give one above 1, or write a number that is known")
    return Believed(_positive(value["median"], "median is"), factor)


Positive = Annotated[float, BeforeValidator(_positive)]
PriorNumber = Annotated[Believed, BeforeValidator(_believed)]


class ModelPart(Part):
    """A section of MODEL.toml."""


class Model(ModelPart):
    """How counts come about.

    "rates": every cell is Poisson, with the exposure of the cell times the rate of its area (and of the
    levels in ``by``). "proportions": the cells of an area are multinomial, given its total. "counts": all
    cells are, given the total of the table.
    """

    section: ClassVar = ("model",)

    kind: ModelKind
    areas: tuple[Text, ...] = ()
    by: tuple[Text, ...] | None = None
    """Of rates: the attributes, beside the areas, whose levels have rates of their own; all unless given."""
    cells: tuple[Text, ...] = ()
    """Of swapped records: the columns to count by."""
    level: Text | None = None
    """Of top-down releases: the level whose nodes have the counts; the leaves unless given."""
    per: Positive = 1.0
    """Rates are told for so many units of exposure."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.kind == "counts" and self.areas:
            raise ValueError(f'areas go with {assigned("kind", "rates")} or "proportions": leave them out')
        if self.kind != "counts" and not self.areas:
            raise ValueError(
                f"areas is missing: name the attributes of an area, as in {assigned('areas', ['county'])}"
            )
        if self.kind != "rates" and (self.by is not None or self.per != 1):
            raise ValueError(f"by and per go with {assigned('kind', 'rates')}: leave them out")
        twice = [name for name in self.areas if self.areas.count(name) > 1 or name in (self.by or ())]
        if twice:
            raise ValueError(f"names {twice[0]!r} twice: name each attribute once")
        return self


class NumberColumn(ModelPart):
    """A column of a file: a number for each combination of the attributes that the file has."""

    file: Text
    column: Text


class ExposureSource(ModelPart):
    """What counts are proportional to: person-years, populations; 1 for every cell unless given."""

    section: ClassVar = ("exposure",)

    file: Text | None = None
    column: Text | None = None
    each: Positive | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.file is None) != (self.column is None):
            raise ValueError(
                f"needs a file and its column: give both, or {assigned('each', 1000)} for all cells"
            )
        if self.file is not None and self.each is not None:
            raise ValueError("has a file and each: keep one of them")
        return self

    @property
    def numbers(self) -> NumberColumn | None:
        """The column that holds it."""
        if self.file is None or self.column is None:
            return None
        return NumberColumn(file=self.file, column=self.column)


class Prior(ModelPart):
    """What is believed before the release is seen.

    Rates are Gamma with a ``mean`` and a ``shape``. Proportions of one area are Dirichlet; the parameter of
    a cell is ``weight``, times its ``earlier`` count plus ``floor`` where such counts are given. Numbers that
    are not known are the same for all areas and learnt from all of them: so areas borrow strength.
    """

    section: ClassVar = ("prior",)

    mean: PriorNumber | None = None
    shape: PriorNumber = Believed(1.0)
    weight: PriorNumber = Believed(1.0)
    earlier: NumberColumn | None = None
    floor: Annotated[float, BeforeValidator(_number)] = 0.5

    @field_validator("floor")
    @classmethod
    def _not_negative(cls, floor: float) -> float:
        if not 0 <= floor <= MOST:
            raise ValueError(f"is {floor:g}: give a number of records that is not negative, such as 0.5")
        return floor


class SamplerChoice(ModelPart):
    """How draws are made, and how many of them, over all chains."""

    section: ClassVar = ("sampler",)

    name: SamplerName = "gibbs"
    draws: StrictInt = 4000
    chains: StrictInt = 4
    warmup: StrictInt = 500
    thin: StrictInt = 1
    proposals: Proposals | None = None
    """Of rejection and importance sampling: tables from the noise around the release, or from the prior."""

    @field_validator("draws", "chains", "warmup", "thin")
    @classmethod
    def _some(cls, number: int, info: ValidationInfo) -> int:
        least = 0 if info.field_name == "warmup" else 1
        most = MOST_CHAINS if info.field_name == "chains" else MOST_DRAWS
        if not least <= number <= most:
            raise ValueError(f"is {number}: give a whole number from {least} to {most:,}")
        return number

    @model_validator(mode="after")
    def _whole_chains(self) -> Self:
        if self.name == "gibbs" and self.draws % self.chains:
            raise ValueError(
                f"draws is {self.draws}, which {self.chains} chains cannot share: give a multiple of chains"
            )
        if self.name == "gibbs" and self.draws // self.chains < 4:
            raise ValueError(f"draws is {self.draws}: give at least 4 for each of the {self.chains} chains")
        if self.name == "gibbs" and self.proposals is not None:
            raise ValueError("proposals go with rejection or importance: leave them out")
        return self


class ModelSpec(ModelPart):
    """All that MODEL.toml says."""

    model: Model
    exposure: ExposureSource = ExposureSource()
    prior: Prior = Prior()
    sampler: SamplerChoice = SamplerChoice()
    constraints: Constraints = Constraints()
    folder: Path = Field(default=Path(), exclude=True)
    file: str = Field(default="", exclude=True)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, folder: Path = Path(), file: str = "") -> Self:
        """Return what a mapping, such as parsed TOML, describes."""
        known = [key for key in cls.model_fields if key not in ("folder", "file")]
        for key in values:
            if key not in known:
                raise SpecError(f"the model has an unknown section {key!r}: {closest(key, known)}")
        with of_a_file():
            if "model" not in values:
                raise SpecError(
                    f'{setting("model")} is missing: begin with {assigned("kind", "rates")}, "proportions"'
                    ' or "counts".'
                )
            return cls(**values, folder=folder, file=file)

    @model_validator(mode="after")
    def _sections_of_the_kind(self) -> Self:
        kind, prior, given = self.model.kind, self.prior, self.prior.model_fields_set
        if kind == "rates":
            if prior.mean is None:
                raise SpecError(
                    f"{setting('prior', 'mean')} is missing: give the rate that is expected of an area, as in"
                    f" {assigned('mean', {'median': 0.002, 'factor': 10})}."
                )
            _require_none(given & {"weight", "earlier", "floor"}, "proportions and counts")
        else:
            _require_none(given & {"mean", "shape"}, "rates")
            if self.exposure != ExposureSource():
                raise SpecError(f"{setting('exposure')} goes with {assigned('kind', 'rates')}: leave it out.")
        if self.constraints.nonnegative or self.constraints.structural_zeros:
            raise SpecError(
                f"{setting('constraints')} of a model are inequalities beside those of the release: counts"
                " are never below zero, and structural zeros stand in the certificate, so leave them out."
            )
        return self

    def resolve(self, path: str) -> Path:
        """Return a path in the file, relative to its folder."""
        return self.folder / path

    def constrained(self, names: tuple[str, ...], levels: tuple[str, ...] = ()) -> Spec:
        """Return the inequalities as those of a spec over a table, whose first attributes may be levels."""
        cells = tuple(name for name in names if name not in levels)
        with of_a_file():
            geography = Geography(columns=levels) if levels else None
            data = Data(cells=cells, geography=geography)
            return Spec(data=data, constraints=self.constraints, folder=self.folder, file=self.file)


def _require_none(keys: set[str], kinds: str) -> None:
    if keys:
        raise SpecError(
            f"{setting('prior', min(keys))} goes with {kinds}: leave it out, or change kind in"
            f" {setting('model')}."
        )


def read_model(path: str | Path) -> ModelSpec:
    """Return the model in a TOML file; its paths are relative to the file's folder."""
    path, values = read_toml(path)
    try:
        return ModelSpec.of(values, folder=path.parent, file=str(path))
    except SpecError as error:
        raise SpecError(f"{path}, {error}") from None
