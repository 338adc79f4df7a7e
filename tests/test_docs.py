"""The documentation does not drift from the code: commands, specs and links are tried."""

import ast
import importlib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.sources import ROOT, tree
from typer.main import get_command
from website.gallery import PICTURE, projects
from website.pages import GENERATED
from website.runs import begin, blocks, run_page, tried_pages, unprinted

import holdfast
from holdfast.audit import census_2020
from holdfast.audit.census_systems import NOTES, SOURCES, numbers_of
from holdfast.cli.app import app
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.mechanisms.catalogue import mechanism_of, named_by
from holdfast.mechanisms.swapping.options import options_of
from holdfast.privacy.pufferfish.models import model_of
from holdfast.publication.spec import PublicationSpec
from holdfast.spec.files import FilesSpec, of_files
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.version import VERSION

README = ROOT / "README.md"
TOUR, SPEC = (ROOT / "docs" / "guides" / name for name in ("tour.md", "spec.md"))
RUN = ("sh", "python")
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
TRIED = [
    path for path in tried_pages() if any(block.language in RUN for block in blocks(path.read_text("utf-8")))
]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def with_some(find: Callable[[str], Iterable[str]], pages: Sequence[Path] = PAGES) -> list[Path]:
    """Return the pages on which something is found."""
    return [page for page in pages if any(True for _ in find(page.read_text(encoding="utf-8")))]


def _command_lines(text: str) -> Iterator[str]:
    for block in _blocks(text, "sh"):
        yield from (line for line in block.splitlines() if line.startswith("holdfast"))
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    yield from re.findall(r"`(holdfast [a-z][^`]*)`", prose)


def _specs(text: str) -> Iterator[str]:
    yield from _blocks(text, "toml")


def _examples(text: str) -> Iterator[str]:
    yield from re.findall(r"^>>> (.*)$", text, re.M)


def _links(text: str) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)\s]+)\)", text)
    yield from re.findall(r'src="([^"]+)"', text)


def _blocks(text: str, language: str) -> list[str]:
    return [block for _, block in _blocks_of(text, language)]


def _blocks_of(text: str, *languages: str) -> list[tuple[str, str]]:
    found = re.findall(rf"^( *)```({'|'.join(languages)})\n(.*?)^\1```$", text, re.M | re.S)
    return [(language, dedent(block)) for _, language, block in found]


def test_there_is_something_to_try_on_every_page_of_use() -> None:
    """So that no test below passes on nothing."""
    tried = {*with_some(_command_lines), *with_some(_examples)}
    assert [page.name for page in (README, *GUIDES) if page not in tried] == [
        "computation.md",
        "speed.md",
    ]
    assert SPEC in with_some(_specs)
    assert len(with_some(_specs)) > 2
    assert len(with_some(_links)) > 5


@pytest.mark.parametrize("page", with_some(_command_lines), ids=named)
def test_commands_exist(page: Path) -> None:
    for line in _command_lines(page.read_text(encoding="utf-8")):
        _require_command(line)


def test_the_tour_names_every_command() -> None:
    lines = list(_command_lines(TOUR.read_text(encoding="utf-8")))
    commands = set(_commands(get_command(app))) - {"demo"}  # `make demo` runs that one
    assert {"init", "release", "audit exposure", "ledger open"} <= commands
    for command in commands:
        assert any(line.startswith(f"holdfast {command}") for line in lines), command


@pytest.mark.parametrize("line", ["holdfast relase x", "holdfast verify --jsn x", "holdfast audit nothing"])
def test_a_wrong_command_is_noticed(line: str) -> None:
    with pytest.raises(AssertionError):
        _require_command(line)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    pages = (page.read_text(encoding="utf-8") for page in PAGES)
    asked = {t for text in pages for t in re.findall(r"^(?:.*`)?make ([a-z]+)\b", text, re.M)}
    assert {"demo", "test"} <= asked <= targets


@pytest.mark.parametrize("page", with_some(_specs), ids=named)
def test_specs_are_valid(page: Path) -> None:
    """Whole specs can be answered; parts of one have no section or key that there is not."""
    for text in _specs(page.read_text(encoding="utf-8")):
        values = tomllib.loads(text)
        if "family" in values.get("model", {}):
            assert model_of(values).families()
        elif "model" in values:
            assert ModelSpec.of(values).model.kind in ("counts", "rates", "proportions")
        elif "published" in values and "data" not in values:
            assert PublicationSpec.of(values).published
        elif of_files(values):
            assert FilesSpec.of(values).tables
        elif "tables" in values:
            assert all(map(mechanism_of, TablesSpec.of(values).specs))
        elif "data" in values:
            spec = Spec.of(values)
            assert options_of(spec) if spec.of_records else mechanism_of(spec)
        else:
            named_attributes = {"data": {"cells": sorted(set(re.findall(r"(\w+) =", text)) | {"county"})}}
            assert named_by(Spec.of({**named_attributes, **values}))


