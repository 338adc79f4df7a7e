"""The pages of references and decisions."""

import re

from website.finish import title_of
from website.pages import DOCS


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


def decisions_page() -> str:
    """Return the list of all decisions."""
    lines = ["# Decisions", "", "Choices that could have gone another way, each with its reason.", ""]
    found = sorted((DOCS / "decisions").glob("0*.md"))
    lines += [f"- [{title_of(path.read_text(encoding='utf-8'))}]({path.name})" for path in found]
    return "\n".join([*lines, ""])
