"""How a folder of opened measurements is told from others; nothing heavy is loaded here."""

from pathlib import Path

HEAD = "opened.json"
CODEBOOK = "codebook.toml"
"""A codebook beside files of others, which is taken unless another one is named."""


def is_opened(folder: Path) -> bool:
    """Whether a folder holds measurements that were opened."""
    return (folder / HEAD).is_file()
