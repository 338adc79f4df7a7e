"""The console that commands print to."""

import errno
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.system.progress import doing
from holdfast.system.text import visible


class Terminal(Console):
    """A console that shows what would steer it: every text is one line of what can be seen.

    Lines are printed one by one. Styles and frames are rich's own; no text brings any along. Where no
    terminal is, tables are aligned columns without frames, and no line is broken or cut.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """Return the text as it will be shown; rich passes every plain text through here."""
        return super().render_str(visible(text), **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, tables as the place asks for."""
        if not self.is_terminal and len(objects) == 1 and isinstance(objects[0], Table):
            self._print_plain(objects[0])
        else:
            super().print(*objects, **how)

    def _print_plain(self, table: Table) -> None:
        if table.title is not None:
            super().print(table.title)
            table.title = None
        table.box, table.pad_edge = None, False
        with self.capture() as captured:
            super().print(table)
        for line in captured.get().splitlines():
            super().out(line.rstrip(), highlight=False)

    def status(self, status: Any, **_: Any) -> AbstractContextManager[None]:  # type: ignore[override]
        """Let what is being done be seen as all progress is, on standard error."""
        return doing(str(status).removesuffix(" ..."))

    def on_broken_pipe(self) -> None:
        """Leave the end to `main`; rich would exit with 1, which means violated."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def columns(texts: Iterable[str], numbers: Iterable[str] = (), *, title: str | None = None) -> Table:
    """Return a table without rows: columns of texts, then columns of numbers."""
    table = Table(title=title)
    for name in texts:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def titled(lines: Iterable[tuple[str, RenderableType]]) -> Table:
    """Return lines, each with its title beside it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for line in lines:
        grid.add_row(*line)
    return grid
