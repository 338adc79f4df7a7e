"""Pages are tried: their commands and Python run in order in one empty folder; what is shown is what they print.

Blocks of `sh` run line by line (those of holdfast and holdfast-verify; a command that is to fail ends in
`# exit 2`; the script of a project of the gallery), `text` is compared with what the last of them printed,
`...` standing for anything, `python` is a doctest, `csv` writes the file that the page named last, `toml` with a
first line `# name.toml` that file.

    python -m website.runs [PAGE ...]    rewrites what is shown where it is not what is printed
"""

import contextlib
import difflib
import doctest
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, NamedTuple

from website import gallery
from website.commands_run import run
from website.pages import DOCS, ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^( *)```(sh|toml|text|csv|python)\n(.*?)^\1```$", re.M | re.S)
OURS = ("holdfast ", "holdfast-verify ", "python project.py")
SHELL = re.compile(r"(make |pip install |python -m pip |\. \.venv/|source |#|$)")
"""What else a block of the shell may say: it is about the machine, and not run."""
UNTRIED = {"theory.md"}
RAISED = "(an error)"


class Block(NamedTuple):
    """A block of code, and where its text stands on the page."""

    language: str
    text: str
    start: int
    end: int
    indent: str


def tried_pages() -> list[Path]:
    """Return the pages whose blocks are run: the README, and all of docs but decisions and theory."""
    pages = [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "decisions"]
    return [ROOT / "README.md", *(path for path in pages if path.name not in UNTRIED)]


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    for match in FENCE.finditer(page):
        yield Block(match[2], dedent(match[3]), match.start(3), match.end(3), match[1])


def begin(path: Path, folder: Path) -> None:
    """Put what a page begins with into its folder: nothing, or the files of a project of the gallery."""
    if path.parent in gallery.projects():
        gallery.begin(path.parent, folder)


class Outcome(NamedTuple):
    """A page as it should be, how much of it ran, and what was not as shown."""

    page: str
    ran: int
    wrong: list[str]


def run_page(page: str, folder: Path, name: str = "page") -> Outcome:
    """Run all blocks of a page in a folder, and return it with what they print."""
    printed, ran, names, wrong = "", 0, {"__name__": "__main__"}, []
    changes: list[tuple[Block, str]] = []
    for block in blocks(page):
        if block.language == "csv":
            file = re.findall(r"`(\w[\w-]*\.csv)`", page[: block.start])[-1]
            (folder / file).write_text(block.text, encoding="utf-8")
        elif block.language == "toml":
            if match := re.match(r"# (\w[\w-]*\.toml)\n", block.text):
                (folder / match[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "text":
            if missing := unprinted(block.text, printed):
                wrong += [f"{line!r} is not printed among {printed.splitlines()}" for line in missing]
                changes.append((block, as_printed(block.text, printed)))
        elif block.language == "sh":
            printed = ""
            for line in block.text.splitlines():
                if line.startswith(OURS):
                    ended = run(line, folder)
                    printed += ended.out + ended.err
                    expected = re.search(r"# exit (\d)$", line)
                    if ended.code != (int(expected[1]) if expected else 0):
                        wrong.append(f"{line} ended with {ended.code}: {ended.err}")
                    ran += 1
                elif not SHELL.match(line):
                    wrong.append(f"{line!r} is no command that is tried")
        else:
            count, failures, text = _run_python(block.text, folder, names, name)
            ran += count
            if failures:
                wrong += failures
                changes.append((block, text))
    failed = any(line.endswith(RAISED) for line in wrong) or any(
        " ended with " in line or (line.startswith("'") and "tried" in line) for line in wrong
    )
    for block, text in reversed([] if failed else changes):  # what follows a failure says nothing
        page = page[: block.start] + indent(text, block.indent) + page[block.end :]
    return Outcome(page, ran, wrong)


def unprinted(shown: str, printed: str) -> list[str]:
    """Return the lines that are shown and not printed in their order; `...` stands for anything."""
    rest = [line.rstrip() for line in printed.splitlines()]
    missing = []
    for line in shown.rstrip().splitlines():
        if line == "...":
            continue
        wanted = re.compile(".*".join(map(re.escape, line.rstrip().split("..."))))
        place = next((i for i, one in enumerate(rest) if wanted.fullmatch(one)), None)
        if place is None:
            missing.append(line)
        else:
            rest = rest[place + 1 :]
    return missing


def as_printed(shown: str, printed: str) -> str:
    """Return what is shown with lines that are not printed replaced by those that are closest to them."""
    there = [line.rstrip() for line in printed.splitlines()]
    missing = set(unprinted(shown, printed))
    lines = []
    for line in shown.splitlines():
        if line in missing:
            lines += difflib.get_close_matches(line, there, 1, 0.3)
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


class _Recorder(doctest.DocTestRunner):
    """Runs examples, and keeps what those printed that failed."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS)
        self.got: list[tuple[doctest.Example, str]] = []
        self.raised: list[doctest.Example] = []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep what was printed."""
        self.got.append((example, got))

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Keep the error."""
        self.got.append((example, f"{exc_info[0].__name__}: {exc_info[1]}\n"))
        self.raised.append(example)


def _run_python(text: str, folder: Path, names: dict[str, Any], name: str) -> tuple[int, list[str], str]:
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    runner = _Recorder()
    with _inside(folder), contextlib.redirect_stdout(sys.stdout):
        runner.run(test, clear_globs=False, out=lambda _: None)
    names.update(test.globs)
    failures = [
        f"{each.source.strip()} prints {got!r}, not {each.want!r}{' ' + RAISED if each in runner.raised else ''}"
        for each, got in runner.got
    ]
    if not test.examples:
        failures.append("a block of Python shows what it prints")
    lines = text.splitlines(keepends=True)
    for example, got in reversed(runner.got):
        start = example.lineno + len(example.source.splitlines())
        lines[start : start + len(example.want.splitlines())] = [got]
    return len(test.examples), failures, "".join(lines)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    """Rewrite what pages show where something else is printed, and the pictures of projects that are named."""
    asked = [Path(name).resolve() for name in sys.argv[1:]] or tried_pages()
    for path in asked:
        with tempfile.TemporaryDirectory() as folder:
            before = path.read_text(encoding="utf-8")
            begin(path, Path(folder))
            outcome = run_page(before, Path(folder), path.name)
            if (made := Path(folder) / gallery.PICTURE).is_file() and sys.argv[1:]:
                shutil.copyfile(made, path.parent / gallery.PICTURE)
        said = f"{path.relative_to(ROOT)}: {outcome.ran} ran"
        if outcome.page != before:
            path.write_text(outcome.page, encoding="utf-8")
            said += ", rewritten"
        print("\n  ".join([said, *(line[:400] for line in outcome.wrong)]))


if __name__ == "__main__":
    main()
