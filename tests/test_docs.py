"""The documentation does not drift from the code: commands, specs and links are tried."""

import doctest
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import holdfast
from holdfast.audit.census import census_2020
from holdfast.cli import main
from holdfast.cli.app import app
from holdfast.mechanisms.catalogue import mechanism_of, named_by
from holdfast.spec import Spec
from holdfast.spec.choice import levels_or_range

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


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
    return re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```$", text, re.M | re.S)


def test_there_is_something_to_try_on_every_page_of_use() -> None:
    """So that no test below passes on nothing."""
    tried = {*with_some(_command_lines), *with_some(_examples)}
    assert [page.name for page in (README, *GUIDES) if page not in tried] == ["computation.md"]
    assert README in with_some(_specs)
    assert len(with_some(_specs)) > 2
    assert len(with_some(_links)) > 5


@pytest.mark.parametrize("page", with_some(_command_lines), ids=named)
def test_commands_exist(page: Path) -> None:
    for line in _command_lines(page.read_text(encoding="utf-8")):
        _require_command(line)


def test_readme_names_every_command() -> None:
    lines = list(_command_lines(README.read_text(encoding="utf-8")))
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
        if "data" in values:
            assert mechanism_of(Spec.of(values))
        else:
            named_attributes = {"data": {"cells": sorted(set(re.findall(r"(\w+) =", text)) | {"county"})}}
            assert named_by(Spec.of({**named_attributes, **values}))


def test_readme_spec_has_every_kind_of_invariant_and_runs(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    (spec,) = _blocks(text, "toml")
    (weights,) = _blocks(text, "csv")
    asked = Spec.of(tomllib.loads(spec))
    assert {invariant.kind for invariant in asked.invariants} == {"margin", "total", "where", "weights"}
    assert any(invariant.margin and invariant.where for invariant in asked.invariants)

    total = next(invariant.equals for invariant in asked.invariants if invariant.total)
    assert total is not None
    zeros = [
        {name: levels_or_range(levels) for name, levels in zero.items()}
        for zero in asked.constraints.structural_zeros
    ]
    product_of_levels = product(*(asked.data.levels[name] for name in asked.data.cells))
    cells = [
        cell
        for cell in product_of_levels
        if not any(_matches(dict(zip(asked.data.cells, cell, strict=True)), zero) for zero in zeros)
    ]
    assert len(cells) == 16
    counts = [total // len(cells)] * (len(cells) - 1)
    rows = [",".join((*cell, str(n))) for cell, n in zip(cells, [*counts, total - sum(counts)], strict=True)]
    header = ",".join((*asked.data.cells, str(asked.data.count)))
    (tmp_path / asked.data_path).write_text("\n".join([header, *rows]), encoding="utf-8")
    (tmp_path / "weights.csv").write_text(weights, encoding="utf-8")
    (tmp_path / "holdfast.toml").write_text(spec, encoding="utf-8")

    release = holdfast.prepare(tmp_path / "holdfast.toml").release()
    assert holdfast.verify(release.write(tmp_path / "release")).kept


@pytest.mark.parametrize("page", with_some(_command_lines, [README, *GUIDES]), ids=named)
def test_commands_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    printed = ""
    for language, text in _blocks_of(page.read_text(encoding="utf-8"), "sh", "toml", "text"):
        if language == "toml" and (name := re.match(r"# (\w+\.toml)\n", text)):
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
        elif language == "text":
            _require_printed(text, printed)
        elif language == "sh":
            lines = [line for line in text.splitlines() if line.startswith("holdfast")]
            printed = "".join(_run(line, monkeypatch, capsys) for line in lines)


def test_text_that_is_not_printed_is_noticed() -> None:
    _require_printed("a  b\n...\nd", "| a | b |\n| c |\n| d |")
    for text in ("a c", "d\n...\na"):
        with pytest.raises(AssertionError):
            _require_printed(text, "a b\nc\nd")


@pytest.mark.parametrize("page", with_some(_examples, GUIDES), ids=named)
def test_python_examples_run(page: Path) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert outcome.failed == 0
    assert outcome.attempted > 0


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
        )
        cells = (line.product, line.level.invariants, str(line.level.semi_adjacency), *numbers)
        computed.append(f"| {' | '.join(cells)} |")
    assert shown == computed


@pytest.mark.parametrize("page", with_some(_links), ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _links(page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:|#", link):
            assert (page.parent / link.partition("#")[0]).exists(), link


def test_links_are_found() -> None:
    assert {"docs/theory.md", "docs/images/certificate.png"} <= set(
        _links(README.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("name", ["certificate.png", "census.png"])
def test_pictures_are_small(name: str) -> None:
    assert (ROOT / "docs" / "images" / name).stat().st_size < 250_000


def _matches(cell: Mapping[str, str], zero: Mapping[str, Sequence[object]]) -> bool:
    return all(cell[name] in levels for name, levels in zero.items())


def _commands(command: Any) -> Iterator[str]:
    """Yield every command that runs, as `audit universe`."""
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from (f"{name} {rest}" for rest in _commands(inner))
        else:
            yield name


def _run(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line; it must succeed, or end as its comment `# exit 2` says."""
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main()
    captured = capsys.readouterr()
    expected = re.search(r"# exit (\d)$", line)
    assert (caught.value.code or 0) == (int(expected[1]) if expected else 0), f"{line}: {captured.err}"
    return captured.out + captured.err


def _require_printed(shown: str, printed: str) -> None:
    """Require the parts between dots, in their order; spaces and the lines of tables do not count."""

    def plain(text: str) -> str:
        return " ".join(re.sub(r"[|\u2500-\u257f]", " ", text).split())

    rest = plain(printed)
    for part in filter(None, map(str.strip, plain(shown).split("..."))):
        assert part in rest, f"{part!r} is not printed"
        rest = rest.partition(part)[2]


def _require_command(line: str) -> None:
    command: Any = get_command(app)
    words = shlex.split(line, comments=True)[1:]
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"{line}: there is no command {name!r}"
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in options]
    assert not unknown, f"{line}: unknown {unknown}"
