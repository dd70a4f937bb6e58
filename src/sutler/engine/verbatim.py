"""Files that leave as they lie on the disk, neither redacted nor counted: native calls read and frame them, without a
text or any other value made of each. What is out of the ordinary goes the long way, to its place among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING

from sutler.disk.calls import Frames, Place
from sutler.engine import forks
from sutler.engine.batches import MANY_PLAIN_BYTES, NOT_TEXT, Batch, Made, Out, Piece
from sutler.stages.render import Dressed, Framed, form, framed
from sutler.values.pack import Choice, Octets, Request

if TYPE_CHECKING:
    from sutler.engine.load import Loader

LARGE = 4_000_000
"""A batch of more bytes than this is not made before it is asked for: several of them would wait in memory."""


class AsTheyAre:
    """Makes batches of `choices`, which begin at `cuts`. `long_way` makes a batch of one file, by its number."""

    def __init__(
        self,
        choices: Sequence[Choice],
        cuts: Sequence[int],
        loader: Loader,
        request: Request,
        long_way: Callable[[int], tuple[Batch, list[Dressed]]],
    ) -> None:
        self._choices = choices
        self._cuts = cuts
        self._loader = loader
        self._request = request
        self._long_way = long_way

    def made(self, size: int) -> Generator[Made, None, None]:
        """Every batch of files of that size together. In a large tree a thread makes them before they are asked for."""
        batches = range(len(self._cuts) - 1)
        if size <= MANY_PLAIN_BYTES or forks.cores() == 1:
            return (self._batch(index, self._frames(index)) for index in batches)
        ahead = self._loader.ahead(self._frames_ahead, len(batches))
        return (self._batch(index, ahead.next() or self._frames(index)) for index in batches)

    def _of(self, index: int) -> Sequence[Choice]:
        return self._choices[self._cuts[index] : self._cuts[index + 1]]

    def _frames_ahead(self, index: int) -> Frames | None:
        """None for so much that it should not wait in memory."""
        size = sum([choice.entry.size for choice in self._of(index)])
        return self._frames(index) if size <= LARGE else None

    def _frames(self, index: int) -> Frames:
        choices, format = self._of(index), self._request.format
        forms = [form(format, one.facts.language, one.entry.mode & 0o100 != 0, one.reason) for one in choices]
        return self._loader.framed(choices, forms, self._request.cut.max_file_bytes)

    def _batch(self, index: int, frames: Frames) -> Made:
        batch = Batch([], [], [], [])
        odd: list[tuple[Place, Framed]] = []
        for number, one in enumerate(frames[3], self._cuts[index]):
            if isinstance(one, tuple):
                more, ready = self._long_way(number)
                batch.pieces.extend(more.pieces)
                batch.out.extend(more.out)
                batch.problems.extend(more.problems)
                if ready:
                    odd.append((one, framed(ready, self._request.format)))
            elif one:
                size = self._choices[number].entry.size
                batch.pieces.append(Piece(number, "full", size, one, None, (), (), None))
            else:
                batch.out.append(Out(number, *NOT_TEXT))
        return Made(batch, _put_among(frames, odd) if odd else Framed(frames[:1], *frames[1:3]))


def _put_among(frames: Frames, odd: Iterable[tuple[Place, Framed]]) -> Framed:
    """The texts of a batch with more of them in their places."""
    views = [memoryview(text) for text in frames[:3]]
    parts: list[list[Octets]] = [[], [], []]
    start: Place = (0, 0, 0)
    for place, more in odd:
        for kind, own in enumerate((more.text, (more.frames,), (more.lines,))):
            parts[kind] += (views[kind][start[kind] : place[kind]], *own)
        start = place
    for part, view, begin in zip(parts, views, start, strict=True):
        part.append(view[begin:])
    return Framed(parts[0], b"".join(parts[1]), b"".join(parts[2]))
