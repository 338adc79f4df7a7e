"""The page of the spec: every section and key, from the classes that read them."""

import ast
import inspect
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from textwrap import dedent
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from holdfast import registry
from holdfast.inference.posterior.model_spec import Believed, ExposureSource, Model, Prior, SamplerChoice
from holdfast.mechanisms.swapping.options import SwapRound
from holdfast.mechanisms.swapping.rounds import RateRule
from holdfast.mechanisms.topdown.options import Aim, QueryChoice
from holdfast.mechanisms.weights.queries import WeightedQuery, Wish
from holdfast.publication.spec import Coarsen, Population, PublishedTable
from holdfast.spec.accuracy import AccuracyTarget
from holdfast.spec.constraints import Across, AcrossSide, Constraints, Floors, Inequality, Invariant, Weights
from holdfast.spec.data import Data, Geography
from holdfast.spec.files import FileChoice
from holdfast.spec.model import Publication
from holdfast.spec.part import Part
from holdfast.spec.privacy import Privacy
from holdfast.spec.published import PublishedBefore
from holdfast.spec.shape import Derived, Wide
from holdfast.spec.tables import Budget, TableChoice
from website.reference.keys import KEYS, Key

SECTIONS: dict[str, tuple[type[Part], ...]] = {
    "[data]": (Data,),
    "[data.geography]": (Geography,),
    "[data.wide]": (Wide,),
    "[data.derive]": (Derived,),
    "[[invariants]]": (Invariant,),
    "[invariants.weights]": (Weights,),
    "[[published]] before a release": (PublishedBefore,),
    "[constraints]": (Constraints,),
    "[[constraints.inequalities]]": (Inequality,),
    "[constraints.floors]": (Floors,),
    "[[accuracy]]": (AccuracyTarget,),
    "[privacy]": (Privacy,),
    "[budget]": (Budget,),
    "[[tables]]": (TableChoice,),
    "[[tables]] of several files": (FileChoice,),
    "[[constraints.across]]": (Across,),
    "[constraints.across.left] and right": (AcrossSide,),
    "[publication]": (Publication,),
    "[[mechanism.queries]]": (WeightedQuery, QueryChoice),
    "[[mechanism.optimise_for]]": (Wish, Aim),
    "[[mechanism.rates]]": (RateRule,),
    "[[mechanism.rounds]]": (SwapRound,),
}
OTHERS: dict[str, tuple[type[Part], ...]] = {
    "[[published]]": (PublishedTable,),
    "[population]": (Population,),
    "[coarsen]": (Coarsen,),
    "[model]": (Model,),
    "[exposure]": (ExposureSource,),
    "[prior]": (Prior,),
    "[sampler]": (SamplerChoice,),
}
"""Sections of the files of `audit publication` and of `infer`."""
SINCE = "0.2"
NEWER: dict[tuple[str, str], str] = {}
"""Keys that came later, with the version that brought them."""
HEAD = """# The spec

A spec is one TOML file: what to release, what to keep exactly, how strongly to protect the rest. The [guide](../guides/spec.md)
explains it by example. Here is every section and key. A budget stands in quotes, as it is exact: `"1"`, `"1/2"`, `"0.25"`.
Every key is there since {since} unless its row says otherwise. What a mechanism calls an unknown key is an error with the
closest name.
"""
OTHER_FILES = """## Other files

`holdfast audit publication published.toml` and `holdfast coarsen tables.toml` read `[[published]]` and `[population]`, the second
`[coarsen]` as well ([what is published](../guides/publishing.md));
`holdfast infer DIR --model model.toml` reads `[model]`, `[exposure]`, `[prior]` and `[sampler]`
([posteriors](../guides/inference.md#posteriors)), and constraints as above.
"""


def page() -> str:
    """Return the page."""
    lines = [HEAD.format(since=SINCE), *_sections(SECTIONS)]
    lines += ["## [mechanism]", "", "The name, and keys of its own.", ""]
    for name in registry.OWN:
        kind = registry.find(name)
        doc = (kind.Options.__doc__ or "").partition("\n")[0]
        lines += [f"### {name}", "", doc, "", *_table("[mechanism]", (kind.Options,)), ""]
    return "\n".join([*lines, OTHER_FILES, *_sections(OTHERS)])


def _sections(sections: Mapping[str, tuple[type[Part], ...]]) -> Iterator[str]:
    for section, kinds in sections.items():
        about = (kinds[0].__doc__ or "").partition("\n")[0]
        yield from (f"## {section}", "", about, "", *_table(section, kinds), "")


def missing() -> list[str]:
    """Return the keys without a meaning or an example."""
    kinds = {**SECTIONS, **OTHERS, "[mechanism]": tuple(registry.find(name).Options for name in registry.OWN)}
    return [
        f"{section} {key}"
        for section, classes in kinds.items()
        for key, _, meaning, example in _rows(section, classes)
        if not meaning or not example
    ]


def _table(section: str, kinds: Sequence[type[Part]]) -> Iterator[str]:
    yield "| key | meaning | type | default | example |"
    yield "|---|---|---|---|---|"
    for key, field, meaning, example in _rows(section, kinds):
        since = NEWER.get((section, key))
        known = KEYS.get(section, {}).get(key)
        told = f"{meaning} Since {since}." if since else meaning
        kind = (known and known.type) or _type(field.annotation)
        shown = f"`{_cell(example)}`" if example else ""
        yield f"| `{key}` | {_cell(told)} | {_cell(kind)} | {_cell(_default(field))} | {shown} |"


def _rows(section: str, kinds: Sequence[type[Part]]) -> Iterator[tuple[str, FieldInfo, str, str]]:
    seen: set[str] = set()
    for kind in kinds:
        said = attribute_docstrings(kind)
        for name, field in kind.model_fields.items():
            if name in seen:
                continue
            seen.add(name)
            known = KEYS.get(section, {}).get(name, Key(""))
            meaning = known.meaning or said.get(name, "")
            example = known.example
            if section == "[mechanism]" and name == "name":
                example, meaning = f'name = "{field.default}"', "The mechanism."
            yield {"source": "from"}.get(name, name), field, _sentence(meaning), example


def _sentence(text: str) -> str:
    plain = " ".join(text.split()).replace("``", "`")
    return plain if not plain or plain.endswith(".") else f"{plain}."


def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return what stands below the fields of a class and of those it derives from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        try:
            body = ast.parse(dedent(inspect.getsource(each))).body[0]
        except (OSError, TypeError):
            continue
        if not isinstance(body, ast.ClassDef):
            continue
        for field, below in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[field.target.id] = str(below.value.value)
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _type(annotation: Any) -> str:
    """Return a type in plain words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        inner = [_type(each) for each in arguments if each is not type(None)]
        return " or ".join(dict.fromkeys(inner))
    if origin is tuple:
        return f"list of {_plural(_type(arguments[0]))}"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return "table of keys"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        return "list"
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return "table of keys"
    words = {
        str: "text",
        bool: "true or false",
        int: "whole number",
        float: "number",
        Fraction: "exact number",
    }
    words |= {Believed: "number, or median and factor"}
    return words.get(annotation, "any")


def _plural(word: str) -> str:
    return {"text": "texts", "table of keys": "tables", "whole number": "whole numbers"}.get(word, word)


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.default_factory is not None or value in (None, (), ""):
        return ""
    if value is PydanticUndefined:
        return "must be given"
    if isinstance(value, Part) or (isinstance(value, Mapping) and not value):
        return ""
    if isinstance(value, Believed):
        return f"`{value.median:g}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