def test_the_page_of_the_spec_has_every_kind_of_invariant_and_is_what_init_writes(tmp_path: Path) -> None:
    text = SPEC.read_text(encoding="utf-8")
    spec, _ = _blocks(text, "toml")  # the other is of a geography
    (weights,) = _blocks(text, "csv")
    asked = Spec.of(tomllib.loads(spec))
    assert {invariant.kind for invariant in asked.invariants} == {"margin", "total", "where", "weights"}
    assert any(invariant.margin and invariant.where for invariant in asked.invariants)
    written = holdfast.write_example(tmp_path, full=True)
    assert [path.name for path in written] == ["holdfast.toml", "people.csv", "weights.csv"]
    assert written[0].read_text(encoding="utf-8") == spec
    assert written[2].read_text(encoding="utf-8") == weights
    release = holdfast.prepare(written[0]).release()
    assert holdfast.verify(release.write(tmp_path / "release")).kept


@pytest.mark.parametrize("page", TRIED, ids=named)
def test_pages_run_as_they_are_seen(page: Path, tmp_path: Path) -> None:
    """Commands and Python in their order, in one empty folder; what is shown is what they print."""
    told = page.read_text(encoding="utf-8")
    begin(page, tmp_path)
    outcome = run_page(told, tmp_path, page.name)
    assert outcome.wrong == []
    assert outcome.ran > 0
    if page.parent in projects():  # its picture comes out of the same run
        assert (tmp_path / PICTURE).read_text(encoding="utf-8").count("<path") > 10


def test_no_page_has_a_set_up_that_is_not_seen() -> None:
    for page in TRIED:
        assert not re.search(r"<!--[^>]*>>>", page.read_text(encoding="utf-8")), page.name


def test_text_that_is_not_printed_is_noticed() -> None:
    assert unprinted("a  b\n...\nd ... f", "a  b\nc\nd e f") == []
    for text in ("a b", "a", "d\n...\na  b"):
        assert unprinted(text, "a  b\nc\nd e f") != []


def test_a_page_that_drifts_is_noticed_and_rewritten(tmp_path: Path) -> None:
    page = "```sh\nholdfast --version\n```\n\n```text\nholdfast 0.0\n```\n\n```python\n>>> 1 + 1\n3\n\n```\n"
    outcome = run_page(page, tmp_path)
    assert len(outcome.wrong) == 2
    assert outcome.page == page.replace("holdfast 0.0", f"holdfast {VERSION}").replace("3\n\n", "2\n\n")
    (bad,) = run_page("```sh\nholdfast plan nothing.toml\n```\n", tmp_path).wrong
    assert "ended with 2" in bad
    assert run_page("```sh\nrm -r folder\n```\n", tmp_path).wrong


def test_the_census_table_is_the_computed_one() -> None:
    page = (ROOT / "docs" / "guides" / "audits.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (?:redistricting|DHC).*$", page, re.M)
    computed = []
    for line in census_2020().lines:
        effective = line.effective.to_dict()
        numbers = (
            f"{effective['rho']:g}",
            f"{effective['epsilon']:.5f}",
            f"{effective['epsilon_tight']:.5f}",
            f"{effective['epsilon_gaussian']:.5f}",
        )
        cells = (line.product, line.level.invariants, str(line.level.semi_adjacency), *numbers)
        computed.append(f"| {' | '.join(cells)} |")
    assert shown == computed


def test_the_systems_of_the_census_stand_in_the_guide_as_in_the_audit() -> None:
    page = (ROOT / "docs" / "guides" / "audits.md").read_text(encoding="utf-8").splitlines()
    report = census_2020()
    for system in report.systems:
        cells = (f"{system.product}: {system.method}", *system.blocks.values(), numbers_of(system))
        assert f"| {' | '.join(cells)} |" in page
    for line in (f"{number}. {source}" for number, source in enumerate(SOURCES, 1)):
        assert line in page
    assert all(f"- {total.words}" in page for total in report.totals)
    assert all(note in page for note in NOTES)


