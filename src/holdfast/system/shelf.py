"""Where a long computation leaves its pieces, for a run that goes on after this one was ended."""

from typing import Protocol


class Shelf(Protocol):
    """Keeps pieces by name."""

    def get(self, name: str) -> bytes | None:
        """Return a piece; None where it is not there."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Keep a piece, which is there whole or not at all."""
        ...
