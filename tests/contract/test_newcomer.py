"""`Add a mechanism in an afternoon` in CONTRIBUTING, followed to the letter in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_architecture import FLOW

import holdfast
from holdfast.testing.contract import CHECKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAME, LINES = "neighbours", 60
TOY = ROOT / "tests/contract/neighbours.py"


def changes() -> list[tuple[str, str, str]]:
    """Return the page's changes: a file, some lines of it, and what they become."""
    found = []
    for block in re.findall(r"^```diff\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        head, *hunks = block.split("@@\n")
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if not line.startswith("+"))
            found.append((head.removeprefix("+++ ").strip(), before, "".join(line[1:] for line in lines)))
    return found


def copied(folder: Path) -> Path:
    """Copy the package and the contract to a folder."""
    shutil.copytree(Path(holdfast.__file__).parent, folder / "src/holdfast")
    shutil.copytree(ROOT / "tests/contract", folder / "tests/contract")
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    return folder


def contract(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contract in a copy, for the newcomer and for what is said of the whole list."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-rA"]
    tests = [f"tests/contract/test_{name}.py" for name in ("mechanisms", "refusals")]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [*command, *tests, "-k", f"{NAME}: or slips or distinct"],
        cwd=folder,
        env={**inherited, "PYTHONPATH": f"{folder / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_leads_to_a_mechanism_that_passes_the_contract(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    shutil.copy(TOY, folder / "src/holdfast/mechanisms" / TOY.name)
    steps = changes()
    assert [file for file, *_ in steps] == ["src/holdfast/registry.py"] + ["tests/contract/cases.py"] * 2
    for number, (file, before, after) in enumerate(steps):
        text = (folder / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"the page shows lines that {file} does not have:\n{before}"
        (folder / file).write_text(text.replace(before, after), encoding="utf-8")
        if number == 0:  # in the list, and not yet among the cases
            ran = contract(folder)
            assert ran.returncode == 1
            assert "FAILED tests/contract/test_mechanisms.py::test_no_mechanism_slips_by" in ran.stdout
    ran = contract(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = re.findall(rf"^PASSED .*\[{NAME}: (.*)-(\w+)\]$", ran.stdout, flags=re.MULTILINE)
    assert {check for _, check in passed} == {check.__name__ for check in CHECKS}
    assert len({case for case, _ in passed}) == 2


def test_the_toy_is_as_short_as_the_page_says() -> None:
    """Statements alone: no imports, no docstrings, no blank lines."""
    text = re.sub(r'"""(.*?)"""', "", TOY.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^from [\w.]+ import (\([^)]*\)|.*)$", "", text, flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("import ")]
    assert len(lines) <= LINES
    assert f"{LINES} lines" in PAGE


@pytest.mark.parametrize("file", re.findall(r"^\d+\. `([^`]+)`", PAGE, flags=re.MULTILINE))
def test_the_files_to_read_first_are_there(file: str) -> None:
    assert (ROOT / file).is_file()


def test_twelve_files_are_to_be_read_first() -> None:
    part = PAGE.split("## Read these twelve files first")[1].split("\n## ")[0]
    assert len(re.findall(r"^\d+\. `[^`]+`", part, flags=re.MULTILINE)) == 12


def test_the_layout_names_every_room() -> None:
    """In the order in which they may import from each other."""
    named = [
        name.removesuffix(".py")
        for line in re.findall(r"^ {6}(\w+(?:/|\.py)(?:, \w+\.py)*) ", PAGE, flags=re.MULTILINE)
        for name in line.replace("/", "").split(", ")
    ]
    assert named == [room for (room,) in FLOW if room != "__main__"]
