"""What is said of a version in several places is the same in all: numbers, needs, materials."""

import json
import re
import tomllib
from typing import Any

import yaml
from distribution.sbom import NOT_USED, bill
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from tests.sources import ROOT

from distribution import each_extra, trial
from holdfast.health import EXTRAS
from holdfast.version import VERSION

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USED = set(PROJECT["optional-dependencies"]) - set(NOT_USED)
CONDA = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}
"""What has another name among the packages of conda-forge."""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_one() -> None:
    said = {
        "pyproject.toml": PROJECT["version"],
        "verify": tomllib.loads(text("verify/pyproject.toml"))["project"]["version"],
        "docs": tomllib.loads(text("distribution/docs/pyproject.toml"))["project"]["version"],
        "extra": PROJECT["optional-dependencies"]["docs"][0].removeprefix("holdfast-dp-docs=="),
        "r": re.findall(r"^Version: (.*)$", text("r/DESCRIPTION"), re.M)[0],
        "CITATION.cff": yaml.safe_load(text("CITATION.cff"))["version"],
        "recipe.yaml": yaml.safe_load(text("distribution/recipe.yaml"))["context"]["version"],
        "CHANGELOG.md": re.findall(r"^## \[(.*)\]", text("CHANGELOG.md"), re.M)[0],
    }
    assert said == dict.fromkeys(said, VERSION)


def test_every_version_of_the_changelog_says_what_is_relevant_to_privacy() -> None:
    versions = re.split(r"^## ", text("CHANGELOG.md"), flags=re.M)[1:]
    assert versions
    assert [one.splitlines()[0] for one in versions if "\n### Privacy-relevant\n" not in one] == []


def test_the_citation_has_what_its_format_requires() -> None:
    """Of version 1.2.0: cff-version, message, title and authors, each of whom is named."""
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert all(isinstance(citation[key], str) and citation[key] for key in ("message", "title"))
    assert citation["authors"]
    assert all(author.keys() & {"name", "family-names"} for author in citation["authors"])
    assert (citation["type"], citation["license"]) == ("software", PROJECT["license"])


def bounds(lines: list[str]) -> dict[str, SpecifierSet]:
    return {CONDA.get(one.name, one.name): one.specifier for one in map(Requirement, lines)}


def conda(lines: list[str]) -> dict[str, SpecifierSet]:
    return {name: SpecifierSet(bound) for name, _, bound in (line.partition(" ") for line in lines)}


def test_the_recipe_for_conda_asks_for_the_same() -> None:
    recipe = yaml.safe_load(text("distribution/recipe.yaml"))
    needs = recipe["requirements"]
    python = {"python": SpecifierSet(PROJECT["requires-python"])}
    assert conda(needs["run"]) == python | bounds(PROJECT["dependencies"])
    extras = [line for extra in USED for line in PROJECT["optional-dependencies"][extra]]
    assert conda(needs["run_constraints"]) == bounds(extras)
    build = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    assert bounds(build).items() <= conda([line for line in needs["host"] if " >=" in line]).items()
    name, place = next(iter(PROJECT["scripts"].items()))
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {place}"]
    assert recipe["about"]["license"] == PROJECT["license"]


def parts(of: dict[str, Any], scope: str) -> set[str]:
    return {one["name"] for one in of["components"] if one["scope"] == scope}


def test_the_bill_of_materials_lists_the_lock() -> None:
    made = bill()
    pins = set(re.findall(r"^(\S+)==(\S+)", text("requirements.lock"), re.M))
    assert {(one["name"], one["version"]) for one in made["components"]} == pins
    hashes = [entry["content"] for one in made["components"] for entry in one["hashes"]]
    assert sorted(hashes) == sorted(re.findall(r"sha256:([0-9a-f]{64})", text("requirements.lock")))
    assert {"numpy", "highspy", "llvmlite"} <= parts(made, "required")
    assert {"pyspark", "py4j", "starlette", "openpyxl"} <= parts(made, "optional")
    assert {"pytest", "mypy", "hatchling"} <= parts(made, "excluded")
    known = {one["bom-ref"] for one in (*made["components"], made["metadata"]["component"])}
    assert {edge["ref"] for edge in made["dependencies"]} == known
    assert {ref for edge in made["dependencies"] for ref in edge["dependsOn"]} <= known


def test_the_bill_of_materials_names_no_place_and_no_time_of_its_own() -> None:
    said = json.dumps(bill())
    assert said == json.dumps(bill())
    assert [word for word in ("http:", "https:", "//", "index-url", "timestamp") if word in said] == []
    assert bill("0")["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"


def test_every_extra_is_tried_and_looked_at() -> None:
    tried = {extra.__name__ for extra in each_extra.EXTRAS}
    assert tried == USED | {"docs"} == set(EXTRAS) == set(trial.EXTRAS) - {"test"}
