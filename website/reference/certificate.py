"""The page of the certificate: every field, from the JSON schema that is shipped and the classes behind it."""

from typing import Any

from holdfast.certificate.model import Certificate, json_schema
from website.reference.spec import attribute_docstrings

HEAD = """# The certificate

`certificate.json` is the record of a release: a head, parts, a seal. `holdfast certificate schema` prints its JSON schema,
and `holdfast verify` derives again all that it claims. A field holds nothing that depends on the confidential data beyond
the invariants. Fields marked * are always there.
"""


def page() -> str:
    """Return the page."""
    schema = json_schema()
    said = {kind.__name__: attribute_docstrings(kind) for kind in _classes(Certificate)}
    lines = [HEAD, *_section("Certificate", schema, said)]
    for name, definition in schema["$defs"].items():
        if definition.get("properties"):
            lines += _section(name, definition, said)
    return "\n".join(lines)


def _classes(kind: type) -> set[type]:
    base = kind.__mro__[1]
    found, rest = set(), [base]
    while rest:
        each = rest.pop()
        if each not in found:
            found.add(each)
            rest += each.__subclasses__()
    return found


def _section(name: str, definition: dict[str, Any], said: dict[str, dict[str, str]]) -> list[str]:
    about = " ".join(definition.get("description", "").partition("\n\n")[0].split())
    lines = [f"## {name}", "", about, "", "| field | type | meaning |", "|---|---|---|"]
    required = definition.get("required", ())
    for field, what in definition["properties"].items():
        meaning = " ".join(said.get(name, {}).get(field, "").split()) or what.get("description", "")
        star = "*" if field in required else ""
        lines.append(f"| `{field}`{star} | {_type(what)} | {meaning.replace('|', chr(92) + '|')} |")
    return [*lines, ""]


def _type(what: dict[str, Any]) -> str:
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in what:
        return f"`{what['const']}`"
    if "enum" in what:
        return " or ".join(f"`{each}`" for each in what["enum"])
    for several in ("anyOf", "oneOf"):
        if several in what:
            return " or ".join(dict.fromkeys(_type(each) for each in what[several]))
    if what.get("type") == "array":
        inner = what.get("items") or {}
        return f"list of {_type(inner)}" if inner else "list"
    words = {
        "string": "text",
        "integer": "whole number",
        "boolean": "true or false",
        "object": "table of keys",
    }
    return words.get(what.get("type", ""), str(what.get("type", "any")))
