"""One page of all studies: figures and tables of the five documents, ours beside print, and every statement.

    python -m studies.report    writes studies/report.html from what studies have left in their output folders

What is printed stands in `exhibits.toml`, and where each statement is in Holdfast in `statements.toml`.
Numbers are those that studies measured and compared with what they expect: nothing is measured here.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from studies.expected import violations
from studies.outcome import Number
from studies.semi_dp import numbers as semi_dp

HERE = Path(__file__).parent
TITLES = {
    "semi-dp": "Formal privacy guarantees with invariant statistics",
    "integer-subspace-dp": "Integer subspace differential privacy",
    "congenial-dp": "Congenial differential privacy under mandated disclosure",
    "partially-private-data": "Formal privacy for partially private data",
    "swapping-slides": "Can swapping be differentially private?",
}
STUDIES = ("semi_dp", "congenial_dp", "integer_subspace", "swapping", "topdown", "partially_private")
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0;font-size:.92em}th,td{border-bottom:1px solid #ddd;"
    "padding:.3rem .6rem;text-align:left;vertical-align:top}img{max-width:100%}code{font-size:.9em}"
    ".passed{color:#00613f}.explained{color:#7a4b00}.wrong{color:#b2182b;font-weight:bold}"
)


ABOUT = (
    "<p>Every figure and table, ours beside what is printed, and every statement with its place."
    " <b>Passed</b>: what is printed was measured again. <b>Explained</b>: it says what differs. All numbers"
    " of the studies are held against what is expected of them.</p>"
)


class Made(NamedTuple):
    """What a study has left: its parts, each with its numbers, and what of it is not as expected."""

    size: str
    parts: Mapping[str, Mapping[str, float]]
    wrong: Mapping[str, list[str]]


def made(study: str) -> Made | None:
    """Read what a study has left; None where it was not run."""
    path = HERE / study / "output" / "numbers.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if study == "semi_dp":
        return _semi_dp([semi_dp.Number(**row) for row in found])
    parts = {
        part: {name: Number(**number) for name, number in each["numbers"].items()}
        for part, each in found["parts"].items()
    }
    expected, size = HERE / study / "expected.json", found["size"]
    return Made(
        size,
        {part: {name: number.value for name, number in each.items()} for part, each in parts.items()},
        {part: violations(expected, part, each, size) for part, each in parts.items()},
    )


def _semi_dp(numbers: list[semi_dp.Number]) -> Made:
    """Read the study that keeps its numbers in series; what two models have both is their mean."""
    series: dict[str, dict[str, list[float]]] = {}
    for one in numbers:
        series.setdefault(one.part, {}).setdefault(f"{one.series}, {one.setting}", []).append(one.value)
    means = {
        part: {name: sum(both) / len(both) for name, both in each.items()} for part, each in series.items()
    }
    expected = semi_dp.read_expected()
    off = {
        part: semi_dp.discrepancies([one for one in numbers if one.part == part], expected) for part in means
    }
    return Made("", means, off)


def verdict(exhibit: Mapping[str, Any], study: Made | None) -> tuple[str, list[tuple[Any, ...]]]:
    """Return whether an exhibit passed, is explained, wrong or not made, and its rows of numbers.

    It passes where all that is printed is what was measured. A number that differs is explained by the
    exhibit, or wrong; a number that is not what the study expects is always wrong.
    """
    part = exhibit.get("part")
    if part is None:
        return "explained", []
    if study is None or part not in study.parts:
        return "not made", []
    ours = study.parts[part]
    rows = [
        (what, printed, ours.get(name), name in ours and abs(ours[name] - printed) <= within)
        for what, printed, name, within in exhibit.get("printed", ())
    ]
    if study.wrong[part] or (not all(row[-1] for row in rows) and "differs" not in exhibit):
        return "wrong", rows
    return "explained" if "differs" in exhibit else "passed", rows


def page() -> tuple[str, list[str]]:
    """Return the page, and the exhibits that are wrong."""
    exhibits = tomllib.loads((HERE / "exhibits.toml").read_text(encoding="utf-8"))["exhibit"]
    statements = tomllib.loads((HERE / "statements.toml").read_text(encoding="utf-8"))
    left = {study: made(study) for study in STUDIES}
    body, wrong = ["<h1>Five documents, beside Holdfast</h1>"], []
    body += [
        ABOUT,
        _studies(left),
    ]
    for document, title in TITLES.items():
        body.append(f"<h2>{escape(title)} <small>[{document}]</small></h2>")
        for exhibit in (one for one in exhibits if one["document"] == document):
            found, rows = verdict(exhibit, left.get(exhibit.get("study", "")))
            if found == "wrong":
                wrong.append(f"{document}, {exhibit['name']}")
            body.append(_exhibit(exhibit, found, rows))
    for document, rows_of in statements.items():
        body.append(f"<h2>Statements of {escape(TITLES[document])}</h2>{_statements(rows_of)}")
    head = f"<meta charset=utf-8><title>Studies of Holdfast</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang=en>{head}<body>{''.join(body)}</body></html>\n", wrong


def _studies(left: Mapping[str, Made | None]) -> str:
    rows = []
    for study, one in left.items():
        if one is None:
            rows.append((f"<a href={study}/README.md>{study}</a>", "not run", ""))
            continue
        count = sum(len(numbers) for numbers in one.parts.values())
        off = [line for lines in one.wrong.values() for line in lines]
        rows.append(
            (
                f"<a href={study}/README.md>{study}</a>{f', {one.size}' if one.size else ''}",
                f"{count} numbers in {len(one.parts)} parts",
                f"<span class=wrong>{escape('; '.join(off))}</span>" if off else "all as expected",
            )
        )
    return _table(("study", "measured", "expected"), rows)


def _exhibit(exhibit: Mapping[str, Any], found: str, rows: list[tuple[Any, ...]]) -> str:
    title = f"<h3>{escape(exhibit['name'])}: {escape(exhibit['what'])}</h3>"
    shown = {"not made": "not made: its study was not run, or has no file of real data"}.get(found, found)
    differs = f". {_words(exhibit['differs'])}" if "differs" in exhibit else ""
    said = f"<p><b class='{found}'>{shown}</b>{differs}</p>"
    numbers = [
        (
            escape(what),
            f"{printed:g}",
            "-" if ours is None else f"{ours:.6g}",
            "as printed" if same else "differs",
        )
        for what, printed, ours, same in rows
    ]
    table = _table(("", "printed", "ours", ""), numbers) if numbers else ""
    pictures = "".join(
        f"<p><img src='{exhibit['study']}/output/{name}' alt='{escape(exhibit['what'])}' loading=lazy></p>"
        for name in exhibit.get("pictures", ())
        if (HERE / exhibit["study"] / "output" / name).is_file()
    )
    return title + said + table + pictures


def _statements(rows: Mapping[str, Mapping[str, Any]]) -> str:
    return _table(
        ("", "what", "where", "not, or otherwise"),
        [
            (
                escape(name),
                escape(row["what"]),
                "<br>".join(f"<code>{escape(place)}</code>" for place in row.get("where", ())),
                _words(row.get("why", "")),
            )
            for name, row in rows.items()
        ],
    )


def _words(text: str) -> str:
    """Return a sentence in HTML, names of code marked as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"<tr>{''.join(f'<th>{name}' for name in head)}"]
    lines += [f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def main() -> int:
    """Write the page; 1 where something is neither as printed nor explained."""
    text, wrong = page()
    (HERE / "report.html").write_text(text, encoding="utf-8")
    print(f"{HERE / 'report.html'}: {len(wrong)} wrong{': ' if wrong else ''}{'; '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
