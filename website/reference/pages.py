"""All generated pages, by their path on the site."""

from collections.abc import Iterator

from website.reference import api, certificate, commands, errors, outputs, records, spec


def all_pages() -> Iterator[tuple[str, str]]:
    """Yield each path with the page's text."""
    yield "reference/index.md", _index()
    yield "reference/spec.md", spec.page()
    yield "reference/commands.md", commands.page()
    yield "reference/errors.md", errors.page()
    yield "reference/certificate.md", certificate.page()
    yield "reference/outputs.md", outputs.page()
    yield "reference/settings.md", errors.settings_page()
    yield "reference/python.md", api.page()
    yield "theory/documents.md", records.documents_page()
    yield "theory/references.md", records.references_page()
    yield "decisions/index.md", records.decisions_page()


def _index() -> str:
    return """# Reference

Made from the program itself, so it says what this version does.

- [The spec](spec.md): every section and key, its type, default and an example.
- [Commands](commands.md): every command with its arguments and options.
- [Errors](errors.md): every code, and every sentence with its way out.
- [The certificate](certificate.md): every field of `certificate.json`.
- [JSON outputs](outputs.md): what every command prints with `--json`.
- [Settings](settings.md): the variables of the environment.
- [Python](python.md): every public name.
"""
