"""The pages of references, of what the five documents state, and of decisions."""

import re
import tomllib

from studies.report import TITLES

from website.finish import title_of
from website.pages import DOCS, ROOT

STATED = """# Statement by statement

All that the five documents state, in their order: what it is, where it is in Holdfast, and why it has no place or something else
holds. Files are of `src/holdfast` unless they begin with `docs`, `studies` or `tests`. Figures and tables are made again by the
[studies](../../studies/README.md); proofs are in the [theory](../theory.md), counter-examples among the
[corrections](corrections.md).
"""


def references_page() -> str:
    """Return every reference with an anchor, so that citations lead to it."""
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    lines = [
        "# References",
        "",
        "Citations in square brackets name these by key, as in [semi-dp, Theorem 16].",
        "",
    ]
    for key, body in re.findall(r"^@\w+\{([^,\s]+),\n(.*?)^\}", text, re.M | re.S):
        fields = {
            name: re.sub(r"[{}]", "", value)
            for name, value in re.findall(r"^\s*(\w+)\s*=\s*[{\"]?(.*?)[}\"]?,?$", body, re.M)
        }
        where = (
            fields.get("journal")
            or fields.get("booktitle")
            or fields.get("publisher")
            or fields.get("howpublished")
        )
        parts = [
            fields.get("author", "").replace(" and ", "; "),
            f"*{fields.get('title', '')}*",
            where,
            fields.get("year"),
        ]
        parts += [f"doi {fields['doi']}"] if "doi" in fields else []
        said = ". ".join(part for part in parts if part)
        note = f" {fields['note']}." if "note" in fields else ""
        lines += [f'<a id="{key}"></a>**{key}**: {said}.{note}', ""]
    return "\n".join(lines)


def documents_page() -> str:
    """Return every statement of the five documents with its place."""
    text = (ROOT / "studies" / "statements.toml").read_text(encoding="utf-8")
    lines = [STATED]
    for document, rows in tomllib.loads(text).items():
        lines += ["", f"## {TITLES[document]}", "", "| | what | where | otherwise |", "|---|---|---|---|"]
        for name, row in rows.items():
            places = ", ".join(f"`{place}`" for place in row.get("where", ()))
            lines.append(f"| {name} | {row['what']} | {places} | {row.get('why', '')} |")
    return "\n".join([*lines, ""])


def decisions_page() -> str:
    """Return the list of all decisions."""
    lines = ["# Decisions", "", "Choices that could have gone another way, each with its reason.", ""]
    found = sorted((DOCS / "decisions").glob("0*.md"))
    lines += [f"- [{title_of(path.read_text(encoding='utf-8'))}]({path.name})" for path in found]
    return "\n".join([*lines, ""])
