"""The mechanism of a spec: each has options of its own, checked when they are made.

`LatticeLaplace(norm="l2")` in Python, `MechanismChoice(name="lattice-laplace", norm="l2")`, and the section
[mechanism] of a file are the same options. A mechanism of another package is found by its name like all.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from holdfast import registry
from holdfast.spec.part import Part, Text
from holdfast.system.errors import MissingMechanismError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting

USUAL = "lattice-laplace"
"""The mechanism where a spec names none."""


NO_PROTECTION = {
    "cell-key": (
        "its margins do not add up, counts are changed one by one and the same way each time, and what that"
        " gives"
        " away is known of its table alone, which an audit of cell keys tells; name lattice-laplace with a"
        " bound,"
        " which changes no count by more either and has a guarantee."
    )
}
"""Practices that are no mechanism, and why."""


class MechanismOptions(Part):
    """The name of a mechanism, and its own keys of [mechanism]."""

    section: ClassVar = ("mechanism",)
    files: ClassVar[tuple[str, ...]] = ()
    """The keys that name files, relative to the spec."""
    of_records: ClassVar[bool] = False
    """Whether records are released, and not a table of counts."""

    name: Text

    @property
    def sets_intensity(self) -> str | None:
        """The key and value from which the strength follows, so that [privacy] need not give one."""
        return None

    def placed(self, resolve: Callable[[str], Path]) -> Self:
        """Return the same with files where they are: ``resolve`` knows of the spec's folder."""
        paths = {key: value for key in self.files if isinstance(value := getattr(self, key), str)}
        return self.model_copy(update={key: str(resolve(path)) for key, path in paths.items()})

    def __repr_name__(self) -> str:
        return type(self).__name__.removesuffix("Options")

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show what was chosen: the name is that of the class."""
        of_class = type(self).model_fields["name"].default == self.name
        return ((key, value) for key, value in super().__repr_args__() if not (of_class and key == "name"))


def MechanismChoice(name: str = USUAL, **options: Any) -> MechanismOptions:  # noqa: N802 - a name of classes
    """Return the options of a mechanism by its name; raises SpecError where it has no such options.

    >>> hf.MechanismChoice(name="lattice-laplace", norm="l2").name
    'lattice-laplace'
    """
    return options_of({"name": name, **options})


def options_of(
    values: Mapping[str, Any], offered: Callable[[], Iterable[str]] = registry.names
) -> MechanismOptions:
    """Return the options that the keys of [mechanism] give; where its name is not known, ``offered`` are."""
    name = values.get("name", USUAL)
    if not isinstance(name, str):
        return MechanismOptions(**values)  # which says what a name must be
    try:
        kind = registry.find(name)
    except MissingMechanismError:
        if name in NO_PROTECTION:
            raise SpecError(
                f"{setting('mechanism', 'name')} = {name!r} is not offered as protection:"
                f" {NO_PROTECTION[name]}"
            ) from None
        said = f"{setting('mechanism', 'name')} = {name!r} is not known: {closest(name, offered())}"
        raise SpecError(said) from None
    options: MechanismOptions = kind.Options(**{**values, "name": name})
    return options


def suitable(standard: str, *, bounds: bool, records: bool, among_others: bool = False) -> list[str]:
    """Return the mechanisms that may be meant: of a standard, for bounds, and for ``records`` or not.

    Those for a table ``among_others`` release a table and nothing else.

    All are loaded, so this is for a message alone.
    """
    own = [
        kind
        for kind in map(registry.find, registry.OWN)
        if kind.released and not (among_others and kind.published() != ("table",))
    ]
    able = [
        kind.name
        for kind in own
        if standard in kind.standards
        and (records or not kind.Options.of_records)
        and (kind.bounded if bounds else not kind.needs_bounds)
    ]
    others = registry.names()[len(registry.OWN) :]
    return [*(able or (kind.name for kind in own)), *others]
