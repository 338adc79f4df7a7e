"""The JSON schema of certificates as it is shipped: `make schema` writes it from the models."""

from importlib.resources import files


def schema_text(*, records: bool = False) -> str:
    """Return the JSON schema of `certificate.json`, for a table or for records."""
    room = files(__package__).joinpath("records") if records else files(__package__)
    return room.joinpath("schema.json").read_text(encoding="utf-8")
