"""The bill of materials: every package of requirements.lock, as CycloneDX names it.

A package is *required* where Holdfast takes it, *optional* where one of its extras does, and *excluded* where
only those who develop Holdfast have it. What takes what is asked of the packages that are installed.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
NOT_USED = ("bench", "build", "dev", "docs", "test")
"""Extras that no release takes."""


@dataclass(frozen=True)
class Pin:
    """A package of the lock: its name, its version and the SHA-256 of each of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Return how bills of materials name it."""
        return f"pkg:pypi/{self.name}@{self.version}"


Lock = Mapping[str, tuple[Pin, ...]]
"""Pins by name: some packages have one for old Pythons and one for new ones."""


def pins(lock: str) -> Lock:
    """Return the packages of a lock."""
    found: dict[str, tuple[Pin, ...]] = {}
    for entry in lock.replace("\\\n", " ").splitlines():
        if entry.strip() and not entry.startswith("#"):
            named, _, version = entry.split()[0].partition("==")
            name = canonicalize_name(named)
            hashes = tuple(sorted(re.findall(r"sha256:([0-9a-f]{64})", entry)))
            found[name] = (*found.get(name, ()), Pin(name, version, hashes))
    return dict(sorted(found.items()))


def taken(name: str, extras: Iterable[str], lock: Lock) -> set[tuple[str, frozenset[str]]]:
    """Return the packages of a lock that a package takes, on any system, each with its extras."""
    try:
        lines = metadata(name).get_all("Requires-Dist") or []
    except PackageNotFoundError:  # what this system has no use for
        return set()
    found: set[tuple[str, frozenset[str]]] = set()
    for each in map(Requirement, lines):
        asked = set(re.findall(r'extra == "([^"]+)"', str(each.marker or "")))
        if canonicalize_name(each.name) in lock and (not asked or asked & set(extras)):
            found.add((canonicalize_name(each.name), frozenset(each.extras)))
    return found


def reached(asked: Iterable[str], lock: Lock) -> set[str]:
    """Return the names of all that requirements lead to."""
    queue: list[tuple[str, frozenset[str]]] = [
        (canonicalize_name(one.name), frozenset(one.extras)) for one in map(Requirement, asked)
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    while queue:
        one = queue.pop()
        if one not in seen and one[0] in lock:
            seen.add(one)
            queue += taken(*one, lock)
    return {name for name, _ in seen}


def bill(epoch: str | None = None) -> dict[str, Any]:
    """Return the bill of materials; its time is `epoch` in seconds, none unless that is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lock = pins(text)
    extras = project["optional-dependencies"]
    used = [line for extra, lines in extras.items() if extra not in NOT_USED for line in lines]
    required, optional = reached(project["dependencies"], lock), reached(used, lock)
    itself = f"pkg:pypi/{project['name']}@{project['version']}"
    when = {"timestamp": f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%dT%H:%M:%SZ}"} if epoch else {}
    scopes = {name: "required" if name in required else "optional" for name in required | optional}
    components = [
        {
            "type": "library",
            "bom-ref": pin.purl,
            "name": pin.name,
            "version": pin.version,
            "scope": scopes.get(name, "excluded"),
            "hashes": [{"alg": "SHA-256", "content": content} for content in pin.hashes],
            "purl": pin.purl,
        }
        for name, both in lock.items()
        for pin in both
    ]

    def needs(ref: str, names: Iterable[str]) -> dict[str, Any]:
        return {"ref": ref, "dependsOn": sorted(pin.purl for name in names for pin in lock[name])}

    direct = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    edges = [
        needs(pin.purl, {other for other, _ in taken(name, (), lock)})
        for name, both in lock.items()
        for pin in both
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, itself + text)}",
        "version": 1,
        "metadata": {
            **when,
            "component": {
                "type": "application",
                "bom-ref": itself,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": itself,
            },
        },
        "components": components,
        "dependencies": [needs(itself, direct), *edges],
    }
