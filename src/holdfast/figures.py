"""Saving pictures."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import ReleaseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a picture; raises ReleaseError where it cannot be written."""
    try:
        figure.savefig(path, dpi=160)
    except OSError as error:
        raise ReleaseError(f"{path} cannot be written ({error.strerror}): name another place.") from None
