"""`python -m tests.vocabulary`: makes the table by which a counter text is counted, from the
tokenizer's vocabulary.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from struct import pack
from zlib import crc32

import splintr

from sutler.tokens import counter

PLACE = Path(counter.__file__).with_name("o200k_base.bin")
TOKENS = 199_998
"""Those of the vocabulary itself; what comes after them are control tokens, which no text holds."""


def table() -> bytes:
    tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
    heaps: list[list[bytes]] = [[] for _ in range(counter.HEAPS)]
    for rank in range(TOKENS):
        token = bytes(tokenizer.decode_token_bytes(rank))
        heaps[crc32(token) % counter.HEAPS].append(
            bytes([len(token)]) + token + rank.to_bytes(counter.RANK, "little")
        )
    starts = accumulate((sum(map(len, heap)) for heap in heaps), initial=0)
    return pack(f"<{counter.HEAPS + 1}I", *starts) + b"".join(
        token for heap in heaps for token in heap
    )


if __name__ == "__main__":
    PLACE.write_bytes(table())