@pytest.mark.parametrize("page", with_some(_links), ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _links(page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:|#", link):
            target = (page.parent / link.partition("#")[0]).resolve()
            made = {(ROOT / "docs" / place).resolve() for place in GENERATED}
            assert target.exists() or target in made, link


def test_links_are_found() -> None:
    assert {"docs/theory.md", "docs/images/certificate.png"} <= set(
        _links(README.read_text(encoding="utf-8"))
    )


ROOMS = (
    "holdfast",
    "holdfast.audit",
    "holdfast.calculus",
    "holdfast.lab",
    "holdfast.workshop",
    "holdfast.testing.contract",
    "holdfast.testing.worlds",
)


def _python_names(text: str) -> set[str]:
    """Return what prose names of ours: words with capitals or underscores that the package defines."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    words = {word.rpartition(".")[2] for word in re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", prose)}
    return {word for word in words & _defined() if re.search(r"[A-Z_]", word)}


@cache
def _defined() -> frozenset[str]:
    files = (ROOT / "src").rglob("*.py")
    bodies = (node for path in files for node in tree(path).body)
    return frozenset(node.name for node in bodies if isinstance(node, ast.FunctionDef | ast.ClassDef))


@pytest.mark.parametrize("page", TRIED, ids=named)
def test_what_a_guide_names_can_be_imported(page: Path) -> None:
    rooms = [importlib.import_module(name) for name in ROOMS]
    names = _python_names(page.read_text(encoding="utf-8"))
    assert {name for name in names if not any(hasattr(room, name) for room in rooms)} == set()


def test_functions_in_the_tables_of_the_calculus_are_in_it() -> None:
    text = (ROOT / "docs" / "guides" / "calculus.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    names = {name for line in rows for name in re.findall(r"`(\w+)`", line)} & _defined()
    calculus = importlib.import_module("holdfast.calculus")
    assert len(names) > 20
    assert {name for name in names if name not in calculus.__all__} <= {"exact"}  # a word for certainty


def test_a_name_that_cannot_be_imported_is_noticed() -> None:
    assert _python_names("`TradeoffOf`, `read_spec`, `hf.Spec`, `count`") == {"read_spec", "Spec"}


@pytest.mark.parametrize("name", ["certificate.png", "census.png", "swapping.png"])
def test_pictures_are_small(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).stat().st_size < 250_000


def test_pictures_of_the_studio_are_small_and_shown() -> None:
    from website.studio import KEPT, PICTURES

    shown = re.findall(r"images/studio/([\w-]+)\.png", (ROOT / "docs" / "guides" / "studio.md").read_text())
    assert sorted(shown) == sorted(KEPT)
    assert max((PICTURES / f"{name}.png").stat().st_size for name in KEPT) < 150_000


def _commands(command: Any) -> Iterator[str]:
    """Yield every command that runs, as `audit universe`."""
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from (f"{name} {rest}" for rest in _commands(inner))
        else:
            yield name


def _require_command(line: str) -> None:
    if line.startswith("holdfast-verify "):  # it has no other commands, and is run where it stands
        return
    command: Any = get_command(app)
    words = shlex.split(line, comments=True)[1:]
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"{line}: there is no command {name!r}"
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    given = [word.partition("=")[0] for word in words if re.match("--?[a-z]", word)]
    unknown = [word for word in given if word not in options]
    assert not unknown, f"{line}: unknown {unknown}"


def test_nobody_is_told_to_install_a_program_by_a_name_that_is_not_ours() -> None:
    """The distribution is `holdfast-dp`; `holdfast` on the package index is somebody else's program."""
    told = re.compile(
        r"(pipx?|uvx?|conda|poetry)3? +(install|add|tool install|run)? *['\"]?holdfast(?!-(dp|verify)\b)"
    )
    roots = (ROOT / "src", ROOT / "docs", ROOT / "benchmarks", ROOT / "studies")
    files = [file for root in roots for file in root.rglob("*") if file.suffix in (".py", ".j2", ".md")]
    found = [named(file) for file in (*files, *PAGES) if told.search(file.read_text(encoding="utf-8"))]
    assert len(files) > 300
    assert told.search("run `pip install holdfast`")
    assert found == []


def test_decisions_have_numbers_of_their_own() -> None:
    titles = {
        path: path.read_text().partition("\n")[0]
        for path in sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    }
    numbers = [int(path.name[:4]) for path in titles]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [int(title.split(".")[0].lstrip("# ")) for title in titles.values()] == numbers
