"""The JSON schema of certificates as it is shipped: `make schema` writes it from the models."""

from importlib.resources import files


def schema_text() -> str:
    """Return the JSON schema of `certificate.json`."""
    return files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
