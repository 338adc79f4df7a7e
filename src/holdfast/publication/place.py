"""Where facts about published tables stand: nothing heavy is loaded to look."""

from pathlib import Path

FACTS = "audit.json"
"""What the facts are called in a folder of tables that were made coarser."""


def facts_of(place: Path) -> Path | None:
    """Return the file of facts that a path names, or that lies in the folder that it names; None without."""
    if place.is_dir():
        path = place / FACTS
        return path if path.exists() and not (place / "certificate.json").exists() else None
    return place if place.suffix.lower() == ".json" and place.exists() else None
