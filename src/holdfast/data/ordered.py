"""Texts in order, more of them than memory holds.

Few texts are sorted where they are. Of many, those at hand when there are too many tell where to cut the
order into ranges of about the same size; every range has a file without a name, which vanishes with the
process, and is sorted by itself when its turn comes.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Self

import polars as pl
import pyarrow as pa
import pyarrow.ipc

AT_HAND = 2_000_000
"""Texts that are held in memory."""
RANGES = 64
_SCHEMA = pa.schema([("text", pa.large_string())])


class Ordered:
    """Takes texts in any order, and gives them back in the order of their bytes."""

    def __init__(self, at_hand: int = AT_HAND) -> None:
        self._most, self._held, self._stack = at_hand, list[pl.Series](), ExitStack()
        self._cuts = pl.Series(dtype=pl.String)
        self._files: list[IO[bytes]] = []
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, texts: pl.Series) -> None:
        """Take some texts."""
        self._held.append(texts)
        if not self._files and sum(map(len, self._held)) > self._most:
            self._open(pl.concat(self._held).sort())
        if self._files:
            for one in self._held:
                self._deal(one)
            self._held = []

    def chunks(self) -> Iterator[pl.Series]:
        """Yield all texts in order, some at a time; nothing can be added after that."""
        if not self._files:
            yield (pl.concat(self._held) if self._held else pl.Series(dtype=pl.String)).sort()
            return
        for file, writer in zip(self._files, self._writers, strict=True):
            writer.close()
            file.seek(0)
            with pa.ipc.open_stream(file) as reader:
                yield pl.Series(pl.from_arrow(reader.read_all().column("text"))).sort()

    def _open(self, ordered: pl.Series) -> None:
        places = [place * len(ordered) // RANGES for place in range(1, RANGES)]
        self._cuts = ordered.gather(places).unique().sort()
        for _ in range(len(self._cuts) + 1):
            self._files.append(self._stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115
            self._writers.append(pa.ipc.new_stream(self._files[-1], _SCHEMA))

    def _deal(self, texts: pl.Series) -> None:
        frame = pl.DataFrame({"text": texts, "range": self._cuts.search_sorted(texts, side="right")})
        for (place,), part in frame.partition_by("range", as_dict=True).items():
            self._writers[int(place)].write_table(part.select("text").to_arrow().cast(_SCHEMA))
