"""Pictures as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.durable import write_new
from holdfast.errors import ReleaseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PICTURES = (".png", ".svg", ".pdf")


def require_picture(path: Path) -> None:
    """Raise ReleaseError unless the name is that of a picture; called before anything is drawn."""
    if path.suffix not in PICTURES:
        raise ReleaseError(f"{path} is not a picture: end its name with {', '.join(PICTURES)}.")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a picture, whole and synced; raises ReleaseError where it cannot be written."""
    try:
        write_new(path, lambda draft: figure.savefig(draft, dpi=160), replace=True)
    except OSError as error:
        raise ReleaseError(f"{path} cannot be written ({error.strerror}): name another place.") from None
