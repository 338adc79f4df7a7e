"""Claims: facts with a name and parameters, put into words where somebody reads them.

A claim is what a certificate states and `verify` compares: an id, and exact values by name. The sentence is
made of them by the function that is registered for the id, and stands beside the theorem that it tells of:

    @claim("lattice-laplace")
    def _loses(kappa: Fraction, norm: str) -> str:
        return f"noise with probability proportional to exp(-{kappa} ||z||) ..."

    _loses(Fraction(1, 6), "l1")  # Claim(id='lattice-laplace', parameters={'kappa': '1/6', 'norm': 'l1'})

So a better sentence changes no certificate. Parameters are whole numbers, floats, truth values, texts that
are names or keywords, rationals (as text), whom a release protects, and lists of these. A function may return
two sentences: the claim, and what it rests on. Ids of other packages begin with the package and a colon.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, get_args, get_origin

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from holdfast.spec.privacy import Neighbours, ProtectedUnit
from holdfast.spec.values import parse_rational
from holdfast.system.errors import HoldfastError
from holdfast.system.text import visible

P = ParamSpec("P")
ClaimWords = str | tuple[str, str]
"""A claim in words, and what it rests on where that is said beside it."""

OURS = "holdfast"
MODELS = "holdfast.privacy.pufferfish.of_model"
"""The room of claims on laws of the data, which is loaded when one of them is put into words."""
_WORDS: dict[str, Callable[..., ClaimWords]] = {}


class ClaimError(HoldfastError):
    """A claim that cannot be put into words: its id, or its parameters, are not known here."""


@dataclass(frozen=True, eq=False)
class Claim:
    """A fact: an id, and its parameters as JSON has them."""

    id: str
    parameters: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The claim as a sentence; raises ClaimError where nobody registered its id."""
        return self._told[0]

    @property
    def basis(self) -> str:
        """What it rests on, "" where that is not said beside it."""
        return self._told[1]

    @property
    def _told(self) -> tuple[str, str]:
        words = _WORDS.get(self.id) or registered_claims().get(self.id)
        if words is None:
            package, colon, _ = self.id.partition(":")
            way = f"install the package {visible(package)!r}" if colon else "use the version that wrote it"
            raise ClaimError(f"the claim {visible(self.id)!r} is not known here: {way} to read it.")
        try:
            return _both(words(**_typed(self, words)))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ClaimError(
                f"the claim {visible(self.id)!r} has parameters that do not fit it: {error}; make the"
                " certificate anew."
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the id and the parameters as JSON-able values."""
        return {"id": self.id, "parameters": dict(self.parameters)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "Claim":
        """Return the claim of an id and parameters; ValueError where it is none."""
        if set(found) != {"id", "parameters"}:
            raise ValueError("a claim has an id and parameters, and nothing else")
        named, parameters = found["id"], found["parameters"]
        if not isinstance(named, str) or not isinstance(parameters, Mapping):
            raise ValueError("a claim has a text as its id, and parameters by name")  # noqa: TRY004
        return cls(named, dict(parameters))

    def __str__(self) -> str:
        return self.words

    @property
    def _key(self) -> tuple[str, str]:
        return self.id, json.dumps(self.parameters, sort_keys=True)  # in which 1 is not true

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Claim) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        written = core_schema.typed_dict_schema(
            {
                "id": core_schema.typed_dict_field(core_schema.str_schema()),
                "parameters": core_schema.typed_dict_field(core_schema.dict_schema(core_schema.str_schema())),
            },
            extra_behavior="forbid",
        )
        read = core_schema.no_info_after_validator_function(cls.from_dict, written)
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls.to_dict, return_schema=written
            ),
        )


def claim(name: str) -> Callable[[Callable[P, ClaimWords]], Callable[P, Claim]]:
    """Register what puts an id into words; what is returned makes the claim of its parameters."""

    def register(words: Callable[P, ClaimWords]) -> Callable[P, Claim]:
        if words.__module__.partition(".")[0] != OURS and ":" not in name:
            raise ValueError(f"{name!r} is to be 'package:{name}': plain ids are those of {OURS}")
        if name in _WORDS:
            raise ValueError(f"{name!r} is the id of two claims: rename one of them")
        _WORDS[name] = words
        takes = signature(words)

        @wraps(words)
        def make(*args: P.args, **kwargs: P.kwargs) -> Claim:
            bound = takes.bind(*args, **kwargs)
            bound.apply_defaults()
            return Claim(name, {key: _plain(value) for key, value in bound.arguments.items()})

        return make

    return register


def words_of(said: Sequence[Claim]) -> str:
    """Return several claims in one sentence."""
    return "; and ".join(one.words for one in said)


def registered_claims() -> Mapping[str, Callable[..., ClaimWords]]:
    """Return what puts each registered id into words, those of models too, which few releases load."""
    import_module(MODELS)
    return dict(_WORDS)


def _both(words: ClaimWords) -> tuple[str, str]:
    return (words, "") if isinstance(words, str) else words


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return str(value)
        case ProtectedUnit():
            found = asdict(value)
            return found if value.presence else {name: found[name] for name in ("unit", "records")}
        case tuple() | list():
            return [_plain(one) for one in value]
    raise TypeError(f"a parameter of a claim is an exact value, and {type(value).__name__} is none")


def _typed(claimed: Claim, words: Callable[..., ClaimWords]) -> dict[str, Any]:
    """Return the parameters of a claim as its words take them; raises ValueError where they do not fit."""
    takes = signature(words).parameters
    needed = {name for name, one in takes.items() if one.default is Parameter.empty}
    found = claimed.parameters
    if not needed <= set(found) <= set(takes):
        raise ValueError("others are expected")
    return {name: _read(value, takes[name].annotation) for name, value in found.items()}


def _read(value: Any, kind: Any) -> Any:
    """Return a JSON value as a type; raises ValueError where it is not of it."""
    if kind is Fraction and isinstance(value, str):
        return parse_rational(value)
    if kind is ProtectedUnit and isinstance(value, Mapping):
        return _unit(value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read(one, inner[0]) for one in value)
    if origin is UnionType:
        own = NoneType if value is None else next(one for one in inner if one is not NoneType)
        return _read(value, own)
    if origin is Literal and value in inner:
        return value
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    raise ValueError(f"{visible(str(value))!r} is of another kind")


def _unit(value: Mapping[str, Any]) -> ProtectedUnit:
    """Return whom a release protects; neighbours are told where they are not the usual ones."""
    if not {"unit", "records"} <= set(value) <= {"unit", "records", "neighbours"}:
        raise ValueError(f"{visible(str(dict(value)))!r} is of another kind")
    neighbours = _read(value.get("neighbours", "replace"), Neighbours)
    return ProtectedUnit(_read(value["unit"], str), _read(value["records"], int), neighbours)
